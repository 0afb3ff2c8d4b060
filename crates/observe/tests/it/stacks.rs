//! Tests that sampled stacks are those of the program, and represent all of its switches.

use std::process::Command;

use switchcost_observe::Options;
use switchcost_record::observation::{Tasks, UserStack};

use crate::{compile, number, observed, program_traced, sum_of};

fn sampled() -> Options {
    Options {
        stacks_per_second: Some(1000),
        ..Options::default()
    }
}

#[test]
fn stacks_are_sampled_as_often_as_was_asked_for_and_stand_for_all_switches() {
    let number = number(24, 124);
    // Two processes yield to each other on one CPU for 0.8 s.
    let script = format!(
        "open(my $n, '>', '/dev/null'); open(STDOUT, '>&', $n); system('taskset', '-pc', '0', $$) == 0 or die;
         my $p = fork; while ((times)[0] + (times)[1] < 0.4) {{ syscall({number}) for 1..100 }} waitpid($p, 0) if $p;"
    );
    let Some((_, counted)) = observed(&script, sampled()) else {
        return;
    };
    let switches = sum_of(&counted, "perl", Tasks::switches);
    let stacks = counted.stacks.expect("they were asked for");
    let of_perl = || stacks.stacks.iter().filter(|stack| stack.name == "perl");
    let reported: u64 = of_perl().map(|stack| stack.switches).sum::<u64>() + stacks.lost_switches;
    assert!(
        (0.75..1.25).contains(&(reported as f64 / switches as f64)),
        "samples stand for {reported} of {switches}"
    );
    assert!(
        stacks.samples() < 4_000,
        "{} samples in 0.8 s",
        stacks.samples()
    );
    let is_of_perl = |path: &str| path.contains("perl") || path.contains("libc");
    let is_known = |stack: &&UserStack| {
        let innermost = stacks.frames_of(stack).next();
        innermost.is_some_and(|(_, module)| is_of_perl(&module.path))
    };
    let known: u64 = of_perl().filter(is_known).map(|stack| stack.switches).sum();
    assert!(
        known as f64 > 0.9 * reported as f64,
        "the innermost function of {known} of {reported} is known"
    );
}

/// C code of two processes that yield to each other from code that each has generated. Each
/// publishes the name of the code for profilers: in a compiler's log in the folder given as an
/// argument, or without an argument in a map.
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
        while (clock() < 0.4 * CLOCKS_PER_SEC) for (int i = 0; i < 100; i++) ((void (*)(void))code)();
        char path[64]; sprintf(path, "/tmp/perf-%d.map", getpid()); unlink(path);
        return child && wait(0) < 0;
    }"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_is_made_while_a_program_runs_has_the_name_that_the_program_tells() {
    let Some((folder, program)) = compile(MAKES_CODE, &[], "made") else {
        return;
    };
    // Both ways of publishing, in processes of different names.
    let other = folder.path().join("logs");
    std::fs::copy(&program, &other).expect("room");
    let mut both = Command::new("sh");
    both.args(["-c", "\"$0\" && \"$1\" \"$2\""]);
    both.args([&program, &other, &folder.path().to_owned()]);
    let Some((_, counted, _)) = program_traced(&mut both, sampled()) else {
        return;
    };
    let stacks = counted.stacks.expect("they were asked for");
    for name in ["made", "logs"] {
        let of_program = || stacks.stacks.iter().filter(|stack| stack.name == name);
        let switches = |is_counted: &dyn Fn(&&UserStack) -> bool| -> u64 {
            let stacks = of_program().filter(is_counted);
            stacks.map(|stack| stack.switches).sum()
        };
        let is_named = |stack: &&UserStack| {
            let innermost = stacks.frames_of(stack).next();
            innermost
                .is_some_and(|(frame, _)| frame.function.as_deref() == Some("made while it runs"))
        };
        let (all, named) = (switches(&|_| true), switches(&is_named));
        assert!(
            all > 0 && named as f64 > 0.8 * all as f64,
            "{named} of {all} of {name}: {:?}",
            stacks.frames
        );
    }
}
