//! Tests that reported causes equal what a program did on purpose, within the handful of switches
//! that the kernel adds.

use std::process::Command;

use switchcost_observe::Options;
use switchcost_record::observation::{Cause, Entry, FutexWait, Tasks, Why};

use crate::{call, compile, observed, program_traced, sum, switches, turn};

/// Perl code that pins everything after it to one CPU: without concurrent work, no task takes
/// another's CPU.
const ON_ONE_CPU: &str = r#"system("taskset", "-pc", "0", $$) == 0 or die; "#;

fn script(rest: &str) -> String {
    ON_ONE_CPU.replace(
        "system(",
        r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n); system("#,
    ) + rest
}

#[test]
fn reads_that_wait_are_reported_as_such() {
    let _turn = turn();
    let script = script(
        r#"pipe(my $a, my $b); if (!fork) { for (1..500) { sysread($a, my $x, 1) } exit }
           for (1..500) { syswrite($b, "x"); select(undef, undef, undef, 0.0002) } wait;"#,
    );
    let Some((_, counted)) = observed(&script, Options::default()) else {
        return;
    };
    let (reads, sleeps) = (
        switches(&counted.tasks, Why::Blocked, &call("read")),
        switches(&counted.tasks, Why::Blocked, &call("pselect6")),
    );
    assert!(
        (480..540).contains(&reads),
        "{reads} of 500 reads that wait"
    );
    assert!((490..540).contains(&sleeps), "{sleeps} of 500 sleeps");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn what_a_program_does_all_the_time_is_reported_whatever_it_did_before() {
    let _turn = turn();
    // The program waits a millisecond in each of more system calls than a task's table holds, then
    // 300 times in one more.
    let script = script(
        r#"use Socket; $| = 1;
           my $ts = pack("q2", 0, 1e6); my $tv = pack("q2", 0, 1000); my $room = "\0" x 4096; my $none = "\0" x 64;
           socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0); socket(my $l, AF_UNIX, SOCK_STREAM, 0);
           setsockopt($_, SOL_SOCKET, SO_RCVTIMEO, $tv) for $a, $l; bind($l, pack_sockaddr_un("")); listen($l, 1);
           my ($in, $door, $e) = (fileno($a), fileno($l), syscall(291, 0));
           my $vector = pack("PQ", $room, 64); my $header = pack("QQPQQQQ", 0, 0, $vector, 1, 0, 0, 0);
           syscall(7, 0, 0, 1); syscall(271, 0, 0, $ts, 0, 8); $ts = pack("q2", 0, 1e6);
           syscall(23, 0, 0, 0, 0, $tv); syscall(270, 0, 0, 0, 0, $ts, 0); $ts = pack("q2", 0, 1e6);
           syscall(232, $e, $room, 1, 1); syscall(281, $e, $room, 1, 1, 0, 8); syscall(441, $e, $room, 1, $ts, 0, 8);
           syscall(35, $ts, 0); syscall(128, $none, 0, $ts, 8); syscall(202, $none, 0, 0, $ts);
           syscall(0, $in, $room, 64); syscall(19, $in, $vector, 1); syscall(45, $in, $room, 64, 0, 0, 0);
           syscall(47, $in, $header, 0); syscall(43, $door, 0, 0); syscall(288, $door, 0, 0, 0);
           my $io = "\0" x 8; syscall(206, 1, $io); syscall(208, unpack("Q", $io), 1, 1, $room, $ts);
           my $set = syscall(64, 0, 1, 0600); my $down = pack("s3", 0, -1, 0); syscall(220, $set, $down, 1, $ts); syscall(66, $set, 0, 0);
           for my $wait (61, 247) { my $p = fork; if (!$p) { select(undef, undef, undef, 0.02); syscall(231, 0) }
               $wait == 61 ? syscall(61, $p, 0, 0, 0) : syscall(247, 1, $p, $room, 4, 0) }
           $ts = pack("q2", 0, 1e5); for (1..300) { syscall(230, 1, 0, $ts, 0) }"#,
    );
    let Some((_, counted)) = observed(&script, Options::default()) else {
        return;
    };
    let sleeps = switches(&counted.tasks, Why::Blocked, &call("clock_nanosleep"));
    assert!(
        (290..330).contains(&sleeps),
        "{sleeps} of 300 sleeps: {:?}",
        counted.tasks
    );
    let (others, reported) = (counted.tasks.iter().flat_map(|tasks| &tasks.causes))
        .partition::<Vec<_>, _>(|cause| cause.entry == Entry::Other);
    assert!(reported.len() >= 19, "the table is full: {reported:?}");
    let others: u64 = others.iter().map(|cause| cause.switches).sum();
    assert!(
        (1..20).contains(&others) && others == counted.lost.causes,
        "{others} elsewhere: {reported:?}"
    );
    let of_causes = reported.iter().map(|cause| cause.switches).sum::<u64>() + others;
    assert_eq!(of_causes, sum(&counted, Tasks::switches));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn preemptions_in_more_calls_than_are_distinguished_are_no_waits() {
    let _turn = turn();
    // One process makes calls of thirty kinds that do not wait; the other wakes up continually and
    // takes the CPU from it.
    let script = script(
        r#"my @calls = (0, 1, 3, 5, 8, 16, 21, 27, 28, 32, 37, 39, 72, 74, 95, 97, 99, 100, 102, 104, 107, 108, 110, 111, 121, 124,
               125, 140, 145, 186, 274, 309);
           if (!fork) { for (1..20000) { select(undef, undef, undef, 0.00005) } exit }
           while ((times)[0] < 1.5) { for my $call (@calls) { syscall($call, -1, 0, 0) for 1..50 } } 1 while wait > 0"#,
    );
    let Some((_, counted)) = observed(&script, Options::default()) else {
        return;
    };
    let others = |is_wait: bool| -> u64 {
        let of_all = counted.tasks.iter().flat_map(|tasks| &tasks.causes);
        of_all
            .filter(|cause| cause.entry == Entry::Other && (cause.why == Why::Blocked) == is_wait)
            .map(|cause| cause.switches)
            .sum()
    };
    assert!(
        counted.lost.causes > 50,
        "the table is full: {:?}",
        counted.tasks
    );
    assert!(
        others(true) < 10 && others(false) > 40,
        "{} and {}",
        others(true),
        others(false)
    );
}

