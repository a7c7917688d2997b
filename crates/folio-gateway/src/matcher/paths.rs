//! The paths of one host: which route answers a path and a method.
//!
//! A tree with a level per segment, so that the cost of a lookup follows the path and not the number of routes.
//! Exact paths win over templates, templates over prefixes, longer prefixes over shorter ones; a literal segment
//! wins over a placeholder at the same place, and a placeholder with a pattern over one without. A route that does
//! not take the method steps aside for a less specific one that does. Trees share what they have in common, so that
//! a changed route costs what is beside it and not the whole tree.

use std::sync::Arc;

use folio_model::{PathTemplate, RoutePath, Segment};
use http::Method;

use super::hash::Named;
use super::methods::{Fit, Methods};
use super::patterns::{Pattern, Patterns, decoded};

/// The routes of one host, by path.
#[derive(Debug)]
pub struct Paths<T>(Arc<Node<T>>);

/// One route at its place.
#[derive(Debug, Clone)]
struct Entry<T> {
    methods: Methods,
    /// What its placeholders are called, in the order of the path.
    names: Arc<[Arc<str>]>,
    /// Whether one of its patterns is no regular expression.
    broken: bool,
    value: T,
}

#[derive(Debug, Clone)]
struct Node<T> {
    literals: Named<Arc<Self>>,
    /// Those with a pattern first.
    patterns: Vec<(Pattern, Arc<Self>)>,
    /// Routes that end here.
    ends: Vec<Entry<T>>,
    /// Templates that take everything that is left, something at least.
    rests_some: Vec<Entry<T>>,
    /// Templates that take everything that is left, or nothing.
    rests: Vec<Entry<T>>,
    /// Prefixes that end here without a slash.
    prefixes: Vec<Entry<T>>,
    /// Prefixes that end here with a slash.
    slashed: Vec<Entry<T>>,
}

/// What answers a path.
#[derive(Debug, PartialEq)]
pub enum Found<'t, 'p, T> {
    /// This route.
    Route(Match<'t, 'p, T>),
    /// Routes that take other methods.
    Methods(Methods),
    /// Nothing.
    Nothing,
}

/// The route that answers.
#[derive(Debug, PartialEq)]
pub struct Match<'t, 'p, T> {
    /// What was put in for it.
    pub value: &'t T,
    /// What its placeholders matched.
    pub parameters: Vec<(&'t Arc<str>, &'p str)>,
    /// For a prefix, how many segments of the path it took.
    pub taken: Option<usize>,
    /// Whether one of its patterns is no regular expression, so that it cannot answer.
    pub broken: bool,
}

impl<T> Default for Paths<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Paths<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self {
            literals: Named::default(),
            patterns: Vec::new(),
            ends: Vec::new(),
            rests_some: Vec::new(),
            rests: Vec::new(),
            prefixes: Vec::new(),
            slashed: Vec::new(),
        }
    }
}

impl<T: Clone> Paths<T> {
    /// Adds a route. Of routes with the same path and methods the first one added answers. What is not a path
    /// is left out.
    pub fn add(&mut self, path: &RoutePath, methods: Methods, value: T, patterns: &Patterns) {
        let Some((template, end)) = taken_apart(path) else { return };
        let names = template.parameters().cloned().collect();
        let mut entry = Entry { methods, names, broken: false, value };
        let mut node = Arc::make_mut(&mut self.0);
        for segment in steps(&template, end) {
            node = match segment {
                Segment::Literal(text) => {
                    Arc::make_mut(node.literals.entry(decoded(text).into()).or_default())
                }
                Segment::Pattern(parts) => {
                    node.below(patterns.compile(parts).unwrap_or_else(|| {
                        entry.broken = true;
                        Pattern::Any
                    }))
                }
                Segment::Rest { .. } => node,
            };
        }
        node.at(end).push(entry);
    }

    /// Removes the routes of a path that are meant.
    pub fn remove(&mut self, path: &RoutePath, meant: impl Fn(&T) -> bool, patterns: &Patterns) {
        let Some((template, end)) = taken_apart(path) else { return };
        let node = Arc::make_mut(&mut self.0);
        node.remove(
            steps(&template, end),
            &|node| {
                node.at(end).retain(|entry| !meant(&entry.value));
            },
            patterns,
        );
    }

    /// Whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a path ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    Rest,
    RestSome,
    Prefix,
    Slashed,
}

fn taken_apart(path: &RoutePath) -> Option<(PathTemplate, End)> {
    let template = PathTemplate::parse(path.as_str()).ok()?;
    let end = match (path, template.segments().last()?) {
        (_, Segment::Rest { some: true, .. }) => End::RestSome,
        (_, Segment::Rest { some: false, .. }) => End::Rest,
        (RoutePath::Exact(_), _) => End::Whole,
        (RoutePath::Prefix { .. }, Segment::Literal(last)) if last.is_empty() => End::Slashed,
        (RoutePath::Prefix { .. }, _) => End::Prefix,
    };
    Some((template, end))
}

/// The segments that lead to the node where a path ends.
fn steps(template: &PathTemplate, end: End) -> &[Segment] {
    match (end, template.segments()) {
        (End::Rest | End::RestSome | End::Slashed, [steps @ .., _]) => steps,
        (_, steps) => steps,
    }
}

impl<T> Paths<T> {
    /// The route for a path, whose percent escapes are undone, and a method.
    pub fn find<'t, 'p>(&'t self, path: &'p str, method: &Method) -> Found<'t, 'p, T> {
        let mut search = Search { method, other: Methods::NONE, values: Vec::new(), prefix: None };
        let rest = path.strip_prefix('/');
        let found = rest.and_then(|rest| search.walk(&self.0, Some(rest), 0));
        match found.or_else(|| search.prefix.map(|(_, found)| found)) {
            Some(found) => Found::Route(found),
            None if search.other.is_empty() => Found::Nothing,
            None => Found::Methods(search.other),
        }
    }
}

