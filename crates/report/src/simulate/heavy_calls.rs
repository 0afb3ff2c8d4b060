//! Reports system calls that take a large part of a trace, and so dominate its miss rates and
//! shares.

use switchcost_analysis::simulation::CallFinding;

/// Share of all instructions above which a system call is reported.
const MUCH: f64 = 0.1;

/// Returns a sentence for each system call that takes more than [`MUCH`] of all instructions. Only
/// calls during which the task kept the CPU are counted.
pub(super) fn reported(calls: &[CallFinding], instructions: u64) -> Vec<String> {
    let share = |call: &CallFinding| call.instructions * call.calls as f64 / instructions as f64;
    let sentence = |call: &CallFinding| {
        let (name, calls) = (&call.syscall, call.calls);
        format!(
            "{:.0} % of all instructions are the kernel's in {calls} {} of {name}: misses per thousand instructions and shares are largely \
             those of {name}",
            100.0 * share(call),
            if calls == 1 { "call" } else { "calls" }
        )
    };
    calls
        .iter()
        .filter(|call| instructions > 0 && share(call) > MUCH)
        .map(sentence)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(syscall: &str, calls: u64, instructions: f64) -> CallFinding {
        CallFinding {
            syscall: syscall.to_owned(),
            calls,
            with_switch: 0,
            instructions,
            cycles: 2.0 * instructions,
            share: None,
            misses: Vec::new(),
            driven_out: Vec::new(),
        }
    }

    #[test]
    fn a_call_that_holds_over_a_tenth_of_all_instructions_is_named() {
        let calls = [
            call("getrandom", 1, 780_000_000.0),
            call("read", 1_000, 100_000.0),
            call("write", 10, 9_000_000.0),
        ];
        assert_eq!(
            reported(&calls, 1_000_000_000),
            [
                "78 % of all instructions are the kernel's in 1 call of getrandom: misses per thousand instructions and shares are \
              largely those of getrandom"
            ]
        );
        assert_eq!(
            reported(&calls, 999_999_000).len(),
            2,
            "a hair over a tenth"
        );
        assert_eq!(reported(&calls, 0), [""; 0]);
    }
}
