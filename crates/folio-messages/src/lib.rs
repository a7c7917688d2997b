//! Message queues for folio. The only crate that speaks their protocols; it decides nothing about what becomes of
//! a message. Start at [`Nats::connect`].

mod nats;

pub use nats::Nats;
