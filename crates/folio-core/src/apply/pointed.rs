//! Puts one alias or canary that a manifest asks for, as one entry. It is planned as one of a directory is, only that
//! what it names is looked for in the app.

use std::sync::Arc;

use folio_model::{AppName, Owner};

use super::read::Reading;
use super::{
    Applied, AppliedPointer, Document, Error, Form, Others, Outcome, PointerKind, Rest, Scope,
    Unread, Wanted, carry_out, plan,
};
use crate::Folio;
use crate::builder::Builder;
use crate::request::Caller;
use crate::view::Done;

impl Folio {
    /// Makes an alias or a canary what its manifest asks for. Changes nothing if it is so already; a canary that is to
    /// go about it in another way begins anew.
    pub async fn put_pointer(
        &self,
        caller: &Caller,
        app: &AppName,
        document: &Document,
        owner: Option<Owner>,
    ) -> Result<Done<Applied>, Error> {
        let mut reading = Reading::default();
        self.read(app, document, &mut reading).await?;
        if !reading.faults.is_empty() {
            return Err(Error::Faults(reading.faults));
        }
        let remarks = reading.remarks();
        let wanted = Wanted {
            owner,
            scope: Scope::App,
            wishes: Vec::new(),
            pointers: reading.pointers,
            form: Form::Versions,
            rest: Rest::Keep,
            others: Others::Adopt,
            settled: None,
            faults: Vec::new(),
            unread: Unread::default(),
        };
        let (wanted, of) = (Arc::new(wanted), app.clone());
        self.commit(caller, app, move |builder| {
            let plan = plan::plan(builder.state, &of, &wanted)?;
            let mut applied = carry_out::carry_out(builder, &of, plan, &wanted)?;
            say(builder, &applied);
            applied.remarks.splice(0..0, remarks.iter().cloned());
            Ok::<_, Error>(applied)
        })
        .await
    }
}

fn say(builder: &mut Builder<'_>, applied: &Applied) {
    let Some(AppliedPointer { kind, name, what }) = applied.pointers.first() else { return };
    let verb = match what {
        Outcome::Created => "create",
        Outcome::Updated => "move",
        Outcome::Deleted => "delete",
    };
    builder.say(match (kind, name.split_once('@')) {
        (PointerKind::Alias, Some((function, alias))) => {
            format!("{verb} alias {alias} of {function}")
        }
        (PointerKind::Alias, None) => format!("{verb} alias {name}"),
        (PointerKind::Canary, _) => format!("start canary {name}"),
    });
}
