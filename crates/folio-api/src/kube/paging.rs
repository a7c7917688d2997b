//! Where a list goes on after a page. A token names the revision of its list and the last object that was shown; only
//! this server can make one, and it holds for the list it was made for. Lists of what is no unit are kept until they
//! are read to their end, as far as there is room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use folio_core::Folio;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Sha256;

use super::status::Status;

/// Entries after which a page can no longer be continued, or a watch begun.
pub(crate) const ENTRIES_MAX: u64 = 10_000;

/// Objects of all lists that are kept.
const KEPT_MAX: usize = 20_000;

/// Bytes of a token that say that it is ours.
const SEAL_BYTES: usize = 32;

/// Where a page goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Continued {
    /// The revision of the list.
    pub(crate) revision: u64,
    /// The namespace of the last object that was shown, if it has one.
    pub(crate) app: String,
    /// Its name.
    pub(crate) name: String,
}

/// What a token says.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    /// The key it is sealed with, by name.
    key: String,
    #[serde(flatten)]
    at: Continued,
}

/// The lists that are being read.
#[derive(Default)]
pub(crate) struct Pages {
    key: OnceLock<Key>,
    kept: Mutex<VecDeque<Kept>>,
}

/// What tokens are sealed with. It is drawn when it is first needed and ends with the server.
struct Key {
    name: String,
    secret: String,
}

/// A list of what is no unit.
struct Kept {
    of: String,
    revision: u64,
    items: Arc<Vec<Value>>,
}

impl Pages {
    /// A token for the rest of a list.
    pub(crate) fn token(&self, folio: &Folio, of: &str, at: &Continued) -> Option<String> {
        let key = self.key(folio);
        let said = serde_json::to_vec(&Said { key: key.name.clone(), at: at.clone() }).ok()?;
        let mut token = key.seal(of, &said).finalize().into_bytes().to_vec();
        token.extend(said);
        Some(BASE64.encode(token))
    }

    /// Where a token says that a list goes on.
    pub(crate) fn read(&self, folio: &Folio, of: &str, token: &str) -> Result<Continued, Status> {
        let invalid = || Status::bad_request("continue key is not valid");
        let bytes = BASE64.decode(token).map_err(|_| invalid())?;
        let (seal, said) = bytes.split_at_checked(SEAL_BYTES).ok_or_else(invalid)?;
        let Said { key: name, at } = serde_json::from_slice(said).map_err(|_| invalid())?;
        let key = self.key(folio);
        if name != key.name {
            // It was made before this server was started.
            return Err(expired());
        }
        key.seal(of, said).verify_slice(seal).map_err(|_| invalid())?;
        Ok(at)
    }

    /// Keeps a list for those who read the rest of it.
    pub(crate) fn keep(&self, of: String, revision: u64, items: &[Value]) {
        if items.len() > KEPT_MAX {
            return;
        }
        let items = Arc::new(items.to_vec());
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|own| own.of != of || own.revision != revision);
        all.push_back(Kept { of, revision, items });
        while all.iter().map(|own| own.items.len()).sum::<usize>() > KEPT_MAX {
            all.pop_front();
        }
    }

    /// What a list was at a revision, if it is kept.
    pub(crate) fn kept(&self, of: &str, revision: u64) -> Option<Arc<Vec<Value>>> {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|own| own.of == of && own.revision == revision);
        found.map(|own| Arc::clone(&own.items))
    }

    fn key(&self, folio: &Folio) -> &Key {
        self.key.get_or_init(|| {
            let (name, secret) = (folio.draw_token(), folio.draw_token());
            Key { name: name.reveal().chars().rev().take(8).collect(), secret: secret.reveal() }
        })
    }
}

impl Key {
    /// The seal of what a token says of a list.
    fn seal(&self, of: &str, said: &[u8]) -> Hmac<Sha256> {
        let secret = self.secret.as_bytes();
        let mut seal = Hmac::<Sha256>::new_from_slice(secret).expect("a key may have any length");
        seal.update(&(of.len() as u64).to_be_bytes());
        seal.update(of.as_bytes());
        seal.update(said);
        seal
    }
}

/// A token that cannot be used any more.
pub(crate) fn expired() -> Status {
    let what = "The provided continue parameter is too old to display a consistent list result. You must start a new \
                list without the continue parameter.";
    Status::new(410, "Expired", what)
}
