//! Tests programs of several languages and their runtimes: each trace is sound in both orders, and
//! each program's output is the same as without tracing.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::atomic::AtomicBool;

use switchcost_capture::{Command, Options, Order, Tool};

use super::support::{code, compiled, in_order, recorded, scratch, tool};

/// Returns the file to which every program writes its output.
fn output() -> PathBuf {
    scratch().join("said")
}

/// Checks that a shell command writes the same output alone and traced in both orders.
fn says_the_same(name: &str, command: &str) {
    let file = output().with_extension(name);
    let script = format!("({command}) > {}", file.display());
    let said = || std::fs::read_to_string(&file).unwrap_or_default();
    let alone = Process::new("sh")
        .args(["-c", &script])
        .status()
        .expect("sh runs");
    let expected = said();
    assert!(
        alone.success() && !expected.is_empty(),
        "{name} by itself: {alone}"
    );
    for order in [Order::default(), Order::AsRun] {
        let _ = std::fs::remove_file(&file);
        let command = Command::new(["sh", "-c", &script]);
        let (summary, _) = recorded(&[command], in_order(order), &AtomicBool::new(false));
        assert_eq!(code(&summary, 0), Some(0), "{name}, {order:?}: {summary:?}");
        assert_eq!(said(), expected, "{name}, {order:?}");
    }
}

fn written(name: &str, source: &str) -> PathBuf {
    let folder = scratch().join("languages");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(name), source).expect("written");
    folder.join(name)
}

fn made(compiler: &str, arguments: &[&str], at: &Path) {
    let made = Process::new(compiler)
        .args(arguments)
        .current_dir(at)
        .status()
        .expect("it runs");
    assert!(made.success(), "{compiler} {arguments:?}");
}

const RUST: &str = r#"
use std::sync::mpsc::channel;
fn main() {
    let (give, take) = channel();
    for thread in 0..3_u64 {
        let give = give.clone();
        std::thread::spawn(move || (0..200).for_each(|i| give.send(thread * i).expect("the receiver listens")));
    }
    drop(give);
    println!("{}", take.iter().sum::<u64>());
}
"#;

const PYTHON: &str = "import threading, queue
q = queue.Queue()
threads = [threading.Thread(target=lambda n: [q.put(n * i) for i in range(50)], args=(n,)) for n in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sum(q.queue))
";

const GO: &str = r#"
package main
import "fmt"
func main() {
	c := make(chan int)
	for i := 0; i < 4; i++ {
		go func(i int) { s := 0; for j := 0; j < 3000000; j++ { s += j % (i + 3) }; c <- s }(i)
	}
	s := 0
	for i := 0; i < 4; i++ { s += <-c }
	fmt.Println(s)
}
"#;

const JAVA: &str = r#"
public class Sums {
    static int sum(int n) { int s = 0; for (int i = 0; i < 100000; i++) s += i % n; return s; }
    public static void main(String[] words) {
        System.out.println(java.util.stream.IntStream.range(3, 9).parallel().map(Sums::sum).sum());
    }
}
"#;

const NODE: &str = "const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) new Worker(__filename).on('message', sum => console.log(sum));
else { let sum = 0; for (let i = 0; i < 100000; i++) sum += i % 7; parentPort.postMessage(sum); }
";

fn is_there(program: &str) -> bool {
    let is_there = Process::new(program)
        .arg(if program == "go" {
            "version"
        } else {
            "--version"
        })
        .output()
        .is_ok();
    if !is_there {
        eprintln!("skipped: found no {program}");
    }
    is_there
}

fn rust() -> String {
    let source = written("channels.rs", RUST);
    made(
        "rustc",
        &["-o", "channels", "channels.rs"],
        source.parent().expect("a folder"),
    );
    source.with_extension("").display().to_string()
}

/// Creates a script with this first line, which prints the name and the words that it gets.
fn script(name: &str, first: &str) {
    let path = written(name, &format!("{first}\necho \"$0\" \"$-\" \"$@\"\n"));
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a file of ours");
}

#[test]
fn scripts_of_any_first_line_say_the_same_as_alone() {
    let folder = scratch().join("languages");
    script("plain", "#!/bin/sh");
    script("blanks", "#! \t/bin/sh  -e \t");
    script("blank", "#!/bin/sh ");
    let plain = folder.join("plain").display().to_string();
    script("nested", &format!("#!{plain} one two "));
    script("twice", &format!("#!{}/nested", folder.display()));
    script("missing", "#!/nonexistent/sh");
    script("lines-of-windows", "#!/bin/sh\r");
    let calls = "./plain 1; ./blanks 2; ./blank; ./nested 3; ./twice 4; ./missing || echo $?; ./lines-of-windows || echo $?";
    says_the_same(
        "scripts",
        &format!("cd {}; {calls}; {plain}", folder.display()),
    );
}

