//! The gateway: takes requests from outside and passes each to the version its route means at that moment.
