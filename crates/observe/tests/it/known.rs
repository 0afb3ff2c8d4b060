//! Programs that make known switches, all under one observation: for the kernel, verifying the BPF
//! programs takes longer than most of these programs run.

use std::process::Command;
use std::sync::OnceLock;

use switchcost_observe::Options;
use switchcost_record::observation::Observation;
use tempfile::TempDir;

use crate::{compile, number, observed};

/// Returns the observation of all programs; nothing, with a message, if that is impossible.
pub(crate) fn all() -> Option<&'static Observation> {
    static ALL: OnceLock<Option<Observation>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let (mut scripts, _folders) = compiled();
        scripts.extend(futex_waits());
        scripts.extend(PINNED.map(|(name, script)| (name.to_owned(), pinned(script))));
        scripts.extend(FREE.map(|(name, script)| (name.to_owned(), script.to_owned())));
        scripts.extend(of_this_machine());
        let run = |(name, script): (String, String)| {
            format!(
                "if (my $p = fork) {{ waitpid($p, 0); $? == 0 or die '{name}' }}
                 else {{ $0 = '{name}'; {script}; exit }}\n"
            )
        };
        let script: String = scripts.into_iter().map(run).collect();
        let options = Options {
            wants_wakers: true,
            ..Options::default()
        };
        Some(observed(&script, options)?.1)
    });
    if all.is_none() {
        println!("skipped: the known programs were not observed");
    }
    all.as_ref()
}

/// Returns the observation with only the tasks of these names.
pub(crate) fn known(names: &[&str]) -> Option<Observation> {
    let mut counted = all()?.clone();
    counted
        .tasks
        .retain(|tasks| names.contains(&tasks.name.as_str()));
    Some(counted)
}

/// Returns a script that runs `script` on CPU 0: without concurrent work, no task takes another's
/// CPU.
fn pinned(script: &str) -> String {
    let silent = r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n);"#;
    format!(r#"{silent} system("taskset", "-pc", "0", $$) == 0 or die; {script}"#)
}

/// Names and Perl scripts of programs on one CPU.
const PINNED: [(&str, &str); 3] = [
    (
        "reads",
        r#"pipe(my $a, my $b); if (!fork) { for (1..500) { sysread($a, my $x, 1) } exit }
           for (1..500) { syswrite($b, "x"); select(undef, undef, undef, 0.0002) } wait;"#,
    ),
    // Two processes compute on one CPU for 0.4 s of CPU time each, in time slices of some
    // milliseconds. Reading the clock is a system call, and rare.
    (
        "slices",
        "my $p = fork; while ((times)[0] < 0.4) { for (1..200000) { $x++ } } waitpid($p, 0) if $p;",
    ),
    // One process computes; the other sleeps a millisecond each time, and preempts it when it
    // wakes.
    (
        "woken",
        "use Time::HiRes 'time'; my $p = fork; my $t = time + 0.6;
         if ($p) { while (time < $t) { $x++ } waitpid($p, 0) } else { while (time < $t) { select(undef, undef, undef, 0.001) } }",
    ),
];

/// Names and Perl scripts of programs on all CPUs.
const FREE: [(&str, &str); 5] = [
    // Four servers answer three clients each over the loopback. A server that answers wakes a
    // client, but usually the next time slice belongs to another task, which has been waiting since
    // before.
    (
        "loopback",
        r#"
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
        } 1 while wait > 0;"#,
    ),
    // One process sleeps, another computes; both are stopped and continued five times, and are then
    // ended.
    (
        "stops",
        r#"
        use Time::HiRes 'time'; sub pause { select(undef, undef, undef, $_[0]) }
        my $s = fork; exec "sleep", "30" if !$s; pause(0.05);
        my $c = fork; if (!$c) { my $t = time + 30; 1 while time < $t; exit } pause(0.02);
        for (1..5) { kill("STOP", $s, $c); pause(0.015); kill("CONT", $s, $c); pause(0.015) }
        kill("TERM", $s, $c); waitpid($s, 0); waitpid($c, 0)"#,
    ),
    // More processes than there are slots at a time would take long; this number suffices for slots
    // to be reused.
    (
        "short",
        r#"for (1..500) { my $p = fork; if (!$p) { exec "/bin/true" } waitpid($p, 0) }"#,
    ),
    (
        "wander",
        "for (1..6) { if (!fork) { for (1..300) { select(undef, undef, undef, 0.001) } exit } } 1 while wait > 0",
    ),
    // A ring of io_uring whose worker polls for a millisecond (IORING_SETUP_SQPOLL), and then sleeps.
    (
        "ring",
        "my $ring = pack('L5 x100', 0, 0, 2, 0, 1); syscall(425, 8, $ring); select(undef, undef, undef, 0.05)",
    ),
];