impl<T: Clone> Node<T> {
    /// The node below a placeholder, made if need be.
    fn below(&mut self, pattern: Pattern) -> &mut Self {
        let at = match self.patterns.binary_search_by(|(known, _)| known.cmp(&pattern)) {
            Ok(at) => at,
            Err(at) => {
                self.patterns.insert(at, (pattern, Arc::default()));
                at
            }
        };
        Arc::make_mut(&mut self.patterns[at].1)
    }

    /// The routes that end here in a way.
    fn at(&mut self, end: End) -> &mut Vec<Entry<T>> {
        match end {
            End::Whole => &mut self.ends,
            End::Rest => &mut self.rests,
            End::RestSome => &mut self.rests_some,
            End::Prefix => &mut self.prefixes,
            End::Slashed => &mut self.slashed,
        }
    }

    /// Does something at the end of the steps, and cuts off what is empty after it.
    fn remove(&mut self, steps: &[Segment], at_end: &dyn Fn(&mut Self), patterns: &Patterns) {
        let Some((step, steps)) = steps.split_first() else { return at_end(self) };
        match step {
            Segment::Literal(text) => {
                let text = decoded(text);
                let Some(next) = self.literals.get_mut(&*text) else { return };
                let next = Arc::make_mut(next);
                next.remove(steps, at_end, patterns);
                if next.is_empty() {
                    self.literals.remove(&*text);
                }
            }
            Segment::Pattern(parts) => {
                let pattern = patterns.compile(parts).unwrap_or(Pattern::Any);
                let found = self.patterns.binary_search_by(|(known, _)| known.cmp(&pattern));
                let Ok(at) = found else { return };
                let next = Arc::make_mut(&mut self.patterns[at].1);
                next.remove(steps, at_end, patterns);
                if next.is_empty() {
                    self.patterns.remove(at);
                }
            }
            Segment::Rest { .. } => {}
        }
    }
}

impl<T> Node<T> {
    fn is_empty(&self) -> bool {
        let ends = [&self.ends, &self.rests, &self.rests_some, &self.prefixes, &self.slashed];
        self.literals.is_empty()
            && self.patterns.is_empty()
            && ends.iter().all(|end| end.is_empty())
    }
}

impl<T> Entry<T> {
    fn matched<'t, 'p>(&'t self, values: Vec<&'p str>, taken: Option<usize>) -> Match<'t, 'p, T> {
        let parameters = self.names.iter().zip(values).collect();
        Match { value: &self.value, parameters, taken, broken: self.broken }
    }
}

/// The entry that fits a method best; if none does, notes which methods there are.
fn choose<'t, T>(
    entries: &'t [Entry<T>],
    method: &Method,
    other: &mut Methods,
) -> Option<&'t Entry<T>> {
    let mut best: Option<(Fit, &Entry<T>)> = None;
    for entry in entries {
        match entry.methods.fit(method) {
            Some(fit) if best.is_none_or(|(known, _)| fit < known) => best = Some((fit, entry)),
            Some(_) => {}
            None => *other = other.or(entry.methods),
        }
    }
    best.map(|(_, entry)| entry)
}

/// One walk through the tree.
struct Search<'t, 'p, 'm, T> {
    method: &'m Method,
    /// Methods of routes that fit the path only.
    other: Methods,
    /// What the placeholders on the way here matched.
    values: Vec<&'p str>,
    /// The longest prefix so far, and its length.
    prefix: Option<(usize, Match<'t, 'p, T>)>,
}

impl<'t, 'p, T> Search<'t, 'p, '_, T> {
    /// Looks at a node and everything below it that fits what is left of the path.
    fn walk(
        &mut self,
        node: &'t Node<T>,
        rest: Option<&'p str>,
        depth: usize,
    ) -> Option<Match<'t, 'p, T>> {
        self.note(&node.prefixes, depth, depth * 2);
        let Some(rest) = rest else {
            let entry = choose(&node.ends, self.method, &mut self.other)?;
            return Some(entry.matched(self.values.clone(), None));
        };
        self.note(&node.slashed, depth, depth * 2 + 1);
        let (segment, below) = match rest.bytes().position(|byte| byte == b'/') {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        if let Some(next) = node.literals.get(segment)
            && let Some(found) = self.walk(next, below, depth + 1)
        {
            return Some(found);
        }
        for (pattern, next) in &node.patterns {
            let known = self.values.len();
            if pattern.matches(segment, &mut self.values)
                && let Some(found) = self.walk(next, below, depth + 1)
            {
                return Some(found);
            }
            self.values.truncate(known);
        }
        self.rest(node, rest)
    }

    fn rest(&mut self, node: &'t Node<T>, rest: &'p str) -> Option<Match<'t, 'p, T>> {
        let some = if rest.is_empty() { &[][..] } else { &node.rests_some };
        let entry = choose(some, self.method, &mut self.other);
        let entry = entry.or_else(|| choose(&node.rests, self.method, &mut self.other))?;
        let mut values = self.values.clone();
        values.push(rest);
        Some(entry.matched(values, None))
    }

    /// Keeps a prefix if it is longer than the one known.
    fn note(&mut self, entries: &'t [Entry<T>], depth: usize, length: usize) {
        if entries.is_empty() {
            return;
        }
        let known = self.prefix.as_ref().map(|(known, _)| *known);
        if let Some(entry) = choose(entries, self.method, &mut self.other)
            && known.is_none_or(|known| known < length)
        {
            self.prefix = Some((length, entry.matched(self.values.clone(), Some(depth))));
        }
    }
}
