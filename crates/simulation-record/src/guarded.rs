//! Catches panics of the Parquet reader, which some invalid files cause. A panic must neither end
//! this program nor be printed.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use switchcost_record::printable;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which uses the Parquet reader, and turns a panic into an error with the panic's
/// message.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    keep_panics_quiet();
    IS_GUARDED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    outcome.unwrap_or_else(|panic| Err(panic_text(&*panic)))
}

/// Installs a panic hook that prints nothing for guarded threads. The panics of other threads are
/// printed as before.
fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let show = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                show(panic);
            }
        }));
    });
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    printable(text.unwrap_or("the Parquet reader gave up"))
        .chars()
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_next_work_is_done() {
        let panicked: Result<(), String> = guarded(|| panic!("no page of \u{1b} kind {}", 7));
        assert_eq!(panicked, Err("no page of \\u{1b} kind 7".to_owned()));
        assert!(!IS_GUARDED.get());
        assert_eq!(guarded(|| Ok(7)), Ok(7));
    }
}