/// Returns names and scripts that use numbers of system calls.
fn of_this_machine() -> Vec<(String, String)> {
    let yields = number(24, 124);
    let trace = number(101, 117);
    // Two processes yield to each other; a process that is alone would continue.
    let mut scripts = vec![
        (
            "yields",
            pinned(&format!(
                "my $p = fork; for (1..2000) {{ syscall({yields}) }} waitpid($p, 0) if $p;"
            )),
        ),
        // Each of forty processes that yield to one another on one CPU waits for all others.
        (
            "crowd",
            pinned(&format!(
                "for (1..40) {{ if (!fork) {{ select(undef, undef, undef, 0.3); syscall({yields}) for 1..300; exit }} }} 1 while wait > 0"
            )),
        ),
        (
            "traced",
            format!(
                r#"my $p = fork; if (!$p) {{ syscall({trace}, 0, 0, 0, 0); kill(10, $$) for 1..5; exit }}
           for (1..5) {{ waitpid($p, 0); syscall({trace}, 7, $p, 0, 0) }} waitpid($p, 0)"#
            ),
        ),
    ];
    if cfg!(target_arch = "x86_64") {
        scripts.extend([
            ("full-table", pinned(FULL_TABLE)),
            ("many-calls", pinned(MANY_CALLS)),
        ]);
    }
    let scripts = scripts.into_iter();
    scripts
        .map(|(name, script)| (name.to_owned(), script))
        .collect()
}

/// Perl code that waits once in each of several system calls, more than a task's table has entries
/// for, and then 300 times in another one.
const FULL_TABLE: &str = r#"use Socket; $| = 1;
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
           $ts = pack("q2", 0, 1e5); for (1..300) { syscall(230, 1, 0, $ts, 0) }"#;

/// Perl code of one process that makes calls of 32 kinds that do not wait, and another that wakes
/// up continually and takes the CPU from it.
const MANY_CALLS: &str = r#"my @calls = (0, 1, 3, 5, 8, 16, 21, 27, 28, 32, 37, 39, 72, 74, 95, 97, 99, 100, 102, 104, 107, 108, 110, 111, 121, 124,
               125, 140, 145, 186, 274, 309);
           if (!fork) { for (1..20000) { select(undef, undef, undef, 0.00005) } exit }
           while ((times)[0] < 1.5) { for my $call (@calls) { syscall($call, -1, 0, 0) for 1..50 } } 1 while wait > 0"#;

/// Operation, word and timeout of each wait on a futex. A wait without a timeout is ended by
/// SIGCHLD.
pub(crate) const FUTEX_WAITS: [(u32, u32, &str); 7] = [
    // A lock of glibc, whose value 2 means that it is taken and waited for; one of musl; and one
    // with FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG.
    (0, 2, "0"),
    (0, 0x8000_0010, "0"),
    (9 | 128, 2, "0"),
    // The same waits for at most 20 ms; a condition or semaphore; a thread that parks.
    (0, 2, "$time"),
    (128, 0, "0"),
    (128, u32::MAX, "0"),
    // A semaphore of musl with a waiter.
    (128, 0x8000_0000, "0"),
];

fn futex_waits() -> Vec<(String, String)> {
    let number = number(202, 98);
    let script = |(at, (operation, word, timeout)): (usize, (u32, u32, &str))| {
        let script = format!(
            "my $word = pack('L', {word}); my $time = pack('qq', 0, 20_000_000);
             $SIG{{CHLD}} = sub {{}};
             if (fork) {{ syscall({number}, $word, {operation}, {word}, {timeout}, 0, 0xffffffff) }} else {{ select(undef, undef, undef, 0.05) }}"
        );
        (format!("futex-{at}"), script)
    };
    FUTEX_WAITS.into_iter().enumerate().map(script).collect()
}

/// Returns scripts that become programs in C, and the folders of these programs, if there is a
/// compiler.
fn compiled() -> (Vec<(String, String)>, Vec<TempDir>) {
    let mut sources = vec![("own-frame", OWN_FRAME, &["-pthread"][..])];
    if cfg!(target_arch = "x86_64") {
        sources.push(("yields-32-bit", YIELDS_OF_32_BIT, &[]));
    }
    let (mut scripts, mut folders) = (Vec::new(), Vec::new());
    for (name, source, flags) in sources {
        let Some((folder, program)) = compile(source, flags, name) else {
            continue;
        };
        let runs = Command::new(&program).status();
        if runs.is_ok_and(|status| status.success()) {
            let exec = format!("exec '{}'", program.display());
            scripts.push((name.to_owned(), exec));
            folders.push(folder);
        }
    }
    (scripts, folders)
}

/// A program that yields by the call gate of 32-bit programs, which 64-bit programs may also use.
const YIELDS_OF_32_BIT: &str = r#"
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

/// A program that waits like musl's condition variables: for a 2 in a local variable of the waiting
/// function.
const OWN_FRAME: &str = r#"
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
