//! What a verb of a resource needs, in the one place that says so: every request is held against it, and so is every
//! question about it. Whether an app exists is never told.

use axum::http::HeaderMap;
use folio_core::Caller;
use folio_model::{AppName, Grant, Right};
use serde_json::{Value, json};

use super::discovery::{Part, parts};
use super::resource::{RESOURCES, Resource, Source};
use super::review::{REVIEWS, Reviewed};
use super::status::Status;
use super::target::Target;

/// What whoever is known may read.
const READ_BY_ALL: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi/*",
    "/readyz",
    "/version",
];

/// Apps, as this face calls them.
const NAMESPACES: &str = "namespaces";

/// Refuses what a caller may not do, before anything else about it is looked at.
pub(super) fn allow(caller: &Caller, target: &Target, verb: &str) -> Result<(), Status> {
    let named = target.name.as_deref().and_then(|name| name.parse().ok());
    let app = place(target.resource, target.namespace.as_ref(), named.as_ref());
    Ok(caller.may(needed(target.resource, verb), app)?)
}

/// Refuses to let anybody act as somebody else: a client that asks for it must not be taken for itself.
pub(super) fn refuse_disguise(headers: &HeaderMap) -> Result<(), Status> {
    match headers.keys().find(|name| name.as_str().starts_with("impersonate-")) {
        None => Ok(()),
        Some(name) => {
            let what = format!("`{name}`: nobody may act as somebody else; use a token of theirs");
            Err(Status::new(403, "Forbidden", what))
        }
    }
}

/// The right that a verb needs.
fn needed(resource: &Resource, verb: &str) -> Right {
    match (verb, resource.source) {
        ("get" | "list" | "watch", _) => Right::View,
        (_, Source::Mapped(mapping)) => mapping.needs(verb),
        (_, Source::Unit(..)) => Right::Deploy,
    }
}

/// Where it is needed; everywhere if in no app. A namespace is an app.
fn place<'a>(
    resource: &Resource,
    namespace: Option<&'a AppName>,
    name: Option<&'a AppName>,
) -> Option<&'a AppName> {
    if resource.plural == NAMESPACES { name } else { namespace }
}

/// Whether a caller may do what a review describes, or why not.
pub(super) fn decide(caller: &Caller, spec: &Value) -> Result<Result<(), String>, Status> {
    match (&spec["resourceAttributes"], &spec["nonResourceAttributes"]) {
        (Value::Object(_), Value::Null) => Attributes::read(&spec["resourceAttributes"])
            .map(|attributes| attributes.decide(caller)),
        (Value::Null, Value::Object(_)) => {
            let path = text(&spec["nonResourceAttributes"], "path")?;
            Ok(decide_path(caller, path, text(&spec["nonResourceAttributes"], "verb")?))
        }
        _ => {
            let what = "spec: Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified";
            Err(Status::invalid("spec", what))
        }
    }
}

fn decide_path(caller: &Caller, path: &str, verb: &str) -> Result<(), String> {
    let fits = |pattern: &&&str| match pattern.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => **pattern == path,
    };
    let allowed = match (path, verb) {
        ("/metrics", "get") => caller.may(Right::View, None),
        (_, "get" | "head") if READ_BY_ALL.iter().any(|pattern| fits(&pattern)) => Ok(()),
        ("*", _) => caller.may(Right::Administer, None),
        _ => return Err(format!("`{path}` cannot be asked to {verb} here")),
    };
    allowed.map_err(|error| error.to_string())
}

/// What a review asks about. A star stands for all there are.
struct Attributes<'a> {
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    part: &'a str,
    app: Option<AppName>,
    name: Option<AppName>,
}

impl<'a> Attributes<'a> {
    fn read(given: &'a Value) -> Result<Self, Status> {
        let app = |key| Ok::<_, Status>(text(given, key)?.parse().ok());
        Ok(Self {
            verb: text(given, "verb")?,
            group: text(given, "group")?,
            resource: text(given, "resource")?,
            part: text(given, "subresource")?,
            app: app("namespace")?,
            name: app("name")?,
        })
    }

    /// Everything that is meant has to be allowed.
    fn decide(&self, caller: &Caller) -> Result<(), String> {
        let all = |own: &str, asked: &str| asked == "*" || own == asked;
        let meant = RESOURCES.iter().filter(|resource| {
            all(resource.group, self.group) && all(resource.plural, self.resource)
        });
        let mut asked = 0;
        for resource in meant {
            let name = self.name.as_ref().or(self.app.as_ref().filter(|_| self.resource == "*"));
            let at = place(resource, self.app.as_ref(), name);
            for verb in self.verbs(resource) {
                asked += 1;
                let may = caller.may(needed(resource, verb), at);
                may.map_err(|error| error.to_string())?;
            }
        }
        let is_review = |review: &&Reviewed| {
            let verb = self.verb == "create" && self.part.is_empty();
            verb && all(review.group, self.group) && all(review.plural, self.resource)
        };
        asked += REVIEWS.iter().filter(is_review).count();
        if asked == 0 {
            let Self { verb, resource, .. } = self;
            return Err(format!("`{resource}` cannot be asked to {verb} here"));
        }
        Ok(())
    }

    /// The verbs that are meant, as far as there are such.
    fn verbs(&self, resource: &Resource) -> Vec<&'static str> {
        let own = match self.part {
            "" => resource.verbs,
            part => parts(resource)
                .into_iter()
                .find(|own| part == "*" || own.name == part)
                .map_or(&[][..], |own| own.verbs),
        };
        own.iter().copied().filter(|verb| self.verb == "*" || *verb == self.verb).collect()
    }
}

/// Everything that a grant allows in a namespace.
pub(super) fn rules(grant: &Grant, spec: &Value) -> Result<Value, Status> {
    let namespace = text(spec, "namespace")?;
    if namespace.is_empty() {
        return Err(Status::invalid("spec.namespace", "spec.namespace: Required value"));
    }
    let app: Option<AppName> = namespace.parse().ok();
    let mut rules = Vec::new();
    for resource in RESOURCES.iter() {
        let may = |verb: &str, at| grant.allows(needed(resource, verb), at);
        let one = app.as_ref();
        let everywhere: Vec<_> =
            resource.verbs.iter().filter(|verb| may(verb, place(resource, one, None))).collect();
        rules.extend(rule(resource, "", &everywhere));
        if resource.plural == NAMESPACES && everywhere.is_empty() {
            let named = ["get", "delete"].into_iter().filter(|verb| may(verb, one));
            let verbs: Vec<_> = named.collect();
            let rule = rule(resource, "", &verbs.iter().collect::<Vec<_>>());
            rules.extend(rule.map(|mut rule| {
                rule["resourceNames"] = json!([namespace]);
                rule
            }));
        }
        for Part { name, verbs, .. } in parts(resource) {
            let verbs: Vec<_> =
                verbs.iter().filter(|verb| may(verb, place(resource, one, None))).collect();
            rules.extend(rule(resource, &format!("/{name}"), &verbs));
        }
    }
    rules.extend(REVIEWS.iter().map(|review| {
        json!({ "verbs": ["create"], "apiGroups": [review.group], "resources": [review.plural] })
    }));
    let paths = json!([{ "verbs": ["get"], "nonResourceURLs": READ_BY_ALL }]);
    Ok(json!({ "resourceRules": rules, "nonResourceRules": paths, "incomplete": false }))
}

fn rule(resource: &Resource, part: &str, verbs: &[&&str]) -> Option<Value> {
    let whole = format!("{}{part}", resource.plural);
    let rule = json!({ "verbs": verbs, "apiGroups": [resource.group], "resources": [whole] });
    (!verbs.is_empty()).then_some(rule)
}

/// A text that may be left out.
fn text<'a>(of: &'a Value, key: &str) -> Result<&'a str, Status> {
    match &of[key] {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        _ => Err(Status::bad_request(format!("`{key}` is no text"))),
    }
}

#[cfg(test)]
mod tests {
    use folio_model::Role;

    use super::*;

    fn check(role: Role, app: Option<&str>, asked: [&str; 4], expected: bool) {
        let grant = Grant { role, app: app.map(|app| app.parse().unwrap()) };
        let caller = Caller { grant, ..Caller::new("grace".parse().unwrap()) };
        let [verb, group, resource, namespace] = asked;
        let spec = json!({ "resourceAttributes": {
            "verb": verb, "group": group, "resource": resource, "namespace": namespace,
        }});
        let decided = decide(&caller, &spec).unwrap();
        assert_eq!(decided.is_ok(), expected, "{role} of {app:?}: {asked:?}: {decided:?}");
    }

    #[test]
    fn a_question_is_answered_as_the_request_would_be() {
        let functions = |verb| [verb, "fission.io", "functions", "shop"];
        check(Role::Viewer, None, functions("list"), true);
        check(Role::Viewer, None, functions("create"), false);
        check(Role::Viewer, Some("shop"), functions("get"), true);
        check(Role::Viewer, Some("other"), functions("get"), false);
        check(Role::Invoker, Some("shop"), functions("get"), false);
        check(Role::Deployer, Some("shop"), functions("*"), true);
        check(Role::Deployer, Some("shop"), functions("fly"), false);
        check(Role::Deployer, Some("shop"), ["get", "fission.io", "functions", ""], false);
        check(Role::Deployer, None, ["create", "", "namespaces", ""], false);
        check(Role::Admin, None, ["create", "", "namespaces", "shop"], true);
        check(Role::Admin, Some("shop"), ["create", "", "namespaces", "shop"], false);
        check(Role::Admin, None, ["get", "", "nodes", ""], false);
        check(Role::Viewer, None, ["get", "*", "*", "shop"], true);
        check(Role::Deployer, None, ["*", "*", "*", "shop"], false);
        check(Role::Admin, None, ["*", "*", "*", ""], true);
        check(Role::Admin, Some("shop"), ["get", "*", "*", ""], false);
    }

    #[test]
    fn paths_are_for_all_who_are_known_but_measures_are_not() {
        let caller = |role, app: Option<&str>| {
            let grant = Grant { role, app: app.map(|app| app.parse().unwrap()) };
            Caller { grant, ..Caller::new("grace".parse().unwrap()) }
        };
        let (small, large) = (caller(Role::Invoker, Some("shop")), caller(Role::Viewer, None));
        assert!(decide_path(&small, "/apis/fission.io", "get").is_ok());
        assert!(decide_path(&small, "/version", "post").is_err());
        assert!(decide_path(&small, "/metrics", "get").is_err());
        assert!(decide_path(&large, "/metrics", "get").is_ok());
        assert!(decide_path(&large, "*", "get").is_err());
    }
}
