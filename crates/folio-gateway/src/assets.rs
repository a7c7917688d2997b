//! Static files of a release: which file a path means. Whole segments are compared as they were written; nothing is
//! normalised, so nothing outside an item can be reached. Start at [`Mounts::find`].

mod answer;
mod fingerprint;
mod ranges;

use std::sync::Arc;

use folio_core::serving::{Asset, AssetEntry, AssetFile, Shown};

pub(crate) use self::answer::{Asked, Caching};
pub(crate) use self::fingerprint::is_fingerprinted;

/// The static items of a release, those with the longest path first.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<Mount>);

#[derive(Debug)]
struct Mount {
    /// The path without a slash at its end.
    path: Box<str>,
    segments: usize,
    asset: Arc<Asset>,
}

/// What a path means among static files.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) asset: Arc<Asset>,
    /// How many segments of the path the item's path takes.
    pub(crate) segments: usize,
    pub(crate) means: Means,
}

#[derive(Debug, Clone)]
pub(crate) enum Means {
    /// A file; its path says what it holds.
    File(Arc<AssetFile>, Box<str>),
    /// A directory that is asked for without the slash that its files need.
    Directory,
    /// Something of an item that cannot be read.
    Unreadable,
}

impl Mounts {
    pub(crate) fn of(shown: &Shown) -> Self {
        let mount = |asset: &Arc<Asset>| {
            let path: Box<str> = asset.spec.path.trim_end_matches('/').into();
            let segments = path.split('/').count() - 1;
            Mount { path, segments, asset: Arc::clone(asset) }
        };
        let mut mounts: Vec<_> = shown.assets.iter().map(mount).collect();
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.segments));
        Self(mounts)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The file that is at a path. Its percent escapes are undone.
    pub(crate) fn find(&self, path: &str) -> Option<Hit> {
        self.0.iter().find_map(|mount| mount.find(path))
    }

    /// The file that answers for a path that leads nowhere.
    pub(crate) fn fallback(&self, path: &str) -> Option<Hit> {
        self.stand_in(path, |asset| asset.spec.fallback.as_deref())
    }

    /// The file that says that there is nothing at a path.
    pub(crate) fn error_page(&self, path: &str) -> Option<Hit> {
        self.stand_in(path, |asset| asset.spec.error_page.as_deref())
    }

    fn stand_in(&self, path: &str, of: impl Fn(&Asset) -> Option<&str>) -> Option<Hit> {
        let covering = self.0.iter().filter(|mount| mount.rest(path).is_some());
        covering.filter_map(|mount| mount.file(of(&mount.asset)?)).next()
    }
}

impl Mount {
    /// What of a path is below this one, if it is; it begins with a slash unless nothing is left.
    fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&*self.path).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn find(&self, path: &str) -> Option<Hit> {
        let rest = self.rest(path)?;
        let directory = match &self.asset.files {
            AssetEntry::Directory(directory) => directory,
            AssetEntry::Unreadable => return Some(self.hit(Means::Unreadable)),
            AssetEntry::File(file) => {
                let own = rest.is_empty() || (self.path.is_empty() && rest == "/");
                let name = self.asset.own_name();
                return own.then(|| self.hit(Means::File(Arc::clone(file), name.into())));
            }
        };
        let Some(below) = rest.strip_prefix('/') else {
            return self.index("").map(|_| self.hit(Means::Directory));
        };
        if below.is_empty() || below.ends_with('/') {
            return self.index(below.trim_end_matches('/')).filter(|_| !below.ends_with("//"));
        }
        match directory.find(below)? {
            AssetEntry::File(file) => Some(self.hit(Means::File(file, below.into()))),
            AssetEntry::Directory(_) => self.index(below).map(|_| self.hit(Means::Directory)),
            AssetEntry::Unreadable => Some(self.hit(Means::Unreadable)),
        }
    }

    /// The file that stands for a directory.
    fn index(&self, directory: &str) -> Option<Hit> {
        let index = self.asset.spec.index();
        let path = if directory.is_empty() { index.into() } else { format!("{directory}/{index}") };
        self.file(&path)
    }

    fn file(&self, path: &str) -> Option<Hit> {
        let AssetEntry::Directory(directory) = &self.asset.files else { return None };
        match directory.find(path)? {
            AssetEntry::File(file) => Some(self.hit(Means::File(file, path.into()))),
            AssetEntry::Directory(_) | AssetEntry::Unreadable => None,
        }
    }

    fn hit(&self, means: Means) -> Hit {
        Hit { asset: Arc::clone(&self.asset), segments: self.segments, means }
    }
}

/// Whether a path looks like that of a file rather than that of a page, which a single-page app would answer for.
pub(crate) fn is_file_like(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    match last.rsplit_once('.') {
        Some((_, ending)) => {
            let page = matches!(ending, "html" | "htm" | "xhtml");
            !page
                && (1..=8).contains(&ending.len())
                && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use folio_model::{Content, Digest, Layout, StaticSpec};

    use super::*;

    #[test]
    fn what_cannot_be_read_hides_nothing_beside_it() {
        let mount = |path: &str| {
            let digest = Digest::of(b"");
            let content = Content { tree: digest, layout: Layout::Directory };
            let spec = StaticSpec {
                path: path.to_owned(),
                content,
                index: None,
                fallback: Some("index.html".to_owned()),
                error_page: None,
                headers: BTreeMap::new(),
                expires: None,
                bag: Default::default(),
            };
            let (name, files) = ("site".parse().unwrap(), AssetEntry::Unreadable);
            Mount { path: path.into(), segments: 1, asset: Arc::new(Asset { name, spec, files }) }
        };
        let mounts = Mounts(vec![mount("/a")]);
        for path in ["/a", "/a/", "/a/x.js"] {
            let found = mounts.find(path).map(|hit| hit.means);
            assert!(matches!(found, Some(Means::Unreadable)), "{path}: {found:?}");
        }
        assert!(mounts.find("/b").is_none() && mounts.fallback("/a/page").is_none());
    }

    #[test]
    fn files_are_told_from_pages() {
        for path in ["/app.js", "/a/b.png", "/x.woff2", "/data.json"] {
            assert!(is_file_like(path), "{path}");
        }
        for path in ["/", "/users/ada", "/users/ada.lovelace@x", "/page.html", "/v1.2/users"] {
            assert!(!is_file_like(path), "{path}");
        }
    }
}
