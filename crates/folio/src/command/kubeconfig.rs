//! `folio kubeconfig`: how kubectl comes to the server, as it wants that written down.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use folio_model::Actor;
use reqwest::Url;
use serde_json::{Value, json};

use super::Session;
use super::token::{RoleName, Wanted, seconds};
use crate::output::{self, Format};
use crate::problem::Problem;

/// How kubectl is to come to the server.
#[derive(Debug, Args)]
pub(crate) struct Kubeconfig {
    /// Name the context so, and its cluster and user alike
    #[arg(long, value_name = "NAME", default_value = "folio")]
    context: String,
    /// Make a token of this role for it, instead of writing down the one in use
    #[arg(long, value_name = "ROLE", value_enum)]
    token_role: Option<RoleName>,
    /// Name the new token's holder so
    #[arg(long, value_name = "NAME", default_value = "kubectl", requires = "token_role")]
    name: Actor,
    /// Let the new token hold in every app, instead of in the one of `--app`
    #[arg(long, requires = "token_role")]
    all_apps: bool,
    /// Make the new token invalid after a time, such as `30d`, `12h` or `90m`
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "token_role")]
    expires: Option<u64>,
    /// Write it into this file beside what is in it, for its owner only, instead of printing it
    #[arg(long, value_name = "FILE")]
    merge: Option<PathBuf>,
}

/// Prints the way to the server, or writes it down.
pub(crate) async fn run(session: &Session, what: Kubeconfig) -> Result<()> {
    let merged = what.merge.as_deref().map(read).transpose()?;
    let token = match what.token_role {
        None => session.access.token.clone(),
        Some(role) => {
            let wanted = Wanted {
                name: what.name.clone(),
                role,
                all_apps: what.all_apps,
                expires: what.expires,
            };
            Some(super::token::make(session, wanted).await?.token)
        }
    };
    let way = Way {
        name: &what.context,
        server: session.client.server(),
        ca: session.access.ca.as_deref(),
        token,
        namespace: session.app(None).to_string(),
    };
    let Some((path, mut whole)) = what.merge.zip(merged) else {
        let format = if session.output == Format::Json { Format::Json } else { Format::Yaml };
        let mut whole = empty();
        way.add(&mut whole)?;
        return format.item(&whole, |_| String::new());
    };
    way.add(&mut whole)?;
    write(&path, &serde_saphyr::to_string(&whole)?)
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    output::talk(&format!("context {} written to {}", what.context, path.display()));
    Ok(())
}

/// The way to a server.
struct Way<'a> {
    name: &'a str,
    server: &'a str,
    ca: Option<&'a [u8]>,
    token: Option<String>,
    namespace: String,
}

impl Way<'_> {
    /// Adds it, in the place of one with the same name, and makes it the current one.
    fn add(self, whole: &mut Value) -> Result<()> {
        let Self { name, ca, token, namespace, .. } = &self;
        let mut cluster = json!({ "server": self.server()? });
        if let Some(ca) = ca {
            cluster["certificate-authority-data"] = BASE64.encode(ca).into();
        }
        let user = match token {
            Some(token) if self.is_secure() => json!({ "token": token }),
            _ => json!({}),
        };
        let context = json!({ "cluster": name, "namespace": namespace, "user": name });
        for (list, key, value) in [
            ("clusters", "cluster", cluster),
            ("users", "user", user),
            ("contexts", "context", context),
        ] {
            let item = json!({ "name": name, key: value });
            if !whole[list].is_array() {
                whole[list] = json!([]);
            }
            let items = whole[list].as_array_mut().context("it was just made a list")?;
            match items.iter_mut().find(|item| item["name"] == *name) {
                Some(same) => *same = item,
                None => items.push(item),
            }
        }
        whole["current-context"] = (*name).into();
        Ok(())
    }

    fn is_secure(&self) -> bool {
        self.server.starts_with("https://")
    }

    /// The address. Over plain http kubectl sends no token, only what is in the address itself.
    fn server(&self) -> Result<String> {
        let Some(token) = self.token.as_ref().filter(|_| !self.is_secure()) else {
            return Ok(self.server.to_owned());
        };
        let mut url = Url::parse(self.server)?;
        let set = url.set_username("folio").and_then(|()| url.set_password(Some(token)));
        set.map_err(|()| Problem::new(format!("`{}` cannot hold a token", self.server)))?;
        Ok(url.as_str().trim_end_matches('/').to_owned())
    }
}

fn empty() -> Value {
    json!({ "apiVersion": "v1", "kind": "Config" })
}

/// What is in a file already.
fn read(path: &Path) -> Result<Value> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(empty()),
        read => read.with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    if text.trim().is_empty() {
        return Ok(empty());
    }
    let found: Option<Value> = serde_saphyr::from_str(&text).ok();
    let lists = ["clusters", "users", "contexts"];
    let fits = |found: &Value| {
        let is_list = |key: &&str| found[key].is_null() || found[key].is_array();
        found.is_object() && lists.iter().all(is_list)
    };
    found.filter(fits).ok_or_else(|| {
        let problem = Problem::new(format!("`{}` is no kubeconfig", path.display()));
        problem.hint("name another file with --merge; this one is left as it is").into()
    })
}

/// Writes a file whole or not at all, for its owner only.
fn write(path: &Path, text: &str) -> Result<()> {
    // What a link leads to is what is meant.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(server: &str) -> Way<'_> {
        let (token, namespace) = (Some("folio_1_2".to_owned()), "shop".to_owned());
        Way { name: "here", server, ca: None, token, namespace }
    }

    #[test]
    fn a_token_goes_where_kubectl_sends_it_from() {
        let mut whole = empty();
        way("https://folio.example:7070").add(&mut whole).unwrap();
        assert_eq!(whole["users"][0]["user"]["token"], "folio_1_2");
        assert_eq!(whole["clusters"][0]["cluster"]["server"], "https://folio.example:7070");
        way("http://127.0.0.1:7070").add(&mut whole).unwrap();
        assert_eq!(whole["users"][0]["user"], json!({}));
        let server = &whole["clusters"][0]["cluster"]["server"];
        assert_eq!(server, "http://folio:folio_1_2@127.0.0.1:7070");
    }

    #[test]
    fn what_is_there_stays_and_the_same_name_is_replaced() {
        let mut whole = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "other", "preferences": {},
            "clusters": [{ "name": "other", "cluster": {} }, { "name": "here", "cluster": {} }],
        });
        way("https://a").add(&mut whole).unwrap();
        assert_eq!(whole["clusters"].as_array().unwrap().len(), 2);
        assert_eq!(whole["clusters"][1]["cluster"]["server"], "https://a");
        assert_eq!(whole["current-context"], "here");
        assert_eq!(whole["preferences"], json!({}));
    }
}