#[test]
fn yields_are_reported_as_such() {
    let _turn = turn();
    // Two processes yield to each other; a process that is alone would continue.
    let number = if cfg!(target_arch = "x86_64") {
        24
    } else {
        124
    };
    let script = script(&format!(
        "my $p = fork; for (1..2000) {{ syscall({number}) }} waitpid($p, 0) if $p;"
    ));
    let Some((_, counted)) = observed(&script, Options::default()) else {
        return;
    };
    let yields = switches(&counted.tasks, Why::Yielded, &call("sched_yield"));
    assert!(
        (1800..4020).contains(&yields),
        "{yields} of at most 4000 yields"
    );
    let involuntary: u64 = sum(&counted, |tasks| tasks.involuntary);
    assert!(
        involuntary < yields + 200,
        "{involuntary}: hardly anything else was involuntary"
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn yields_of_32_bit_programs_are_reported_as_such() {
    let _turn = turn();
    // The call gate of 32-bit programs, which 64-bit programs may also use.
    let source = r#"
        #define _GNU_SOURCE
        #include <sched.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
            cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one);
            int child = fork();
            for (int i = 0; i < 2000; i++) { int result; __asm__ volatile("int $0x80" : "=a"(result) : "a"(158) : "memory"); }
            return child && wait(0) < 0;
        }"#;
    let Some((_folder, program)) = compile(source, &[]) else {
        return;
    };
    if !Command::new(&program)
        .status()
        .is_ok_and(|status| status.success())
    {
        return println!("skipped: this kernel runs no 32-bit programs");
    }
    let Some((_, counted, _)) = program_traced(&mut Command::new(&program), Options::default())
    else {
        return;
    };
    let yields = switches(&counted.tasks, Why::Yielded, &call("sched_yield"));
    assert!(
        (1800..4020).contains(&yields),
        "{yields} of at most 4000 yields: {:?}",
        counted.tasks
    );
}

