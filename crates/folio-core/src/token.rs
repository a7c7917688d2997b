//! Tokens: who may speak, and for whom. Only the digest of a token's secret is ever stored.

use std::fmt;

use folio_model::{Actor, AppName, Digest, Edit};

use crate::ports::StoreError;
use crate::request::Caller;
use crate::view::Done;
use crate::{Class, Code, Explain, Folio, folio};

const PREFIX: &str = "folio_";
const ID_DIGITS: usize = 12;
const SECRET_DIGITS: usize = 48;

/// A token as its holder has it: `folio_<id>_<secret>`. Never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    id: String,
    secret: String,
}

impl Token {
    /// The text to hand to its holder, once.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }

    /// Reads what [`Token::reveal`] wrote, or nothing if it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let hex = |text: &str, digits| {
            text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let fits = hex(id, ID_DIGITS) && hex(secret, SECRET_DIGITS);
        fits.then(|| Self { id: id.to_owned(), secret: secret.to_owned() })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.id)
    }
}

/// Why a caller is not let in.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No token came with the request.
    #[error("the request carries no token")]
    Missing,
    /// The token is not one of ours.
    #[error("the token is not valid here")]
    Unknown,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Missing => Code("token_missing"),
            Self::Unknown => Code("token_invalid"),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Missing | Self::Unknown => Class::Unauthenticated,
            Self::Store(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing | Self::Unknown => Some(
                "set FOLIO_TOKEN, or set FOLIO_DATA to the server's data directory to use its admin token"
                    .to_owned(),
            ),
            Self::Store(error) => error.hint(),
        }
    }
}

impl Folio {
    /// Whether nothing has ever happened here.
    pub async fn is_new(&self) -> Result<bool, StoreError> {
        self.look(|state| Ok(state.head()? == 0)).await
    }

    /// A token that nobody has yet.
    pub fn draw_token(&self) -> Token {
        let digits: String = self.clock.chance().iter().map(|byte| format!("{byte:02x}")).collect();
        let (id, secret) = digits.split_at(ID_DIGITS);
        Token { id: id.to_owned(), secret: secret[..SECRET_DIGITS].to_owned() }
    }

    /// Makes a token valid for someone. In a store where nothing has happened yet, also makes the first app.
    pub async fn admit(&self, actor: &Actor, token: &Token) -> Result<Done<()>, folio::Error> {
        let app = AppName::default_app();
        let (first, actor, token) = (app.clone(), actor.clone(), token.clone());
        let caller = Caller::new(Actor::system());
        self.append(&caller, &app, move |builder| {
            if !builder.state.has_app(&first)? {
                builder.push(Edit::CreateApp { app: first.clone() })?;
            }
            let secret = Digest::of(token.secret.as_bytes());
            let (id, actor) = (token.id.clone(), actor.clone());
            builder.say(format!("admit {actor}"));
            builder.push(Edit::AddToken { id, secret, actor })?;
            Ok(())
        })
        .await
    }

    /// Says who a token speaks for. Takes as long for a wrong secret as for a right one.
    pub async fn authenticate(&self, text: Option<&str>) -> Result<Caller, Error> {
        if let (None, Some(actor)) = (text, &self.open_to) {
            return Ok(Caller::new(actor.clone()));
        }
        let token = Token::parse(text.ok_or(Error::Missing)?).ok_or(Error::Unknown)?;
        let id = token.id.clone();
        let record = self.look(move |state| state.token(&id)).await?;
        let secret = Digest::of(token.secret.as_bytes());
        // Digests are compared, not secrets: a prefix of a digest tells nothing about the secret.
        match record {
            Some(record) if record.secret == secret => Ok(Caller::new(record.actor)),
            _ => Err(Error::Unknown),
        }
    }
}