/// Program that starts programs that exist and others, and prints what it is told.
const SPAWNS: &str = r#"
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
extern char **environ;
int main(void)
{
    const char *paths[] = { "/bin/true", "/nonexistent/true", "/etc/passwd", "/bin/false" };
    for (int i = 0; i < 60; i++) {
        char *words[] = { "x", NULL };
        pid_t child;
        int status = -1, error = posix_spawn(&child, paths[i < 8 ? i % 4 : 1], NULL, NULL, words, environ);
        if (error == 0)
            waitpid(child, &status, 0);
        printf("%d %d\n", error, status);
    }
    return 0;
}
"#;

#[test]
fn who_spawns_what_does_not_exist_is_told_so() {
    let program = compiled("spawns", SPAWNS);
    says_the_same("spawns", &program.display().to_string());
}

/// Program that prints whether it has slept while it closed descriptors that are not open.
const CLOSES: &str = r#"
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
int main(void)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int file = 1000; file < 11000; file++)
        close(file);
    getrusage(RUSAGE_SELF, &after);
    puts(after.ru_nvcsw - before.ru_nvcsw < 1000 ? "awake" : "asleep");
    return 0;
}
"#;

#[test]
fn who_closes_what_is_not_open_does_not_wait_for_the_controller() {
    let program = compiled("closes", CLOSES);
    says_the_same("closes", &program.display().to_string());
}

#[test]
fn the_folder_of_the_tool_may_have_blanks_and_colons_in_its_name() {
    let folder = scratch().join("a folder: of ours");
    let copied = Process::new("cp")
        .arg("-rT")
        .arg(&tool().folder)
        .arg(&folder)
        .status();
    assert!(copied.expect("cp runs").success());
    let output = scratch().join("environment");
    let command = Command::new(["sh", "-c", &format!("env > {} 2>&1", output.display())]);
    let options = Options {
        tool: Tool::new(folder),
        ..in_order(Order::default())
    };
    let (summary, _) = recorded(&[command], options, &AtomicBool::new(false));
    assert_eq!(code(&summary, 0), Some(0), "{summary:?}");
    let said = std::fs::read_to_string(output).expect("written");
    assert!(
        said.contains("PATH=") && !said.contains("vgpreload"),
        "{said}"
    );
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn programs_in_rust_and_python_say_the_same_as_alone() {
    let python = written("threads.py", PYTHON);
    says_the_same("rust", &rust());
    says_the_same("python", &format!("python3 -I -S {}", python.display()));
}

#[test]
#[ignore = "some runtimes take minutes: cargo test --test programs -- --ignored"]
fn ten_programs_in_seven_languages_say_the_same_as_alone_in_both_orders() {
    let inputs = "/etc/services /etc/protocols /etc/passwd";
    says_the_same(
        "gzip",
        &format!("cat {inputs} | gzip -c | gzip -dc | cksum"),
    );
    says_the_same("sort", "sort --parallel=2 -S 1M /etc/passwd | uniq -c");
    says_the_same(
        "awk",
        &format!("cat {inputs} | awk -F: '{{ n[$1]++ }} END {{ print length(n) }}'"),
    );
    says_the_same("tar", "tar -C /etc -cf - passwd group | tar -tf -");
    programs_in_rust_and_python_say_the_same_as_alone();
    says_the_same(
        "bash",
        "bash -c 'f() { echo $(( $1 * 2 )); }; for i in 1 2 3; do f $i | sed s/^/x/; done; wait'",
    );
    let (go, node) = (written("sums.go", GO), written("sums.js", NODE));
    let folder = go.parent().expect("a folder");
    written("Sums.java", JAVA);
    if is_there("go") {
        made("go", &["build", "-o", "sums", "sums.go"], folder);
        says_the_same("go", &go.with_extension("").display().to_string());
    }
    if is_there("javac") {
        made("javac", &["Sums.java"], folder);
        says_the_same("java", &format!("java -cp {} Sums", folder.display()));
    }
    if is_there("node") {
        says_the_same("node", &format!("node {}", node.display()));
    }
}
