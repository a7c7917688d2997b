//! Calls of webhooks: whoever knows one's name runs its function, if they do not call too often and, where that is
//! asked, know a secret.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use folio_model::{
    AppName, BindingTerms, Execution, ExecutionMode, ExecutionOrigin, Kind, Signing, Unit, UnitKey,
    Webhook,
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use uuid::Uuid;

use super::input::input;
use super::{BindingKind, Error, by, reference};
use crate::execution::NewExecution;
use crate::ports::{Plaintext, SecretPlace, State};
use crate::{Folio, secret};

/// Where those who call may put the signature of what they send; the second is where GitHub puts it.
pub const SIGNATURE_HEADERS: [&str; 2] = ["folio-signature", "x-hub-signature-256"];

/// What a signature begins with.
const SIGNATURE_KIND: &str = "sha256=";

/// A call as it came.
#[derive(Debug, Clone, Copy, Default)]
pub struct WebhookCall<'a> {
    /// What the body says it is.
    pub content_type: Option<&'a str>,
    /// The query, without its mark.
    pub query: &'a str,
    /// The body.
    pub body: &'a [u8],
    /// The signature, if there is one.
    pub signature: Option<&'a str>,
}

/// How often webhooks were called in this minute.
#[derive(Default)]
pub(crate) struct Calls(Mutex<HashMap<Uuid, (i64, u32)>>);

impl Calls {
    /// Counts a call, if it is allowed.
    fn admit(&self, id: Uuid, minute: i64, max: u32) -> bool {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|_, (then, _)| *then == minute);
        let (_, count) = calls.entry(id).or_insert((minute, 0));
        *count = count.saturating_add(1);
        *count <= max
    }
}

impl Folio {
    /// Runs what a webhook leads to, whoever calls it. Always later: the answer is that it will be run.
    pub async fn call_webhook(&self, id: Uuid, call: WebhookCall<'_>) -> Result<Execution, Error> {
        let missing = Error::NotFound { noun: BindingKind::Webhook.noun(), id };
        let found = self.look(move |state| {
            for app in state.apps()? {
                if let Some(found) = state.binding(&app, id)? {
                    let function = reference(state, &app, &found.binding.to)?;
                    return Ok::<_, Error>(Some((found, function)));
                }
            }
            Ok(None)
        });
        let Some((found, function)) = found.await? else { return Err(missing) };
        let BindingTerms::Webhook(webhook) = &found.binding.terms else { return Err(missing) };
        self.check_signature(id, (&found.app, webhook), call).await?;
        let minute = self.clock.now().as_second().div_euclid(60);
        if let Some(max) = webhook.calls_per_minute_max
            && !self.calls.admit(id, minute, max)
        {
            return Err(Error::TooOften(id));
        }
        // What is not signed is not believed.
        let query = if webhook.signing.is_some() { "" } else { call.query };
        let new = NewExecution {
            function,
            input: Some(input(call.content_type, query, call.body)?),
            mode: ExecutionMode::Async,
            description: format!("Created by Webhook {id}"),
            origin: ExecutionOrigin::Webhook(id),
        };
        Ok(self.start_execution(&by("webhook"), &found.app, new).await?)
    }

    /// The URL that calls a webhook; only its path if nobody said where clients find this server.
    pub fn webhook_url(&self, id: Uuid) -> String {
        let server = self.settings.public_url.as_deref().unwrap_or_default();
        format!("{server}/v1/webhooks/{id}/invoke")
    }

    async fn check_signature(
        &self,
        id: Uuid,
        (app, webhook): (&AppName, &Webhook),
        call: WebhookCall<'_>,
    ) -> Result<(), Error> {
        let Some(signing) = webhook.signing.clone() else { return Ok(()) };
        let (app, vault) = (app.clone(), self.vault.clone());
        let key = self.look(move |state| {
            let sealed = signed_with(state, &app, &signing)?;
            let place = SecretPlace { app: &app, secret: &signing.secret, key: &signing.key };
            Ok::<_, Error>(vault.open(place, &sealed)?)
        });
        let key = match key.await {
            // Without its secret nobody can sign, and whose it is, is nobody's business.
            Err(Error::NoSecret(_)) => return Err(Error::Unsigned(id)),
            key => key?,
        };
        if is_signed(&key, call) { Ok(()) } else { Err(Error::Unsigned(id)) }
    }
}

/// The sealed value that signs calls.
pub(super) fn signed_with(
    state: &dyn State,
    app: &AppName,
    signing: &Signing,
) -> Result<folio_model::Sealed, Error> {
    let key = UnitKey { app: app.clone(), kind: Kind::Secret, name: signing.secret.clone() };
    let missing = || Error::NoSecret(signing.clone());
    let unit = state.unit(&key)?.filter(Unit::is_visible).ok_or_else(missing)?;
    let spec = secret::latest(state, &unit)?;
    spec.keys.get(&signing.key).cloned().ok_or_else(missing)
}

/// Whether whoever called knows the key: the body is signed with it. Takes as long for every wrong signature.
fn is_signed(key: &Plaintext, call: WebhookCall<'_>) -> bool {
    let digits = call.signature.and_then(|text| text.strip_prefix(SIGNATURE_KIND));
    let Some(signature) = digits.and_then(|digits| hex::decode(digits).ok()) else { return false };
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose()).expect("a key may have any length");
    mac.update(call.body);
    mac.verify_slice(&signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whoever_knows_the_key_can_sign() {
        let key = Plaintext::new(b"It's a Secret to Everybody".to_vec());
        let check = |body: &str, signature: Option<&str>, expected: bool| {
            let call = WebhookCall { body: body.as_bytes(), signature, ..WebhookCall::default() };
            assert_eq!(is_signed(&key, call), expected, "{body} {signature:?}");
        };
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        check("Hello, World!", Some(right), true);
        check("Hello, World?", Some(right), false);
        check("Hello, World!", Some(&right[..70]), false);
        for odd in ["", "sha256=", "sha1=00", "757107ea"] {
            check("Hello, World!", Some(odd), false);
        }
        check("Hello, World!", None, false);
    }
}
