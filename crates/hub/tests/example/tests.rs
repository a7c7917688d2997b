//! Round trips of every version of every resource.

use hub::testing::{RoundTrip, check};

use super::hooks::HOOKS;
use super::{storage, v1, v2};

hub::sample!(hub storage::Author { born } required { name }
    bag { bag_unknown "*@v1"; bag_unknown "*@v2"; });
hub::sample!(hub storage::Book { authors, format, level, pages } required { code }
    bag { bag_unknown "*@v1"; bag "shelf@v1": String; });
hub::sample!(hub storage::Digital {} required { size_bytes } bag { bag_unknown "*@v1"; });
hub::sample!(union storage::Format, "kind" { Digital });
hub::sample!(spoke v1::Author { name });
hub::sample!(spoke v1::Book { authors, format, isbn, level, pages, shelf });
hub::sample!(spoke v1::Digital { size_bytes });
hub::sample!(union v1::Format, "kind" { Digital, Paper });
hub::sample!(enum v1::Level);
hub::sample!(spoke v1::Paper { weight });
hub::sample!(spoke v2::Author { born, name });

const ROUND_TRIPS: &[RoundTrip] = &[
    RoundTrip::of::<v1::Book, storage::Book>("Book v1"),
    RoundTrip::of::<v2::Author, storage::Author>("Author v2"),
];

#[test]
fn nothing_is_lost_on_the_way() {
    check(ROUND_TRIPS, HOOKS);
}
