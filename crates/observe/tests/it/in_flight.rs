//! Tests that a run or wait that began before the observation, or has not ended with it, is counted
//! for the part inside the window.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use switchcost_observe::{Backend, Options};
use switchcost_record::observation::{Behind, Observation, Tasks};
use switchcost_units::Nanos;

use crate::{by_records, observer, shared_out_ns, sum, turn};

/// CPU that the real-time tasks of these tests have for themselves; the tests run on another CPU.
const THEIRS: &str = "1";
const OURS: &str = "0";

/// Time by which the kernel's account of a running task may be older than the clock: a tick at 100
/// Hz at each end of the observation.
const TICK: u64 = 20_000_000;

/// Whether there is a CPU for a real-time task, and this thread is on another.
fn has_room() -> bool {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let can = |command: &mut Command| {
        command
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let has = can(Command::new("taskset").args(["-c", THEIRS, "chrt", "-f", "1", "true"]));
    if !has {
        println!("skipped: there is one CPU, or no real-time task is to be had here");
    }
    has && can(Command::new("taskset").args(["-pc", OURS, &own]))
}

/// Starts a program that computes for this many seconds, then sleeps. With SCHED_FIFO nothing takes
/// its CPU except the kernel's reserve for other tasks. The program always ends by itself.
fn computes(policy: &[&str], seconds: f64) -> Child {
    let script =
        format!("use Time::HiRes 'time'; my $t = time + {seconds}; 1 while time < $t; sleep 4");
    let mut command = Command::new("timeout");
    command
        .args(["5", "taskset", "-c", THEIRS])
        .args(policy)
        .args(["perl", "-e", &script]);
    let child = command
        .stdout(Stdio::null())
        .spawn()
        .expect("they are there");
    // timeout starts a child, which becomes perl.
    let began = Instant::now();
    while of_perl(&child).is_none() {
        assert!(began.elapsed() < Duration::from_secs(4), "perl runs");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

fn of_perl(timeout: &Child) -> Option<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", timeout.id())).ok()?;
    let child: u32 = children.split_whitespace().next()?.parse().ok()?;
    let name = std::fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
    (name.trim() == "perl").then_some(child)
}

/// Returns the kernel's counts of a process: CPU time, and switches.
pub(crate) fn kernels(process: u32) -> (u64, u64) {
    let read = |file| std::fs::read_to_string(format!("/proc/{process}/{file}")).expect("it lives");
    let (schedstat, status) = (read("schedstat"), read("status"));
    let number = |text: Option<&str>| -> u64 {
        let number = text.and_then(|text| text.trim().parse().ok());
        number.expect("it is counted")
    };
    let switches = |name| number(status.lines().find_map(|line| line.strip_prefix(name)));
    (
        number(schedstat.split(' ').next()),
        switches("voluntary_ctxt_switches:") + switches("nonvoluntary_ctxt_switches:"),
    )
}

fn end(mut timeout: Child, process: u32) {
    let kill = Command::new("kill")
        .args(["-9", &process.to_string()])
        .status();
    assert!(kill.is_ok_and(|status| status.success()) && timeout.wait().is_ok());
}

/// The kernel's counts over an observation: least and greatest possible CPU time, because starting
/// and ending take a while; and switches.
#[derive(Debug)]
struct Reported {
    least_ns: u64,
    most_ns: u64,
    switches: u64,
}

impl Reported {
    /// Whether a run time equals the kernel's, except for the lag of its account of a running task.
    fn is(&self, run_ns: u64) -> bool {
        run_ns + TICK >= self.least_ns && run_ns <= self.most_ns + TICK
    }
}

/// Observes a program for a while, from soon after its start; returns the kernel's counts for this
/// time, the observer's, and the duration in nanoseconds.
fn observe(
    begin: impl FnOnce() -> Child,
    options: Options,
    time: Duration,
) -> Option<(Reported, Observation, u64)> {
    // Loading the programs takes a while.
    let mut observer = observer(options)?;
    let timeout = begin();
    let process = of_perl(&timeout).expect("it runs");
    let before = kernels(process);
    let asked = Instant::now();
    observer.add(&[process]).expect("there is room for one");
    let begun = kernels(process);
    let began = Instant::now();
    while began.elapsed() < time {
        observer.tick();
        std::thread::sleep(Duration::from_millis(20));
    }
    let ending = kernels(process);
    let looked = Instant::now();
    let totals = observer.totals();
    let counted = observer.finish().expect("the tables are there");
    let since = looked.elapsed().as_nanos() as u64;
    let observed_ns = asked.elapsed().as_nanos() as u64;
    let after = kernels(process);
    end(timeout, process);
    let ran = sum(&counted, |tasks| tasks.run_ns.0);
    assert!(
        totals.run <= Nanos(ran) && ran - totals.run.0 <= 5 * TICK + since,
        "{totals:?}, in the end {ran}"
    );
    let reported = Reported {
        least_ns: ending.0 - begun.0,
        most_ns: after.0 - before.0,
        switches: after.1 - before.1,
    };
    Some((reported, counted, observed_ns))
}

/// Returns the three ways of counting: by BPF, by counts alone, and by the records of perf.
fn ways() -> [Options; 3] {
    [
        Options::default(),
        Options {
            counts_only: true,
            ..Options::default()
        },
        by_records(),
    ]
}

/// Observes, in all ways of counting, a program that has its CPU when the observation begins, and
/// computes for this many seconds.
fn check_run(seconds: f64, window: Duration, check: fn(&Reported, &Observation, u64)) {
    let _turn = turn();
    for options in ways().into_iter().filter(|_| has_room()) {
        let begin = || computes(&["chrt", "-f", "1"], seconds);
        let Some((reported, counted, observed_ns)) = observe(begin, options, window) else {
            return;
        };
        check(&reported, &counted, observed_ns);
        let own = sum(&counted, |tasks| tasks.run_ns.0);
        assert!(
            reported.is(own),
            "{own} ns, the kernel: {reported:?}; {options:?}"
        );
    }
}

#[test]
fn who_has_its_cpu_for_all_of_the_observation_has_run_all_the_time() {
    check_run(
        3.0,
        Duration::from_millis(600),
        |reported, counted, observed_ns| {
            let (ran, switches) = (reported.most_ns, reported.switches);
            assert!(ran > observed_ns / 2, "the kernel gave it a CPU: {ran} ns");
            assert_eq!(counted.tasks.len(), 1, "{:?}", counted.tasks);
            let busy = counted.cpus.iter().map(|cpu| cpu.busy_ns.0).max();
            assert!(
                busy.is_none_or(|busy| busy >= ran / 2 || switches == 0),
                "{:?}",
                counted.cpus
            );
        },
    );
}

#[test]
fn who_runs_when_it_begins_and_leaves_its_cpu_later_has_run_until_then() {
    check_run(
        0.5,
        Duration::from_millis(750),
        |reported, _, observed_ns| {
            assert!(
                reported.most_ns > observed_ns / 8 && reported.switches > 0,
                "it ran, and sleeps: {reported:?}"
            );
        },
    );
}

#[test]
fn who_waits_for_a_cpu_all_the_time_has_waited_so_long_behind_who_has_it() {
    let _turn = turn();
    if !has_room() {
        return;
    }
    let mut spinner = None;
    let begin = || {
        let victim = computes(&[], 4.0);
        spinner = Some(computes(&["chrt", "-f", "1"], 3.0));
        // By now the process has the CPU, if it ever gets it.
        std::thread::sleep(Duration::from_millis(50));
        victim
    };
    let observed = observe(begin, Options::default(), Duration::from_millis(600));
    if let Some(spinner) = spinner {
        let other = of_perl(&spinner).expect("it runs");
        end(spinner, other);
    }
    let Some((reported, counted, observed_ns)) = observed else {
        return;
    };
    let ran = reported.most_ns;
    let (wait, own) = (
        sum(&counted, |tasks| tasks.wait_ns.0),
        sum(&counted, |tasks| tasks.run_ns.0),
    );
    // The limit is the time between two looks, minus the time that the process ran.
    assert!(
        wait + own > 550_000_000 && wait + own <= observed_ns,
        "{wait} ns, and ran {own} (the kernel: {ran}), of 600 ms and at most {observed_ns} ns"
    );
    assert_eq!(shared_out_ns(&counted), wait, "all of it is shared out");
    let longest = counted.longest_waits.first().expect("it waited");
    assert!(
        longest.wait_ns.0 > wait / 8 && longest.name == "perl",
        "{:?}",
        counted.longest_waits
    );
    let unknown = matches!(longest.behind, Behind::Others);
    assert!(
        unknown || longest.behind == Behind::Process("perl".to_owned()),
        "{longest:?}"
    );
}

#[test]
fn who_was_woken_and_waits_when_it_ends_has_waited_since() {
    let _turn = turn();
    if !has_room() {
        return;
    }
    let Some(mut observer) = observer(Options::default()) else {
        return;
    };
    // The process waits for a line, and then again.
    let mut victim = Command::new("taskset")
        .args(["-c", THEIRS, "perl", "-e"])
        .arg("$| = 1; while (<STDIN>) { print $_ }")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is there");
    observer.add(&[victim.id()]).expect("there is room for one");
    let mut lines = victim.stdin.take().expect("a pipe");
    let mut answer = [0; 2];
    lines.write_all(b"a\n").expect("it reads");
    let mut answers = victim.stdout.take().expect("a pipe");
    answers.read_exact(&mut answer).expect("it answers");
    let spinner = computes(&["chrt", "-f", "1"], 3.0);
    let other = of_perl(&spinner).expect("it runs");
    std::thread::sleep(Duration::from_millis(50));
    let before = sum(&observer.snapshot().expect("it counts"), |tasks| {
        tasks.wait_ns.0
    });
    let woken = Instant::now();
    lines.write_all(b"b\n").expect("it is in the pipe");
    std::thread::sleep(Duration::from_millis(500));
    let least = woken.elapsed().as_nanos() as u64 / 5 * 4;
    let counted = observer.finish().expect("the tables are there");
    let most = woken.elapsed().as_nanos() as u64;
    end(spinner, other);
    crate::end(&mut victim);
    // The kernel reserves a part of each second for tasks that are not real-time.
    let wait = sum(&counted, |tasks| tasks.wait_ns.0) - before;
    assert!(
        (least..=most).contains(&wait),
        "{wait} ns, at least {least}, at most {most}: {:?}",
        counted.tasks
    );
    let longest = counted.longest_waits.first().expect("it waited");
    assert!(
        longest.thread == victim.id() && longest.wait_ns.0 > wait / 2,
        "{:?}",
        counted.longest_waits
    );
    assert!(
        longest.behind == Behind::Process("perl".to_owned()),
        "{longest:?}"
    );
}

/// Perl code that hands a byte back and forth, more often than there is room for records, on one
/// CPU; then each process prints the kernel's counts of itself.
const MANY: &str = r#"
    system("taskset", "-pc", "0", $$) == 0 or die;
    sub report { open(my $f, "<", "/proc/self/status"); my @s = grep { /^(voluntary|nonvoluntary)_ctxt/ } <$f>;
               open(my $g, "<", "/proc/self/schedstat"); my ($run) = split " ", <$g>; my $n = 0; /(\d+)/ and $n += $1 for @s; print "$n $run\n" }
    $| = 1; open(my $null, ">", "/dev/null");
    pipe(my $a, my $b); pipe(my $c, my $d);
    if (!fork) { close $b; for (1..150000) { sysread($a, my $x, 1); syswrite($d, "x") } report(); sysread($a, my $x, 1); exit }
    for (1..150000) { syswrite($b, "x"); sysread($c, my $x, 1) }
    report(); sleep 100"#;

#[test]
fn where_records_are_lost_switches_and_cpu_time_are_those_of_the_kernel() {
    let _turn = turn();
    let Some(mut observer) = observer(by_records()) else {
        return;
    };
    let mut command = Command::new("perl");
    let mut child = crate::begin(
        command.args(["-e", MANY]).stdout(Stdio::piped()),
        &mut observer,
    )
    .expect("perl is there");
    // No line is read in the meantime.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(
        child.stdout.take().expect("a pipe"),
    ));
    let reported: Vec<String> = std::iter::from_fn(|| lines.next()?.ok())
        .filter(|line| !line.contains("affinity"))
        .take(2)
        .collect();
    std::thread::sleep(Duration::from_millis(100));
    let counted = observer.finish().expect("it is read");
    crate::end(&mut child);
    if !crate::is_counted(&counted, by_records()) {
        return;
    }
    assert!(counted.lost.records > 100_000, "{:?}", counted.lost);
    let of = |at| {
        reported
            .iter()
            .filter_map(|line| line.split(' ').nth(at)?.parse::<u64>().ok())
            .sum::<u64>()
    };
    let (switches, ran) = (
        sum(&counted, Tasks::switches),
        sum(&counted, |tasks| tasks.run_ns.0),
    );
    assert!(
        (of(0)..of(0) + 100).contains(&switches),
        "{switches} switches, the kernel: {reported:?}"
    );
    assert!(
        (of(1)..of(1) + TICK).contains(&ran),
        "{ran} ns, the kernel: {reported:?}"
    );
    assert!(counted.lost.unfollowed > 100_000, "{:?}", counted.lost);
}

