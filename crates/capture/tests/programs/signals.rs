//! Tests threads that are interrupted while they compute.

use switchcost_capture::Command;

use super::support::{compiled, succeeds_in_both_orders};

/// Program in which a thread computes, and another sends it signals. Each signal has its own
/// handler, which is translated at its first signal.
const SIGNALLED: &str = r"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static const int numbers[] = { SIGURG, SIGUSR1, SIGUSR2, SIGWINCH };
static volatile int handled;
static void one(int number) { handled += number > 0; }
static void two(int number) { handled += number > 1; }
static void three(int number) { handled += number > 2; }
static void four(int number) { handled += number > 3; }
static void (*const handlers[])(int) = { one, two, three, four };
static void *compute(void *unused)
{
    while (handled < 4) {}
    return unused;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        signal(numbers[i], handlers[i]);
    pthread_create(&thread, 0, compute, 0);
    for (int i = 0; i < 4; i++) {
        usleep(1000);
        pthread_kill(thread, numbers[i]);
    }
    pthread_join(thread, 0);
    return handled != 4;
}
";

#[test]
fn a_thread_that_computes_handles_a_signal_beside_another_thread() {
    succeeds_in_both_orders(&Command::new([compiled("signalled", SIGNALLED)]));
}
