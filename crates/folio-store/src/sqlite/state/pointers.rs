//! Reads pointers: where they point, what points at a version, and when they moved.

use folio_core::ports::{StandingBinding, StandingCanary, StandingDomain, StoreError};
use folio_model::{
    Alias, AppName, Entry, Name, Place, Pointer, ReleaseId, Tag, Target, UnitUid, VersionId,
    VersionKey,
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::history::read_entry;
use super::releases;
use crate::sqlite::query::{all, json, limit, one, seq, signed, text};

/// The columns that name a pointer.
pub(crate) struct Columns {
    /// The sort of pointer, in a word.
    pub(crate) kind: &'static str,
    /// The unit's identity or the app.
    pub(crate) owner: String,
    /// Its name, if it has one.
    pub(crate) name: String,
}

impl Columns {
    /// The columns of a pointer.
    pub(crate) fn of(pointer: &Pointer) -> Self {
        let (kind, owner, name) = match pointer {
            Pointer::Alias { unit, name } => ("alias", unit.to_string(), name.to_string()),
            Pointer::Tag { app, name } => ("tag", app.to_string(), name.to_string()),
            Pointer::Split { unit } => ("split", unit.to_string(), String::new()),
            Pointer::Canary { app, name } => ("canary", app.to_string(), name.to_string()),
            Pointer::Release { app, id } => ("release", app.to_string(), id.to_string()),
            Pointer::ReleaseTag { app, name } => ("release-tag", app.to_string(), name.to_string()),
            Pointer::Live { app } => ("live", app.to_string(), String::new()),
            Pointer::Plan { app } => ("plan", app.to_string(), String::new()),
            Pointer::Binding { app, id } => ("binding", app.to_string(), id.to_string()),
            Pointer::Marks { app, object } => ("marks", app.to_string(), object.to_string()),
            Pointer::Domain { name } => ("domain", String::new(), name.to_string()),
        };
        Self { kind, owner, name }
    }

    /// The table it is in: marks are many, domains are nobody's, and both have one of their own.
    pub(crate) fn table(&self) -> &'static str {
        match self.kind {
            "marks" => "marks",
            "domain" => "domains",
            _ => "pointers",
        }
    }
}

/// Where a pointer points and the entry that last moved it.
pub(crate) fn place(
    conn: &Connection,
    pointer: &Pointer,
) -> Result<Option<(Place, u64)>, StoreError> {
    if let Pointer::Release { app, id } = pointer {
        return releases::place(conn, app, id);
    }
    let at = Columns::of(pointer);
    let sql = match at.table() {
        "marks" => "SELECT place, revision FROM marks WHERE kind = ?1 AND owner = ?2 AND name = ?3",
        "domains" => {
            "SELECT place, revision FROM domains WHERE kind = ?1 AND owner = ?2 AND name = ?3"
        }
        _ => "SELECT place, revision FROM pointers WHERE kind = ?1 AND owner = ?2 AND name = ?3",
    };
    one(conn, sql, params![at.kind, at.owner, at.name], |row| Ok((json(row, 0)?, seq(row, 1)?)))
}

pub(super) fn alias(
    conn: &Connection,
    unit: UnitUid,
    name: &VersionId,
) -> Result<Option<Alias>, StoreError> {
    let found = place(conn, &Pointer::Alias { unit, name: name.clone() })?;
    found.map(|(place, revision)| as_alias(name.clone(), place, revision)).transpose()
}

pub(super) fn tag(
    conn: &Connection,
    app: &AppName,
    name: &VersionId,
) -> Result<Option<Tag>, StoreError> {
    let found = place(conn, &Pointer::Tag { app: app.clone(), name: name.clone() })?;
    found.map(|(place, revision)| as_tag(name.clone(), place, revision)).transpose()
}

pub(super) fn aliases(conn: &Connection, unit: UnitUid) -> Result<Vec<Alias>, StoreError> {
    let found = of_owner(conn, "alias", &unit.to_string())?;
    found.into_iter().map(|(name, place, revision)| as_alias(name, place, revision)).collect()
}

pub(super) fn tags(conn: &Connection, app: &AppName) -> Result<Vec<Tag>, StoreError> {
    let found = of_owner(conn, "tag", app.as_str())?;
    found.into_iter().map(|(name, place, revision)| as_tag(name, place, revision)).collect()
}

