//! The jail's helper where the folio binary is not built: this crate's own tests.

fn main() {
    folio_run::jail::stage()
}
