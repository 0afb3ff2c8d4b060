//! Tasks that wait, without another that they wait for.

use switchcost_capture::{Command, Ending, Options, Order, Summary};
use switchcost_trace::{Cause, Chunk};

use super::support::{compiled, in_time, options, switches, traced};

const CLOCK_NANOSLEEP: u16 = 230;

/// What a program is that must end well, and its switches.
fn captured(name: &str, source: &str, order: Order) -> (Summary, Vec<Chunk>) {
    let program = compiled(name, source);
    let options = Options { order, ..options() };
    let (summary, chunks) = in_time(|stop| traced(&[Command::new([&program])], options, stop));
    assert_eq!(summary.ending, Ending::Finished, "{order:?}");
    assert_eq!(summary.statuses[0].and_then(|status| status.code()), Some(0), "{order:?}: {summary:?}");
    (summary, chunks)
}

fn voluntary_at(chunks: &[Chunk], call: u16) -> usize {
    let is_it = |&&(.., is_voluntary, cause): &&(u32, u32, bool, Cause)| is_voluntary && cause == Cause::Syscall(call);
    switches(chunks).iter().filter(is_it).count()
}

/// Sleeps for a microsecond a hundred times, beside a process that computes until then.
const SHORT_SLEEPS: &str = r"
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    volatile int *is_over = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    if (fork() == 0) {
        while (!*is_over) {}
        _exit(0);
    }
    for (int i = 0; i < 100; i++)
        nanosleep(&(struct timespec){ 0, 1000 }, 0);
    *is_over = 1;
    return wait(&status) < 0 || status;
}
";

#[test]
fn a_sleep_too_short_to_be_seen_is_a_switch_all_the_same() {
    let order = Order::Scheduled { quantum_instructions: 50_000 };
    let (_, chunks) = captured("short_sleeps", SHORT_SLEEPS, order);
    assert_eq!(voluntary_at(&chunks, CLOCK_NANOSLEEP), 100, "{:?}", switches(&chunks));
}