pub(super) fn split(conn: &Connection, unit: UnitUid) -> Result<Option<Vec<Target>>, StoreError> {
    match place(conn, &Pointer::Split { unit })? {
        Some((Place::Targets(targets), _)) => Ok(Some(targets)),
        Some(_) => Err(StoreError::corrupt(format!("the shares of unit {unit}"))),
        None => Ok(None),
    }
}

pub(super) fn canary(
    conn: &Connection,
    app: &AppName,
    name: &Name,
) -> Result<Option<StandingCanary>, StoreError> {
    let found = place(conn, &Pointer::Canary { app: app.clone(), name: name.clone() })?;
    found.map(|(place, at)| as_canary(app.clone(), name.clone(), place, at)).transpose()
}

pub(super) fn canaries(
    conn: &Connection,
    app: Option<&AppName>,
) -> Result<Vec<StandingCanary>, StoreError> {
    let sql = "SELECT owner, name, place, revision FROM pointers \
               WHERE kind = 'canary' AND (?1 IS NULL OR owner = ?1) ORDER BY owner, name";
    let found = all(conn, sql, [app.map(AppName::as_str)], |row| {
        Ok((text(row, 0)?, text(row, 1)?, json(row, 2)?, seq(row, 3)?))
    })?;
    let mut found = found.into_iter();
    found.try_fold(Vec::new(), |mut canaries, (app, name, place, revision)| {
        canaries.push(as_canary(app, name, place, revision)?);
        Ok(canaries)
    })
}

pub(super) fn binding(
    conn: &Connection,
    app: &AppName,
    id: Uuid,
) -> Result<Option<StandingBinding>, StoreError> {
    let found = place(conn, &Pointer::Binding { app: app.clone(), id })?;
    found.map(|(place, revision)| as_binding(app.clone(), id, place, revision)).transpose()
}

pub(super) fn bindings(
    conn: &Connection,
    app: Option<&AppName>,
) -> Result<Vec<StandingBinding>, StoreError> {
    let sql = "SELECT owner, name, place, revision FROM pointers \
               WHERE kind = 'binding' AND (?1 IS NULL OR owner = ?1)";
    let found = all(conn, sql, [app.map(AppName::as_str)], |row| {
        Ok((text(row, 0)?, text(row, 1)?, json(row, 2)?, seq(row, 3)?))
    })?;
    let found = found.into_iter().map(|(app, id, place, at)| as_binding(app, id, place, at));
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    found.sort_by_key(|found| (found.binding.created_at, found.id));
    Ok(found)
}

pub(super) fn release_tags(
    conn: &Connection,
    app: &AppName,
) -> Result<Vec<(ReleaseId, ReleaseId)>, StoreError> {
    let sql =
        "SELECT name, place FROM pointers WHERE kind = 'release-tag' AND owner = ?1 ORDER BY name";
    let found: Vec<(ReleaseId, Place)> =
        all(conn, sql, [app.as_str()], |row| Ok((text(row, 0)?, json(row, 1)?)))?;
    let tags = found.into_iter().map(|(name, place)| match place {
        Place::Tagged(release) => Ok((name, release)),
        _ => Err(StoreError::corrupt(format!("release tag `{name}`"))),
    });
    tags.collect()
}

pub(super) fn domains(
    conn: &Connection,
    app: Option<&AppName>,
) -> Result<Vec<StandingDomain>, StoreError> {
    let sql = "SELECT name, place, revision FROM domains \
               WHERE ?1 IS NULL OR json_extract(place, '$.app') = ?1 ORDER BY name";
    let found = all(conn, sql, [app.map(AppName::as_str)], |row| {
        Ok((text(row, 0)?, json(row, 1)?, seq(row, 2)?))
    })?;
    let found = found.into_iter().map(|(domain, place, revision)| match place {
        Place::App(app) => Ok(StandingDomain { domain, app, revision }),
        _ => Err(StoreError::corrupt(format!("domain `{domain}`"))),
    });
    found.collect()
}

pub(super) fn to_version(conn: &Connection, key: VersionKey) -> Result<Vec<Pointer>, StoreError> {
    let sql = "SELECT kind, owner, name FROM pointer_targets WHERE unit = ?1 AND number = ?2";
    let values = params![key.unit.0.as_bytes(), signed(key.number.get())];
    let mut pointers = all(conn, sql, values, read_pointer)?;
    pointers.sort();
    Ok(pointers)
}

