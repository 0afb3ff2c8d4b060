//! Tests code that a program generates while it runs.

use switchcost_capture::Command;

use super::support::{compiled, succeeds_in_both_orders};

/// Program that writes a function into one mapping of an unnamed file and calls it in the other
/// mapping; then writes another in its place, and so on.
const GENERATED: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int opened(int how)
{
    if (how == 0)
        return memfd_create("code", 0);
    int file = open("/dev/shm/switchcost-generated", O_RDWR | O_CREAT | O_EXCL, 0700);
    unlink("/dev/shm/switchcost-generated");
    return file;
}
static int differs(int how)
{
    static const unsigned char returns[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
    int file = opened(how), wrong = 0;
    if (file < 0 || ftruncate(file, 4096))
        return 2;
    unsigned char *written = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void *executed = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    if (written == MAP_FAILED || executed == MAP_FAILED)
        return 2;
    memcpy(written, returns, sizeof returns);
    for (int value = 0; value < 100; value++) {
        written[1] = value;
        wrong |= ((int (*)(void))executed)() != value;
    }
    return wrong;
}
int main(void)
{
    return differs(0) * 10 + differs(1);
}
"#;

#[test]
fn code_that_is_written_by_another_mapping_is_what_runs() {
    succeeds_in_both_orders(&Command::new([compiled("generated", GENERATED)]));
}
