//! The route that `folio fn create` makes along with the function.

use clap::{ArgGroup, Args};
use folio_core::route::RouteFields;
use folio_model::{FULL_WEIGHT, RoutePath, Target};

use crate::name::{self, UnitAt};

/// A route to the function that is being made.
#[derive(Debug, Args)]
#[command(next_help_heading = "Route")]
#[command(group = ArgGroup::new("leads").args(["url", "prefix"]))]
pub(crate) struct Shortcut {
    /// Lead requests for this path to it, too
    #[arg(long, value_name = "PATH")]
    url: Option<String>,
    /// Lead requests for this path and everything below it to it, too
    #[arg(long, value_name = "PATH")]
    prefix: Option<String>,
    /// Lead requests of this method; repeat it for more [default: GET]
    #[arg(long, value_name = "METHOD", value_delimiter = ',', requires = "leads")]
    method: Vec<String>,
}

impl Shortcut {
    /// The route, if there shall be one.
    pub(crate) fn fields(self, unit: &UnitAt) -> Option<RouteFields> {
        let prefix = self.prefix.map(|path| RoutePath::Prefix { path, keep: false });
        let path = self.url.map(RoutePath::Exact).or(prefix)?;
        let mut methods = self.method;
        if methods.is_empty() {
            methods.push("GET".to_owned());
        }
        let function = name::local(unit);
        Some(RouteFields {
            path: Some(path),
            methods: Some(methods.iter().map(|method| method.to_uppercase()).collect()),
            targets: Some(vec![Target { function, weight: FULL_WEIGHT }]),
            ..RouteFields::default()
        })
    }
}
