//! Sampled stacks are those of the program, and stand for all of its switches.

use switchcost_observe::Options;

use crate::{observed, turn};

#[test]
fn stacks_are_sampled_as_often_as_was_asked_for_and_stand_for_all_switches() {
    let _turn = turn();
    let number = if cfg!(target_arch = "x86_64") {
        24
    } else {
        124
    };
    // Two that yield to each other on one CPU, for a second.
    let script = format!(
        "open(my $n, '>', '/dev/null'); open(STDOUT, '>&', $n); system('taskset', '-pc', '0', $$) == 0 or die;
         my $end = time + 2; my $p = fork; while (time < $end) {{ syscall({number}) for 1..100 }} waitpid($p, 0) if $p;"
    );
    let Some((_, counted)) = observed(
        &script,
        Options {
            stacks_per_second: Some(1000),
            ..Options::default()
        },
    ) else {
        return;
    };
    let stacks = counted.stacks.expect("they were asked for");
    let of_perl = || stacks.stacks.iter().filter(|stack| stack.name == "perl");
    let counted: u64 = counted
        .tasks
        .iter()
        .filter(|tasks| tasks.name == "perl")
        .map(switchcost_observation::Tasks::switches)
        .sum();
    let reported: u64 = of_perl().map(|stack| stack.switches).sum::<u64>() + stacks.lost_switches;
    assert!(
        (0.75..1.25).contains(&(reported as f64 / counted as f64)),
        "samples stand for {reported} of {counted}"
    );
    assert!(
        stacks.samples() < 10_000,
        "{} samples in two seconds",
        stacks.samples()
    );
    let is_of_perl = |path: &str| path.contains("perl") || path.contains("libc");
    let known: u64 = of_perl()
        .filter(|stack| {
            stacks
                .frames_of(stack)
                .next()
                .is_some_and(|(_, module)| is_of_perl(&module.path))
        })
        .map(|stack| stack.switches)
        .sum();
    assert!(
        known as f64 > 0.9 * reported as f64,
        "the innermost function of {known} of {reported} is known"
    );
}
