//! Tokens: who may speak, and for whom. Only the digest of a token's secret is ever stored.

mod known;

use std::fmt;
use std::time::Duration;

use folio_model::{
    Access, Actor, AppName, Digest, Edit, Grant, Right, Timestamp, TokenRecord, TokenTerms,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::known::KnownTokens;
use crate::ports::runtime::Plan;
use crate::ports::{State, StoreError};
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
    /// It was valid until then.
    #[error("the token has expired at {}", .0.strftime("%Y-%m-%d %H:%M:%S"))]
    Expired(Timestamp),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Missing => Code("token_missing"),
            Self::Unknown => Code("token_invalid"),
            Self::Expired(_) => Code("token_expired"),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Missing | Self::Unknown | Self::Expired(_) => Class::Unauthenticated,
            Self::Store(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing | Self::Unknown => Some(
                "set FOLIO_TOKEN, or set FOLIO_DATA to the server's data directory to use its admin token"
                    .to_owned(),
            ),
            Self::Expired(_) => Some("ask whoever made it for another".to_owned()),
            Self::Store(error) => error.hint(),
        }
    }
}

/// Someone wants what their token does not allow. Says the same whether the app exists or not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{actor} may not {} {}: the token's role is {}", verb(*.right), place(.app.as_ref()), shown(.grant))]
pub struct Forbidden {
    /// Who.
    pub actor: Actor,
    /// What they may do.
    pub grant: Grant,
    /// What they want to do.
    pub right: Right,
    /// Where; in the whole server if absent.
    pub app: Option<AppName>,
}

fn verb(right: Right) -> &'static str {
    match right {
        Right::Invoke => "call functions of",
        Right::View => "see",
        Right::Deploy => "change",
        Right::Administer => "administer",
    }
}

fn place(app: Option<&AppName>) -> String {
    app.map_or_else(|| "this server".to_owned(), |app| format!("app `{app}`"))
}

fn shown(grant: &Grant) -> String {
    match &grant.app {
        Some(app) => format!("{} in app `{app}`", grant.role),
        None => grant.role.to_string(),
    }
}

impl Explain for Forbidden {
    fn code(&self) -> Code {
        Code("forbidden")
    }

    fn class(&self) -> Class {
        Class::Forbidden
    }

    fn hint(&self) -> Option<String> {
        Some(
            "ask an administrator for a token that may: `folio token create --role ...`".to_owned(),
        )
    }
}

/// Why someone from outside is not let in to a function.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It takes calls from inside only.
    #[error("the function is not open to calls from outside")]
    Internal,
    /// It wants a token.
    #[error("the function wants a token: {0}")]
    Token(#[from] Error),
    /// It wants another token.
    #[error("the token does not allow to call functions of this app")]
    Forbidden,
}

impl Explain for Refused {
    fn code(&self) -> Code {
        match self {
            Self::Internal => Code("function_internal"),
            Self::Token(error) => error.code(),
            Self::Forbidden => Code("forbidden"),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Internal | Self::Forbidden => Class::Forbidden,
            Self::Token(error) => error.class(),
        }
    }
}

/// Why a token was not made or revoked.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// There is no such token.
    #[error("there is no token `{0}`")]
    NotFound(String),
    /// It would be over before it begins.
    #[error("a token that is valid for no time is of no use")]
    NoTime,
    /// Somebody else goes by that name.
    #[error("`{0}` is the name of somebody else")]
    NameTaken(Actor),
    /// Nobody would be left to give tokens out.
    #[error("token `{0}` is the last that may administer this server")]
    Last(String),
    /// Nobody gives out more than they have.
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

impl From<StoreError> for ChangeError {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for ChangeError {
    fn code(&self) -> Code {
        match self {
            Self::NotFound(_) => Code("token_not_found"),
            Self::NameTaken(_) => Code("token_name_taken"),
            Self::Last(_) => Code("token_is_last"),
            Self::NoTime => Code("bad_request"),
            Self::Forbidden(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound(_) => Class::NotFound,
            Self::NameTaken(_) | Self::Last(_) => Class::Conflict,
            Self::NoTime => Class::Invalid,
            Self::Forbidden(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(_) => Some("`folio token list` shows what exists".to_owned()),
            Self::NameTaken(_) => Some("choose another name; the log shows it".to_owned()),
            Self::Last(_) => Some(
                "make another first: `folio token create --name ... --role admin --all-apps`"
                    .to_owned(),
            ),
            Self::NoTime => Some("`--expires 30d` makes one for 30 days".to_owned()),
            Self::Forbidden(error) => error.hint(),
            Self::Folio(error) => error.hint(),
        }
    }
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Who it speaks for.
    pub actor: Actor,
    /// What they may do.
    pub grant: Grant,
    /// How long it is valid; until it is revoked if absent.
    pub valid_for: Option<Duration>,
}

/// A token as people see it: never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    /// Its public part.
    pub id: String,
    /// Who it speaks for.
    pub actor: Actor,
    /// What they may do.
    #[serde(flatten)]
    pub terms: TokenTerms,
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

    /// Makes a token valid for someone who may do everything. In a store where nothing has happened yet, also makes
    /// the first app.
    pub async fn admit(&self, actor: &Actor, token: &Token) -> Result<Done<()>, folio::Error> {
        let app = AppName::default_app();
        let (first, actor, token) = (app.clone(), actor.clone(), token.clone());
        let caller = Caller::new(Actor::system());
        self.append(&caller, &app, move |builder| {
            if !builder.state.has_app(&first)? {
                builder.push(Edit::CreateApp { app: first.clone() })?;
            }
            builder.say(format!("admit {actor}"));
            let record = record(&token, &actor, TokenTerms::default());
            builder.push(Edit::AddToken { id: token.id.clone(), token: record })?;
            Ok(())
        })
        .await
    }

    /// Makes a token and hands it out, this once. A repeated request makes another: what is remembered of the first
    /// must not hold its secret.
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: NewToken,
    ) -> Result<(Token, Done<TokenView>), ChangeError> {
        caller.may(Right::Administer, new.grant.app.as_ref())?;
        if new.valid_for.is_some_and(|span| span.is_zero()) {
            return Err(ChangeError::NoTime);
        }
        let token = self.draw_token();
        let app = new.grant.app.clone().unwrap_or_else(AppName::default_app);
        let caller = Caller { repeat: None, ..caller.clone() };
        let (made, own) = (token.clone(), caller.grant.clone());
        let done = self.commit(&caller, &app, move |builder| {
            let NewToken { actor, grant, valid_for } = new.clone();
            let others = builder.state.tokens()?.into_iter().map(|(_, token)| token);
            let same = others.filter(|token| token.actor == actor);
            // Whoever may not give out what the other has must not be taken for them.
            let taken = same.into_iter().any(|token| !own.covers(&token.terms.grant));
            if taken || actor == Actor::system() {
                return Err(ChangeError::NameTaken(actor));
            }
            let created_at = Some(builder.at());
            let expires_at = valid_for.map(|span| builder.at().saturating_add(span));
            let expires_at = expires_at.transpose().map_err(|_| ChangeError::NoTime)?;
            let terms = TokenTerms { grant, created_at, expires_at };
            builder.say(format!("create token {} for {actor}, {}", made.id, shown(&terms.grant)));
            let token = record(&made, &actor, terms.clone());
            builder.push(Edit::AddToken { id: made.id.clone(), token })?;
            Ok::<_, ChangeError>(TokenView { id: made.id.clone(), actor, terms })
        });
        Ok((token, done.await?))
    }

