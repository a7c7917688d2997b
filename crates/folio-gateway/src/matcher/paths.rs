//! The paths of one host: which route answers a path and a method.
//!
//! Whole paths are looked up in a map; everything else in a tree with a level per segment, so that the cost of a
//! lookup follows the path and not the number of routes. Exact paths win over templates, templates over
//! prefixes, longer prefixes over shorter ones; a literal segment wins over a placeholder at the same place, and a
//! placeholder with a pattern over one without. A route that does not take the method steps aside for a less
//! specific one that does.

use std::collections::HashMap;
use std::sync::Arc;

use folio_model::{PathTemplate, RoutePath, Segment};
use http::Method;

use super::methods::{Fit, Methods};
use super::patterns::{Pattern, Patterns, decoded};

/// The routes of one host, by path.
#[derive(Debug)]
pub struct Paths<T> {
    exact: HashMap<Box<str>, Vec<Entry<T>>>,
    root: Node<T>,
    has_tree: bool,
}

/// One route at its place.
#[derive(Debug)]
struct Entry<T> {
    methods: Methods,
    /// What its placeholders are called, in the order of the path.
    names: Arc<[Arc<str>]>,
    /// Whether one of its patterns is no regular expression.
    broken: bool,
    value: T,
}

#[derive(Debug)]
struct Node<T> {
    literals: HashMap<Box<str>, Self>,
    /// Those with a pattern first.
    patterns: Vec<(Pattern, Self)>,
    /// Templates that end here.
    ends: Vec<Entry<T>>,
    /// Templates that take everything that is left, and whether that must be something.
    rests: Vec<(bool, Entry<T>)>,
    /// Prefixes that end here, without a slash and with one.
    prefixes: Vec<Entry<T>>,
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
        Self { exact: HashMap::new(), root: Node::default(), has_tree: false }
    }
}

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self {
            literals: HashMap::new(),
            patterns: Vec::new(),
            ends: Vec::new(),
            rests: Vec::new(),
            prefixes: Vec::new(),
            slashed: Vec::new(),
        }
    }
}

impl<T> Paths<T> {
    /// Adds a route. Of routes with the same path and methods the first one added answers. What is not a path
    /// is left out.
    pub fn add(&mut self, path: &RoutePath, methods: Methods, value: T, patterns: &mut Patterns) {
        let Ok(template) = PathTemplate::parse(path.as_str()) else { return };
        let names = template.parameters().cloned().collect();
        let mut entry = Entry { methods, names, broken: false, value };
        if matches!(path, RoutePath::Exact(_)) && template.is_literal() {
            let whole = decoded(path.as_str());
            self.exact.entry(whole.into()).or_default().push(entry);
            return;
        }
        self.has_tree = true;
        let mut segments = template.segments();
        let slashed = match (path, segments) {
            (RoutePath::Prefix { .. }, [before @ .., Segment::Literal(last)])
                if last.is_empty() =>
            {
                segments = before;
                true
            }
            _ => false,
        };
        let mut node = &mut self.root;
        for segment in segments {
            node = match segment {
                Segment::Literal(text) => node.literals.entry(decoded(text).into()).or_default(),
                Segment::Pattern(parts) => {
                    node.below(patterns.compile(parts).unwrap_or_else(|| {
                        entry.broken = true;
                        Pattern::Any
                    }))
                }
                Segment::Rest { some, .. } => {
                    node.rests.push((*some, entry));
                    return;
                }
            };
        }
        match path {
            RoutePath::Exact(_) => node.ends.push(entry),
            RoutePath::Prefix { .. } if slashed => node.slashed.push(entry),
            RoutePath::Prefix { .. } => node.prefixes.push(entry),
        }
    }

    /// The route for a path, whose percent escapes are undone, and a method.
    pub fn find<'t, 'p>(&'t self, path: &'p str, method: &Method) -> Found<'t, 'p, T> {
        let mut other = Methods::NONE;
        if let Some(entries) = self.exact.get(path)
            && let Some(entry) = choose(entries, method, &mut other)
        {
            return Found::Route(entry.matched(Vec::new(), None));
        }
        let rest = path.strip_prefix('/').filter(|_| self.has_tree);
        if let Some(rest) = rest {
            let mut search = Search { method, other, values: Vec::new(), prefix: None };
            if let Some(found) = search.walk(&self.root, Some(rest), 0) {
                return Found::Route(found);
            }
            if let Some((_, found)) = search.prefix {
                return Found::Route(found);
            }
            other = search.other;
        }
        if other.is_empty() { Found::Nothing } else { Found::Methods(other) }
    }
}

impl<T> Node<T> {
    fn below(&mut self, pattern: Pattern) -> &mut Self {
        let at = match self.patterns.iter().position(|(known, _)| known.same(&pattern)) {
            Some(at) => at,
            None => {
                // The one without a pattern stays last.
                let plain =
                    self.patterns.iter().position(|(known, _)| matches!(known, Pattern::Any));
                let at = plain.unwrap_or(self.patterns.len());
                self.patterns.insert(at, (pattern, Self::default()));
                at
            }
        };
        &mut self.patterns[at].1
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
        let (segment, below) = match rest.split_once('/') {
            Some((segment, below)) => (segment, Some(below)),
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
        let mut best: Option<(Fit, &Entry<T>)> = None;
        for (some, entry) in &node.rests {
            if *some && rest.is_empty() {
                continue;
            }
            match entry.methods.fit(self.method) {
                Some(fit) if best.is_none_or(|(known, _)| fit < known) => best = Some((fit, entry)),
                Some(_) => {}
                None => self.other = self.other.or(entry.methods),
            }
        }
        let (_, entry) = best?;
        let mut values = self.values.clone();
        values.push(rest);
        Some(entry.matched(values, None))
    }

    /// Keeps a prefix if it is longer than the one known.
    fn note(&mut self, entries: &'t [Entry<T>], depth: usize, length: usize) {
        let known = self.prefix.as_ref().map(|(known, _)| *known);
        if entries.is_empty() {
            return;
        }
        if let Some(entry) = choose(entries, self.method, &mut self.other)
            && known.is_none_or(|known| known < length)
        {
            self.prefix = Some((length, entry.matched(self.values.clone(), Some(depth))));
        }
    }
}
