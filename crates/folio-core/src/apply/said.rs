//! What manifests of aliases and canaries say beside where these point: labels, annotations, and fields that nobody
//! knows. No version holds it, so it becomes what is said about the object, in the entry of the apply.

use folio_kinds::Manifest;
use folio_kinds::spec::{self, ASKED, Asked};
use folio_model::{AppName, Digest, Labels, Marks, Place, Pointer, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use super::AppliedPointer;
use crate::builder::Builder;
use crate::ports::{State, StoreError};

/// What a manifest says of its pointer.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    labels: Labels,
    /// The annotations, with the manifest's own words among them.
    annotations: Labels,
    /// Whether the pointer itself says all of it.
    is_all_shown: bool,
}

/// Something that is to be said about a pointer.
pub(super) struct Saying {
    pub(super) object: Uuid,
    pub(super) said: Said,
    /// The pointer, if nothing else changes of it.
    pub(super) of: Option<AppliedPointer>,
}

impl Said {
    /// Reads a manifest that has fields which nobody knows, or none.
    pub(super) fn of(manifest: &Manifest, unknown: &[String]) -> Self {
        let value = spec::lasting(manifest).as_value();
        let labels = |of: &str| {
            let entries = value["metadata"][of].as_object().into_iter().flatten();
            let text =
                |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
            entries.filter_map(text).collect::<Labels>()
        };
        let (labels, mut annotations) = (labels("labels"), labels("annotations"));
        let is_all_shown = labels.is_empty() && annotations.is_empty() && unknown.is_empty();
        let asked = Asked::of(&value).map(|asked| (ASKED.to_owned(), asked.text()));
        annotations.extend(asked);
        Self { labels, annotations, is_all_shown }
    }

    /// What is said about an object once this is; as before if it says nothing new. What others said stays.
    fn over(&self, before: Option<&Marks>, now: Timestamp) -> Option<Marks> {
        let before = match before {
            None if self.is_all_shown => return None,
            before => before.cloned(),
        };
        let mut marks = before.unwrap_or_else(|| Marks {
            of: Digest::of(b""),
            labels: Labels::new(),
            annotations: Labels::new(),
            managers: Vec::new(),
            generation: 1,
            since: now,
            made_in: None,
        });
        marks.labels.extend(self.labels.clone());
        marks.annotations.extend(self.annotations.clone());
        Some(marks)
    }
}

impl Saying {
    /// What is to be said about an object, if that is not said already.
    pub(super) fn plan(
        state: &dyn State,
        (app, object): (&AppName, Uuid),
        said: &Said,
    ) -> Result<Option<Self>, StoreError> {
        let before = standing(state, &Pointer::Marks { app: app.clone(), object })?;
        let now = before.as_ref().map_or(Timestamp::UNIX_EPOCH, |marks| marks.since);
        let is_said = said.over(before.as_ref(), now) == before;
        Ok((!is_said).then(|| Self { object, said: said.clone(), of: None }))
    }

    pub(super) fn carry_out(self, builder: &mut Builder<'_>) -> Result<(), StoreError> {
        let pointer = Pointer::Marks { app: builder.app().clone(), object: self.object };
        let before = standing(builder.state, &pointer)?;
        let after = self.said.over(before.as_ref(), builder.at());
        let place = |marks| Place::Marks(Box::new(marks));
        builder.point(pointer, before.map(place), after.map(place))
    }
}

fn standing(state: &dyn State, pointer: &Pointer) -> Result<Option<Marks>, StoreError> {
    Ok(state.place(pointer)?.and_then(|(place, _)| match place {
        Place::Marks(marks) => Some(*marks),
        _ => None,
    }))
}