#[test]
fn time_slices_that_end_are_reported_as_such() {
    let _turn = turn();
    // Two processes compute on one CPU for 0.4 s of CPU time each, in time slices of some
    // milliseconds. Reading the clock is a system call, and rare.
    let script = script(
        "my $p = fork; while ((times)[0] < 0.4) { for (1..200000) { $x++ } } waitpid($p, 0) if $p;",
    );
    let Some((_, counted)) = observed(&script, Options::default()) else {
        return;
    };
    let ended = switches(&counted.tasks, Why::SliceEnded, &Entry::Interrupt);
    assert!(ended >= 20, "{ended} slices ended in 0.8 s");
    // On a busy machine other tasks get time slices, too.
    let own = counted
        .pairs
        .iter()
        .filter(|pair| pair.name == "perl")
        .map(|pair| pair.preempted)
        .sum::<u64>();
    assert!(own > 3, "{own} times they took the CPU from each other");
}

#[test]
fn a_time_slice_does_not_end_each_time_that_another_gets_its_turn() {
    let _turn = turn();
    // Four servers answer three clients each over the loopback. A server that answers wakes a
    // client, but usually the next time slice belongs to another task, which has been waiting since
    // before.
    let script = r#"
        use IO::Socket::INET; use IO::Select; use Time::HiRes 'time'; my $end = time + 0.5;
        my @doors = map { IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 9) } 1..4;
        for my $door (@doors) {
            next if fork; my $clients = IO::Select->new;
            for (1..3) {
                if (!fork) {
                    my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $door->sockport);
                    for (;;) { syswrite($server, "x") or exit; sysread($server, my $x, 1) or exit }
                }
                $clients->add($door->accept);
            }
            while (time < $end) { for ($clients->can_read) { sysread($_, my $x, 1); syswrite($_, "y") } }
            exit;
        } 1 while wait > 0;"#;
    let Some((_, counted)) = observed(script, Options::default()) else {
        return;
    };
    let of = |is: fn(Why) -> bool| {
        let causes = counted
            .tasks
            .iter()
            .flat_map(|tasks| &tasks.causes)
            .filter(|cause| is(cause.why));
        causes.map(|cause| cause.switches).sum::<u64>()
    };
    let run_ns: u64 = sum(&counted, |tasks| tasks.run_ns.0);
    let (ended, preempted) = (of(|why| why == Why::SliceEnded), of(Why::is_preemption));
    assert!(
        preempted > 100,
        "they take CPUs from one another: {preempted}"
    );
    // A time slice is at least 0.7 ms, the shortest that the kernel gives unless a task requests
    // less.
    assert!(
        ended * 700_000 <= run_ns,
        "{ended} of {preempted} in {run_ns} ns: {:?}",
        counted.tasks
    );
}

#[test]
fn who_is_woken_takes_the_cpu_and_is_reported_as_such() {
    let _turn = turn();
    // One process computes; the other sleeps a millisecond each time, and preempts it when it
    // wakes.
    let script = script(
        "use Time::HiRes 'time'; my $p = fork; my $t = time + 0.6;
         if ($p) { while (time < $t) { $x++ } waitpid($p, 0) } else { while (time < $t) { select(undef, undef, undef, 0.001) } }",
    );
    let Some((_, counted)) = observed(
        &script,
        Options {
            wants_wakers: true,
            ..Options::default()
        },
    ) else {
        return;
    };
    let preempted = switches(&counted.tasks, Why::PreemptedByWoken, &Entry::Interrupt);
    assert!(preempted > 60, "{preempted} preemptions by who was woken");
    let by_it = counted
        .pairs
        .iter()
        .filter(|pair| pair.name == "perl")
        .map(|pair| pair.preempted)
        .sum::<u64>();
    assert!(by_it > 45, "{by_it} times it let itself in");
    // The timer's interrupt comes while the other process runs.
    let woke: u64 = counted
        .pairs
        .iter()
        .filter(|pair| pair.name == "perl")
        .map(|pair| pair.woke)
        .sum();
    assert!(woke > 60, "{woke} wake-ups while the other ran");
}

