//! Makes every sync of this process take longer, SQLite's and everyone else's, so that one machine shows what its disk
//! would not. What is synced is synced all the same.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is added to each sync, in microseconds.
static ADDED_US: AtomicU64 = AtomicU64::new(0);

/// Has every sync from now on take this much longer.
pub(crate) fn slow_down(added: Duration) {
    ADDED_US.store(u64::try_from(added.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Stands before the C library's.
#[expect(unsafe_code, reason = "a symbol that C code finds has no other way to be")]
#[unsafe(no_mangle)]
extern "C" fn fdatasync(file: libc::c_int) -> libc::c_int {
    pause();
    // SAFETY: the call takes a number and reads no memory of ours.
    unsafe { libc::syscall(libc::SYS_fdatasync, file) as libc::c_int }
}

/// Stands before the C library's.
#[expect(unsafe_code, reason = "a symbol that C code finds has no other way to be")]
#[unsafe(no_mangle)]
extern "C" fn fsync(file: libc::c_int) -> libc::c_int {
    pause();
    // SAFETY: the call takes a number and reads no memory of ours.
    unsafe { libc::syscall(libc::SYS_fsync, file) as libc::c_int }
}

fn pause() {
    let added = ADDED_US.load(Ordering::Relaxed);
    if added > 0 {
        std::thread::sleep(Duration::from_micros(added));
    }
}
