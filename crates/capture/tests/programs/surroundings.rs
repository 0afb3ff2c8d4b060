//! Tests what a program inherits from its caller, and how it restricts itself. Both are the same as
//! without tracing, or a warning reports the difference.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use switchcost_capture::{Command, Options, Order, Summary};

use super::support::{
    ORDERS, assert_only_warning, code, compiled, in_order, in_time, recorded, scratch, succeeds,
    succeeds_in_both_orders,
};

fn traced(words: &[&str], order: Order) -> Summary {
    let command = Command::new(words.iter().copied());
    in_time(|stop| recorded(&[command], in_order(order), stop)).0
}

#[test]
fn limits_of_open_files_are_those_of_the_caller_and_can_be_set() {
    // The limits are set as by a server (both) and as by a runtime (the soft one); limits that a
    // program leaves to the next one are tested, too.
    let script = "ulimit -Hn; ulimit -Sn; ulimit -Sn $(ulimit -Hn); ulimit -Sn; ulimit -Sn 70; ulimit -Hn 90; \
                  sh -c 'ulimit -Sn; ulimit -Hn; ulimit -Sn 90; ulimit -Sn'";
    let path = scratch().join("limits");
    let limits = |run: &dyn Fn(&[&str])| {
        run(&["sh", "-c", &format!("({script}) > {}", path.display())]);
        fs::read_to_string(&path).expect("written")
    };
    let alone = limits(&|words| {
        std::process::Command::new(words[0])
            .args(&words[1..])
            .status()
            .expect("sh runs");
    });
    assert!(alone.ends_with("\n70\n90\n90\n"), "{alone}");
    for order in ORDERS {
        assert_eq!(
            limits(&|words| drop(traced(words, order))),
            alone,
            "{order:?}"
        );
    }
}

#[test]
fn files_that_the_caller_opened_are_handed_on() {
    let path = scratch().join("handed_on");
    fs::write(&path, "words").expect("written");
    let file = File::open(&path).expect("a file");
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).expect("a file of ours");
    let by_number = format!("/dev/fd/{}", file.as_raw_fd());
    let words = ["cmp", &by_number, path.to_str().expect("text")];
    succeeds(&Command::new(words), Order::default());
}

/// Program that writes three lines into a file under a filter that allows only system calls to
/// write and to exit.
const RESTRICTED: &str = r#"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static int filter(int by_prctl)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { 5, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 1;
    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                    : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
int main(int count, char **words)
{
    int file = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0600), refused;
    if (count < 3 || file < 0)
        return 1;
    refused = strcmp(words[1], "strict") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                                              : filter(strcmp(words[1], "prctl") == 0);
    if (refused)
        return 2;
    for (int i = 0; i < 3; i++)
        write(file, "hi\n", 3);
    syscall(SYS_exit, 0);
}
"#;

#[test]
fn a_program_that_restricts_its_system_calls_runs_on_and_that_is_reported() {
    let program = compiled("restricted", RESTRICTED);
    let path = scratch().join("restricted_lines");
    let lines = |path: &Path| fs::read_to_string(path).expect("written");
    for how in ["strict", "prctl", "seccomp"] {
        for order in ORDERS {
            let command = Command::new([program.as_path(), Path::new(how), path.as_path()]);
            let summary = succeeds(&command, order);
            assert_eq!(lines(&path), "hi\nhi\nhi\n", "{how}, {order:?}");
            assert_only_warning(&summary, "restricted its own system calls (seccomp)");
        }
    }
}

/// Program that exits with 0 if neither it nor its child may trace the other.
const DEBUGGER: &str = r"
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
static int is_refused(int request, int process)
{
    return ptrace(request, process, 0, 0) == -1 && errno == EPERM;
}
int main(void)
{
    int status, child = fork();
    if (child == 0) {
        if (!is_refused(PTRACE_TRACEME, 0))
            _exit(1);
        pause();
    }
    status = !is_refused(PTRACE_ATTACH, child) || !is_refused(PTRACE_SEIZE, child);
    kill(child, SIGKILL);
    waitpid(child, 0, 0);
    return status;
}
";

#[test]
fn a_debugger_is_refused_and_that_is_reported() {
    let command = Command::new([compiled("debugger", DEBUGGER)]);
    for summary in succeeds_in_both_orders(&command) {
        assert_only_warning(&summary, "or to be traced by one (ptrace)");
    }
}

/// Program that gives up all rights that it can, and executes its arguments.
const UNPRIVILEGED: &str = r"
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **words)
{
    for (int capability = 0; capability < 64; capability++)
        prctl(PR_CAPBSET_DROP, capability);
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT);
    execv(words[count > 1], words + 1);
    return 1;
}
";