/// Perl code of a program that a timer wakes often, and of one that starts many short programs;
/// each prints the kernel's account of its CPU time in nanoseconds shortly before its end. For the
/// kernel, a run begins with an interrupt, some microseconds before the switch.
const REPORTS_ITS_TIME: &str = r#"$| = 1;
    if (my $p = fork) { waitpid($p, 0) } else {
        $0 = "timer"; for (1..6000) { select(undef, undef, undef, 0.0001) }
        open(my $f, "<", "/proc/self/schedstat"); my ($run) = split " ", <$f>; print "$run\n"; exit }
    if (my $p = fork) { waitpid($p, 0) } else {
        $0 = "short"; for (1..400) { my $p = fork; if (!$p) { exec "/bin/true" } waitpid($p, 0) }
        my @t = times; print 1e9 * ($t[0] + $t[1] + $t[2] + $t[3]), "\n"; exit }"#;

#[test]
fn the_cpu_time_of_programs_that_run_shortly_is_the_kernels() {
    for options in ways() {
        let Some((reported, counted)) = crate::observed(REPORTS_ITS_TIME, options) else {
            return;
        };
        let kernels: Vec<f64> = reported
            .lines()
            .map(|line| line.parse().expect("a number"))
            .collect();
        // A timer that expires before the task sleeps takes no switch. Perl's `times` are four
        // times, each rounded down to a tick of 10 ms.
        for (names, kernels, rounding, switches, least) in [
            (&["timer"][..], kernels[0], 0.0, 5900, 0.97),
            (&["short", "true"], kernels[1], 4.0 * 1e7, 400, 0.9),
        ] {
            let of = |number: fn(&Tasks) -> u64| -> u64 {
                let sums = names
                    .iter()
                    .map(|name| crate::sum_of(&counted, name, number));
                sums.sum()
            };
            let counted_switches = of(Tasks::switches);
            assert!(
                counted_switches >= switches,
                "{counted_switches} switches of {switches}"
            );
            let own = of(|tasks| tasks.run_ns.0) as f64;
            assert!(
                (least * kernels..1.1 * (kernels + rounding)).contains(&own),
                "{own} ns, the kernel: {kernels}; {:?}",
                counted.source
            );
        }
    }
}
