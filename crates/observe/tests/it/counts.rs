//! Counts equal those of the kernel.

use switchcost_observe::Options;

use crate::{observed, turn};

/// Two processes hand a byte back and forth; then each tells what the kernel has counted of it.
const PING_PONG: &str = r#"
    sub told { open(my $f, "<", "/proc/self/status"); for (<$f>) { print "$1 $2\n" if /^(\w*voluntary)_ctxt_switches:\s+(\d+)/ } }
    $| = 1;
    pipe(my $a, my $b); pipe(my $c, my $d);
    if (!fork) { for (1..3000) { sysread($a, my $x, 1); syswrite($d, "x") } told(); exit }
    for (1..3000) { syswrite($b, "x"); sysread($c, my $x, 1) }
    wait; told();
"#;

#[test]
fn counts_equal_the_kernels() {
    let _turn = turn();
    let Some((told, counted)) = observed(PING_PONG, Options::default()) else { return };
    let of = |name: &str| -> u64 {
        told.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok()).sum()
    };
    let (voluntary, involuntary) = (of("voluntary"), of("nonvoluntary"));
    assert!(voluntary > 2000, "they did wait for each other: {told}");
    let counted_of = |of: fn(&observation::Tasks) -> u64| counted.tasks.iter().map(of).sum::<u64>();
    let own = (counted_of(|tasks| tasks.voluntary), counted_of(|tasks| tasks.involuntary));
    // After they have told, each ends: a switch that the kernel counts as voluntary, and what comes between.
    assert!((voluntary + 2..voluntary + 20).contains(&own.0), "{own:?}, the kernel: {told}");
    assert!((involuntary..involuntary + 20).contains(&own.1), "{own:?}, the kernel: {told}");
    // Each switch has a cause, and each time off the CPU an end.
    let causes: u64 = counted.tasks.iter().flat_map(|tasks| &tasks.causes).map(|cause| cause.switches).sum();
    assert_eq!(causes, own.0 + own.1);
    let off: u64 = counted.tasks.iter().map(|tasks| tasks.off.count()).sum();
    assert_eq!(off, own.0 + own.1 - 2, "all but the last switch of each task end");
    assert!(counted.tasks.iter().all(|tasks| tasks.wait_ns <= tasks.off_ns), "waiting is a part of being off");
    assert_eq!(counted.tasks.iter().map(|tasks| tasks.count).sum::<u64>(), 2);
    assert_eq!((counted.lost.tasks, counted.lost.pairs), (0, 0));
}

#[test]
fn many_short_processes_are_counted_though_their_places_are_used_again() {
    let _turn = turn();
    // More than there are places for at a time would take long; enough that places are used again.
    let script = r#"for (1..2000) { my $p = fork; if (!$p) { exec "/bin/true" } waitpid($p, 0) }"#;
    let Some((_, counted)) = observed(script, Options::default()) else { return };
    let ended: u64 = counted.tasks.iter().filter(|tasks| tasks.name == "true").map(|tasks| tasks.count).sum();
    assert_eq!(ended, 2000);
    assert_eq!(counted.lost.tasks, 0);
}
