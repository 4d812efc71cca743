//! [`skip`]: saying that something was not tested, or failing where nothing may be skipped.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Says on standard error, past the capture of test output, what is not tested and why: each
/// reason once in a test binary. Answers whether it has been said only now.
///
/// Panics if `STOCKROOM_REQUIRE_REDIS=1`.
pub(crate) fn skip(reason: &str) -> bool {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    assert!(!nothing_may_be_skipped(), "SKIPPED: {reason}");
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let new = said.insert(reason.to_owned());
    if new {
        let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
    }
    new
}

/// Whether whoever runs the tests wants to know that all of them were run.
pub(crate) fn nothing_may_be_skipped() -> bool {
    std::env::var_os("STOCKROOM_REQUIRE_REDIS").is_some_and(|value| value == "1")
}
