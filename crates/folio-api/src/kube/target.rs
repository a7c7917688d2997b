//! What a path names: a resource, perhaps in a namespace, perhaps one object of it, perhaps a part of that.

use folio_model::AppName;
use percent_encoding::percent_decode_str;

use super::resource::Resource;
use super::status::Status;

/// What a request is about.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) resource: &'static Resource,
    pub(crate) version: String,
    pub(crate) namespace: Option<AppName>,
    pub(crate) name: Option<String>,
    pub(crate) part: Option<String>,
}

impl Target {
    /// Reads what comes after `/api/v1/` or `/apis/{group}/{version}/`.
    pub(crate) fn parse(group: &str, version: &str, rest: &str) -> Result<Self, Status> {
        let decode =
            |part: &str| percent_decode_str(part).decode_utf8().map(std::borrow::Cow::into_owned);
        let parts: Result<Vec<_>, _> = rest.split('/').map(decode).collect();
        let parts = parts.map_err(|_| Status::bad_request("the path is not UTF-8"))?;
        let parts: Vec<_> = parts.iter().map(String::as_str).collect();
        let (namespace, parts) = match &parts[..] {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            all => (None, all),
        };
        let (plural, name, part) = match parts {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, part] => (*plural, Some(*name), Some(*part)),
            _ => return Err(Status::no_such_path()),
        };
        let resource = Resource::find(group, version, plural).ok_or_else(Status::no_such_path)?;
        if !resource.namespaced && namespace.is_some() || name == Some("") {
            return Err(Status::no_such_path());
        }
        let app = |text: &str| {
            text.parse::<AppName>().map_err(|_| Status::not_found("namespaces", "", text))
        };
        Ok(Self {
            resource,
            version: version.to_owned(),
            namespace: namespace.map(app).transpose()?,
            name: name.map(str::to_owned),
            part: part.map(str::to_owned),
        })
    }

    /// The group and version.
    pub(crate) fn api_version(&self) -> String {
        match self.resource.group {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The namespace, which a request that names an object has.
    pub(crate) fn app(&self) -> Result<&AppName, Status> {
        self.namespace.as_ref().ok_or_else(Status::no_such_path)
    }

    /// That an object is not there.
    pub(crate) fn not_found(&self, name: &str) -> Status {
        let Resource { group, plural, .. } = self.resource;
        Status::not_found(plural, group, name).about(group, plural, name)
    }
}
