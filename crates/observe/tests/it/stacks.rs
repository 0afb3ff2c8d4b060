//! Tests that sampled stacks are those of the program, and represent all of its switches.

use std::process::Command;

use switchcost_observe::Options;
use switchcost_record::observation::UserStack;

use crate::{observed, program_traced, turn};

#[test]
fn stacks_are_sampled_as_often_as_was_asked_for_and_stand_for_all_switches() {
    let _turn = turn();
    let number = if cfg!(target_arch = "x86_64") {
        24
    } else {
        124
    };
    // Two processes yield to each other on one CPU for a second.
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
        .map(switchcost_record::observation::Tasks::switches)
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

/// Perl code of two processes that yield to each other from code that each has generated and has
/// published for profilers, in different ways.
#[cfg(target_arch = "x86_64")]
const MAKES_CODE: &str = r#"
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <sched.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/wait.h>
    #include <time.h>
    #include <unistd.h>
    static void tell_map(uint64_t address) {
        char path[64]; sprintf(path, "/tmp/perf-%d.map", getpid());
        FILE *map = fopen(path, "w"); fprintf(map, "%lx 40 made while it runs\n", address); fclose(map);
    }
    static void tell_log(uint64_t address, const char *folder) {
        char path[512]; sprintf(path, "%s/jit-%d.dump", folder, getpid());
        uint32_t head[10] = {0x4a695444, 1, 40, 62, 0, getpid()};
        struct { uint32_t id, size; uint64_t at; uint32_t process, thread; uint64_t old, address, size_of_code, index; char name[32]; }
            record = {0, sizeof record, 0, getpid(), getpid(), address, address, 64, 1, "made while it runs"};
        FILE *log = fopen(path, "w+"); fwrite(head, 40, 1, log); fwrite(&record, sizeof record, 1, log); fflush(log);
        mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(log), 0);
    }
    int main(int argc, char **argv) {
        cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one);
        int child = fork();
        uint8_t yields[] = {0xb8, 24, 0, 0, 0, 0x0f, 0x05, 0xc3};
        void *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(code, yields, sizeof yields);
        if (argc > 1) tell_log((uint64_t)code, argv[1]); else tell_map((uint64_t)code);
        for (time_t end = time(0) + 2; time(0) < end;) for (int i = 0; i < 100; i++) ((void (*)(void))code)();
        char path[64]; sprintf(path, "/tmp/perf-%d.map", getpid()); unlink(path);
        return child && wait(0) < 0;
    }"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_is_made_while_a_program_runs_has_the_name_that_the_program_tells() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a folder");
    let (file, program) = (folder.path().join("made.c"), folder.path().join("made"));
    std::fs::write(&file, MAKES_CODE).expect("a file");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-o"]).arg(&program).arg(&file);
    if !compiler.status().is_ok_and(|status| status.success()) {
        return println!("skipped: there is no C compiler");
    }
    let options = Options {
        stacks_per_second: Some(1000),
        ..Options::default()
    };
    for arguments in [&[][..], &[folder.path()]] {
        let Some((_, counted, _)) = program_traced(Command::new(&program).args(arguments), options)
        else {
            return;
        };
        let stacks = counted.stacks.expect("they were asked for");
        let of_program = || stacks.stacks.iter().filter(|stack| stack.name == "made");
        let sum = |stacks: &mut dyn Iterator<Item = &UserStack>| -> u64 {
            stacks.map(|stack| stack.switches).sum()
        };
        let is_named = |stack: &&UserStack| {
            let innermost = stacks.frames_of(stack).next();
            innermost
                .is_some_and(|(frame, _)| frame.function.as_deref() == Some("made while it runs"))
        };
        let (all, named) = (
            sum(&mut of_program()),
            sum(&mut of_program().filter(is_named)),
        );
        assert!(
            named as f64 > 0.8 * all as f64,
            "{named} of {all}, told by {arguments:?}: {:?}",
            stacks.frames
        );
    }
}