pub(super) fn moves(conn: &Connection, pointer: &Pointer) -> Result<Vec<Entry>, StoreError> {
    if let Pointer::Release { app, id } = pointer {
        return releases::moves(conn, app, id);
    }
    let sql = "SELECT body FROM pointer_moves JOIN entries USING (seq) \
               WHERE kind = ?1 AND owner = ?2 AND name = ?3 ORDER BY seq";
    let at = Columns::of(pointer);
    all(conn, sql, params![at.kind, at.owner, at.name], read_entry)
}

pub(super) fn moves_before(
    conn: &Connection,
    pointer: &Pointer,
    below: u64,
    rows: usize,
) -> Result<Vec<Entry>, StoreError> {
    if let Pointer::Release { app, id } = pointer {
        let newest = releases::moves(conn, app, id)?.into_iter().rev();
        return Ok(newest.filter(|entry| entry.seq < below).take(rows).collect());
    }
    let sql = "SELECT body FROM pointer_moves JOIN entries USING (seq) \
               WHERE kind = ?1 AND owner = ?2 AND name = ?3 AND seq < ?4 \
               ORDER BY seq DESC LIMIT ?5";
    let at = Columns::of(pointer);
    all(conn, sql, params![at.kind, at.owner, at.name, signed(below), limit(rows)], read_entry)
}

fn of_owner(
    conn: &Connection,
    kind: &str,
    owner: &str,
) -> Result<Vec<(VersionId, Place, u64)>, StoreError> {
    let sql = "SELECT name, place, revision FROM pointers WHERE kind = ?1 AND owner = ?2 \
               ORDER BY name";
    all(conn, sql, [kind, owner], |row| Ok((text(row, 0)?, json(row, 1)?, seq(row, 2)?)))
}

/// Reads a pointer from the columns of its kind, owner and name.
pub(crate) fn read_pointer(row: &Row<'_>) -> rusqlite::Result<Pointer> {
    let unit = || Ok::<_, rusqlite::Error>(UnitUid(text::<Uuid>(row, 1)?));
    match row.get_ref(0)?.as_str()? {
        "alias" => Ok(Pointer::Alias { unit: unit()?, name: text(row, 2)? }),
        "split" => Ok(Pointer::Split { unit: unit()? }),
        "canary" => Ok(Pointer::Canary { app: text(row, 1)?, name: text(row, 2)? }),
        "release" => Ok(Pointer::Release { app: text(row, 1)?, id: text(row, 2)? }),
        "release-tag" => Ok(Pointer::ReleaseTag { app: text(row, 1)?, name: text(row, 2)? }),
        "live" => Ok(Pointer::Live { app: text(row, 1)? }),
        "plan" => Ok(Pointer::Plan { app: text(row, 1)? }),
        "binding" => Ok(Pointer::Binding { app: text(row, 1)?, id: text(row, 2)? }),
        "marks" => Ok(Pointer::Marks { app: text(row, 1)?, object: text(row, 2)? }),
        "domain" => Ok(Pointer::Domain { name: text(row, 2)? }),
        _ => Ok(Pointer::Tag { app: text(row, 1)?, name: text(row, 2)? }),
    }
}

fn as_alias(name: VersionId, place: Place, revision: u64) -> Result<Alias, StoreError> {
    match place {
        Place::Versions(weights) => Ok(Alias { name, weights, revision }),
        _ => Err(StoreError::corrupt(format!("alias `{name}`"))),
    }
}

fn as_tag(name: VersionId, place: Place, revision: u64) -> Result<Tag, StoreError> {
    match place {
        Place::Members(members) => Ok(Tag { name, members, revision }),
        _ => Err(StoreError::corrupt(format!("tag `{name}`"))),
    }
}

fn as_canary(
    app: AppName,
    name: Name,
    place: Place,
    revision: u64,
) -> Result<StandingCanary, StoreError> {
    match place {
        Place::Canary(canary) => Ok(StandingCanary { app, name, canary: *canary, revision }),
        _ => Err(StoreError::corrupt(format!("canary `{name}`"))),
    }
}

fn as_binding(
    app: AppName,
    id: Uuid,
    place: Place,
    revision: u64,
) -> Result<StandingBinding, StoreError> {
    match place {
        Place::Binding(binding) => Ok(StandingBinding { app, id, binding: *binding, revision }),
        _ => Err(StoreError::corrupt(format!("binding {id}"))),
    }
}
