//! What hubgen generates from the small schemas of its tests, with the hand-written parts a user
//! would add. `hubgen generate` writes the directory `generated`; everything else is by hand.

mod ext;
pub mod generated;