    /// Lists the tokens that may be used and that the caller may give out.
    pub async fn tokens(&self, caller: &Caller) -> Result<Vec<TokenView>, ChangeError> {
        caller.may_somewhere(Right::Administer)?;
        let grant = caller.grant.clone();
        self.look(move |state| {
            let tokens = state.tokens()?.into_iter();
            let own = tokens.filter(|(_, token)| grant.covers(&token.terms.grant));
            Ok(own.map(|(id, token)| view(id, token)).collect())
        })
        .await
    }

    /// Makes a token invalid, from the next request on.
    pub async fn revoke_token(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<Done<TokenView>, ChangeError> {
        caller.may_somewhere(Right::Administer)?;
        let (id, grant) = (id.to_owned(), caller.grant.clone());
        let app = grant.app.clone().unwrap_or_else(AppName::default_app);
        self.commit(caller, &app, move |builder| {
            let found = builder.state.token(&id)?.filter(|token| grant.covers(&token.terms.grant));
            let Some(token) = found else { return Err(ChangeError::NotFound(id.clone())) };
            if is_last(builder.state, &id, &token, builder.at())? {
                return Err(ChangeError::Last(id.clone()));
            }
            builder.say(format!("revoke token {id} of {}", token.actor));
            builder.push(Edit::RevokeToken { id: id.clone(), token: token.clone() })?;
            Ok(view(id.clone(), token))
        })
        .await
    }

    /// Lets someone from outside in to a function that is not open to everybody, and says who they are.
    pub async fn let_in(&self, plan: &Plan, token: Option<&str>) -> Result<Option<Actor>, Refused> {
        match plan.access {
            Access::Public => Ok(None),
            Access::Internal => Err(Refused::Internal),
            Access::Token => {
                let caller = self.authenticate(token).await?;
                let may = caller.may(Right::Invoke, Some(&plan.app));
                may.map_err(|_| Refused::Forbidden)?;
                Ok(Some(caller.actor))
            }
        }
    }

    /// Says who a token speaks for. Takes as long for a wrong secret as for a right one.
    pub async fn authenticate(&self, text: Option<&str>) -> Result<Caller, Error> {
        if let (None, Some(actor)) = (text, &self.open_to) {
            return Ok(Caller::new(actor.clone()));
        }
        let token = Token::parse(text.ok_or(Error::Missing)?).ok_or(Error::Unknown)?;
        let record = self.known_token(&token.id).await?;
        let secret = Digest::of(token.secret.as_bytes());
        // Digests are compared, not secrets: a prefix of a digest tells nothing about the secret.
        let record = record.filter(|record| record.secret == secret).ok_or(Error::Unknown)?;
        if let Some(end) = record.terms.expires_at
            && end <= self.clock.now()
        {
            return Err(Error::Expired(end));
        }
        Ok(Caller { grant: record.terms.grant, ..Caller::new(record.actor) })
    }
}

/// Whether nobody could administer the server without a token.
fn is_last(
    state: &dyn State,
    id: &str,
    token: &TokenRecord,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let lasting = |token: &TokenRecord| {
        let valid = token.terms.expires_at.is_none_or(|end| end > now);
        valid && token.terms.grant.allows(Right::Administer, None)
    };
    let mut others = state.tokens()?.into_iter().filter(|(other, _)| other != id);
    Ok(lasting(token) && !others.any(|(_, other)| lasting(&other)))
}

fn record(token: &Token, actor: &Actor, terms: TokenTerms) -> TokenRecord {
    TokenRecord { secret: Digest::of(token.secret.as_bytes()), actor: actor.clone(), terms }
}

fn view(id: String, token: TokenRecord) -> TokenView {
    TokenView { id, actor: token.actor, terms: token.terms }
}