/// Returns the Perl code of a futex call whose wait ends by the signal of its child's end.
fn waits_in_futex(number: u32, operation: u32, word: u32, timeout: &str) -> Option<Vec<Cause>> {
    let script = format!(
        "my $word = pack('L', {word}); my $time = pack('qq', 0, 20_000_000);
         $SIG{{CHLD}} = sub {{}};
         if (fork) {{ syscall({number}, $word, {operation}, {word}, {timeout}, 0, 0xffffffff) }} else {{ select(undef, undef, undef, 0.05) }}"
    );
    let (_, counted) = observed(&script, Options::default())?;
    Some(
        counted
            .tasks
            .into_iter()
            .flat_map(|tasks| tasks.causes)
            .filter(|cause| cause.why == Why::Blocked)
            .collect(),
    )
}

#[test]
fn waits_in_futex_are_distinguished_by_what_they_are_for() {
    let _turn = turn();
    let number = if cfg!(target_arch = "x86_64") {
        202
    } else {
        98
    };
    let (lock, timed) = (
        Entry::Futex(FutexWait::Lock),
        Entry::Futex(FutexWait::Timed),
    );
    let cases = [
        // A lock of glibc, whose value 2 means that it is taken and waited for; one of musl; and
        // one with FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG.
        (0, 2, "0", &lock),
        (0, 0x8000_0010, "0", &lock),
        (9 | 128, 2, "0", &lock),
        // The same waits for at most 20 ms; a condition or semaphore; a thread that parks.
        (0, 2, "$time", &timed),
        (128, 0, "0", &call("futex")),
        (128, u32::MAX, "0", &call("futex")),
        // A semaphore of musl with a waiter.
        (128, 0x8000_0000, "0", &call("futex")),
    ];
    for (operation, word, timeout, expected) in cases {
        let Some(causes) = waits_in_futex(number, operation, word, timeout) else {
            return;
        };
        let is_futex =
            |cause: &&Cause| matches!(cause.entry, Entry::Futex(_)) || cause.entry == call("futex");
        let reported: Vec<&Cause> = causes.iter().filter(is_futex).collect();
        assert!(
            reported.len() == 1 && reported[0].entry == *expected && reported[0].switches == 1,
            "{word:#x}: {reported:?}"
        );
    }
}

#[test]
fn a_word_in_the_waiter_s_own_frame_is_no_lock() {
    let _turn = turn();
    // The program waits like musl's condition variables: for a 2 in a local variable of the waiting
    // function.
    let source = r#"
        #define _GNU_SOURCE
        #include <pthread.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static volatile int *shared;
        static void *wake(void *unused) {
            for (int i = 0; i < 200; i++) {
                while (!shared) usleep(100);
                volatile int *word = shared;
                usleep(500); shared = 0; *word = 0; syscall(SYS_futex, word, 1, 1, 0, 0, 0);
            }
            return unused;
        }
        int main(void) {
            pthread_t waker; pthread_create(&waker, 0, wake, 0);
            for (int i = 0; i < 200; i++) {
                volatile int word = 2; shared = &word;
                while (word == 2) syscall(SYS_futex, &word, 0, 2, 0, 0, 0);
            }
            return pthread_join(waker, 0);
        }"#;
    let Some((_folder, program)) = compile(source, &["-pthread"]) else {
        return;
    };
    let Some((_, counted, _)) = program_traced(&mut Command::new(&program), Options::default())
    else {
        return;
    };
    let lock = switches(&counted.tasks, Why::Blocked, &Entry::Futex(FutexWait::Lock));
    let waits = switches(&counted.tasks, Why::Blocked, &call("futex"));
    assert!(
        lock < 20 && waits > 150,
        "{lock} waits for a lock, {waits} others: {:?}",
        counted.tasks
    );
}
