//! Tests programs that execute themselves and others: each executes, and sees, the same as without
//! tracing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use switchcost_capture::Command;

use super::support::{ORDERS, compiled, scratch, succeeds, succeeds_in_both_orders};

/// Program whose stages each write what they see of themselves, and execute the next stage in
/// another way.
const AGAIN: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
extern char **environ;
static void show(const char *path, FILE *to)
{
    char text[4096];
    int file = open(path, O_RDONLY), bytes = read(file, text, sizeof text);
    for (int i = 0; i < bytes; i++)
        fputc(text[i] ? text[i] : '|', to);
    close(file);
}
static int copied(int to)
{
    char text[65536];
    int from = open("/proc/self/exe", O_RDONLY), bytes;
    while ((bytes = read(from, text, sizeof text)) > 0)
        if (write(to, text, bytes) != bytes)
            exit(9);
    return to;
}
int main(int count, char **words)
{
    const char *log = getenv("AGAIN_LOG"), *script = getenv("AGAIN_SCRIPT"), *copy = getenv("AGAIN_COPY");
    int stage = count > 1 ? atoi(words[count - 1]) : 0;
    char link[4096] = "", by_thread[4096] = "", by_number[64], next[8], *arguments[] = { "a-name-that-is-longer-than-the-path", next, 0 };
    FILE *to = fopen(log, "a");
    readlink("/proc/self/exe", link, sizeof link - 1);
    readlinkat(AT_FDCWD, "/proc/thread-self/exe", by_thread, sizeof by_thread - 1);
    fprintf(to, "%d: %s %s %s %s ", stage, count > 0 ? words[0] : "(none)", link, by_thread, program_invocation_name);
    show("/proc/self/cmdline", to);
    // By the path /proc/self/exe the name would be "exe".
    if (strchr("034679", '0' + stage))
        fputc(' ', to), show("/proc/self/comm", to);
    else
        fputc('\n', to);
    fclose(to);
    snprintf(next, sizeof next, "%d", stage + 1);
    snprintf(by_number, sizeof by_number, "/proc/%d/exe", getpid());
    switch (stage) {
    case 0: execve("/proc/self/exe", arguments, environ); break;
    case 1: arguments[0] = "-short"; execve(by_number, arguments, environ); break;
    case 2: syscall(SYS_execveat, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "", arguments, environ, AT_EMPTY_PATH); break;
    case 3: arguments[0] = ""; execve(script, arguments, environ); break;
    case 4: execve("/proc/self/exe", arguments, environ); break;
    case 5: fexecve(copied(memfd_create("copy", MFD_CLOEXEC)), arguments, environ); break;
    case 6: close(copied(open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0700))); execve(copy, arguments, environ); break;
    case 7: unlink(copy); execve("/proc/self/exe", arguments, environ); break;
    case 8:
        if (open("/dev/null", O_RDONLY) != 3 || chdir(getenv("AGAIN_FOLDER")))
            return 8;
        execve("again", arguments, environ);
        break;
    default: return 0;
    }
    return 7;
}
"#;

#[test]
fn a_program_that_executes_itself_finds_itself_under_its_own_name() {
    let program = compiled("again", AGAIN);
    let folder = scratch();
    let script = folder.join("again.script");
    fs::write(&script, format!("#!{} of-the-script\n", program.display())).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("ours");
    let environment = |log: &Path| {
        let paths = [
            ("AGAIN_LOG", log),
            ("AGAIN_SCRIPT", &script),
            ("AGAIN_COPY", &folder.join("again.copy")),
            ("AGAIN_FOLDER", &folder),
        ];
        paths.map(|(name, path)| (name.into(), path.as_os_str().to_owned()))
    };
    let lines = |log: &Path| fs::read_to_string(log).expect("written");
    let alone = folder.join("again.alone");
    let _ = fs::remove_file(&alone);
    let status = std::process::Command::new(&program)
        .envs(environment(&alone))
        .status()
        .expect("it runs");
    assert!(status.success(), "{status} {}", lines(&alone));
    assert_eq!(lines(&alone).lines().count(), 10, "{}", lines(&alone));
    for order in ORDERS {
        let log = folder.join("again.traced");
        let _ = fs::remove_file(&log);
        let command = Command {
            environment: environment(&log).to_vec(),
            ..Command::new([&program])
        };
        succeeds(&command, order);
        assert_eq!(lines(&log), lines(&alone), "{order:?}");
    }
}

/// Program that executes itself five times by a thread other than its first, while all other
/// threads make system calls and children.
const BUSY: &str = r#"
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char *next[7] = { "busy" };
static void *call(void *unused)
{
    for (;;)
        getppid();
    return unused;
}
static void *make_children(void *unused)
{
    for (int i = 0;; i++) {
        pid_t child = 0;
        char *words[] = { "true", 0 };
        if (i % 8 == 0)
            posix_spawnp(&child, "true", 0, 0, words, environ);
        else if ((child = fork()) == 0)
            _exit(0);
        waitpid(child, 0, 0);
    }
    return unused;
}
static void *execute(void *unused)
{
    usleep(1000);
    execve("/proc/self/exe", next, environ);
    exit(2);
    return unused;
}
int main(int count, char **words)
{
    pthread_t thread;
    (void)words;
    if (count == 6)
        return 0;
    for (int i = 0; i < count; i++)
        next[i + 1] = "again";
    if (pthread_create(&thread, 0, call, 0) || pthread_create(&thread, 0, make_children, 0) || pthread_create(&thread, 0, execute, 0))
        return 1;
    call(0);
}
"#;

#[test]
fn a_program_with_other_threads_executes_itself() {
    succeeds_in_both_orders(&Command::new([compiled("busy", BUSY)]));
}
