//! Node and Python functions in their workers: what a function may look like, how bodies flow, what happens when
//! things go wrong, and how many workers there are when.

mod attribution;
mod bodies;
mod faults;
mod network;
mod node;
mod pools;
mod python;
mod stage;