#[test]
fn who_gives_up_its_rights_and_executes_another_program_is_traced_on() {
    let program = compiled("unprivileged", UNPRIVILEGED);
    let words = ["/bin/sh", "-c", "/bin/true && exec /bin/true"].map(Path::new);
    let command = Command::new([&[program.as_path()], &words[..]].concat());
    for summary in succeeds_in_both_orders(&command) {
        assert_eq!(summary.warnings, [""; 0]);
    }
}

#[test]
fn no_folder_for_temporary_files_is_needed() {
    let words = ["sh", "-c", "cat /proc/self/cmdline | grep -aq '^cat'"];
    succeeds_in_both_orders(&Command {
        environment: vec![("TMPDIR".into(), "/no/such/folder".into())],
        ..Command::new(words)
    });
}

/// Program that exits with 0 if it gets no PID namespace, neither for a child nor by number, but
/// gets other namespaces.
const NAMESPACED: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
static int is_refused(long result)
{
    return result == -1 && errno == EPERM;
}
static int needs_stack(int depth)
{
    volatile char page[4096];
    page[0] = depth;
    return depth == 0 ? page[0] : needs_stack(depth - 1) + page[0] - depth;
}
int main(void)
{
    int own = open("/proc/self/ns/pid", O_RDONLY);
    return !is_refused(unshare(CLONE_NEWPID)) || !is_refused(syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0))
           || !is_refused(setns(own, 0)) || !is_refused(setns(own, CLONE_NEWPID))
           || (getuid() == 0 && unshare(CLONE_NEWUTS) != 0) || needs_stack(100);
}
"#;

#[test]
fn a_pid_namespace_is_refused_and_that_is_reported() {
    let command = Command::new([compiled("namespaced", NAMESPACED)]);
    for summary in succeeds_in_both_orders(&command) {
        assert_only_warning(&summary, "asked for a PID namespace");
    }
}

#[test]
fn a_program_with_its_callers_own_rights_is_traced_and_one_with_others_is_refused() {
    let program = scratch().join("with_rights");
    let mode = |mode| {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).expect("a file of ours")
    };
    let by_shell = ["sh", "-c", "\"$0\"", program.to_str().expect("text")];
    fs::copy("/bin/true", &program).expect("copied");
    for order in ORDERS {
        mode(0o6755);
        for words in [&by_shell[3..], &by_shell[..]] {
            let summary = succeeds(&Command::new(words.iter().copied()), order);
            assert_eq!(summary.warnings, [""; 0], "{order:?}");
        }
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&program, Some(65_534), None).expect("we are root");
            mode(0o4755);
            let summary = traced(&by_shell, order);
            std::os::unix::fs::chown(&program, Some(0), None).expect("we are root");
            assert_ne!(code(&summary, 0), Some(0), "{summary:?}");
            assert_only_warning(&summary, "with rights that its caller has not");
        }
    }
}

/// Program that disables the processor's time stamps, if it may, and exits with 0 if it reaches its
/// end.
const TIMELESS: &str = r"
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
    int is_barred = prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0, is_refused = !is_barred && errno == EINVAL;
    for (int i = 0; i < 100; i++)
        usleep(10);
    return !is_barred && !is_refused;
}
";

#[test]
fn a_program_that_bars_time_stamps_leaves_those_of_the_capture() {
    succeeds_in_both_orders(&Command::new([compiled("timeless", TIMELESS)]));
}

/// Program that exits with 0 if it may run on one CPU only but knows of all.
const CPUS: &str = r"
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
int main(int count, char **words)
{
    cpu_set_t allowed;
    if (count < 2 || sched_getaffinity(0, sizeof allowed, &allowed))
        return 1;
    return CPU_COUNT(&allowed) != 1 || get_nprocs() != atoi(words[1]);
}
";

#[test]
fn a_program_is_allowed_one_cpu_and_knows_of_all_of_the_machine() {
    let program = compiled("cpus", CPUS);
    let online = std::fs::read_to_string("/proc/stat").expect("counts");
    let online = online
        .lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
        .count()
        .to_string();
    let command = Command::new([program.as_os_str(), online.as_ref()]);
    for order in ORDERS {
        let cpu = switchcost_facts::allowed_cpus(&switchcost_facts::Root::system())
            .first()
            .copied();
        let options = Options {
            cpu,
            ..in_order(order)
        };
        let (summary, _) = in_time(|stop| recorded(std::slice::from_ref(&command), options, stop));
        assert_eq!(code(&summary, 0), Some(0), "{order:?}: {summary:?}");
    }
}
