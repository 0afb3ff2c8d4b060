//! Tests building the tool with one Valgrind, again with another, and without options that only
//! some versions support.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

const HEADERS: &str = "usr/include/valgrind";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu/valgrind";
const CORE: &str = "libcoregrind-amd64-linux.a";

fn make(words: &[String]) -> Output {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../capture/valgrind");
    Command::new("make")
        .arg("-C")
        .arg(sources)
        .args(words)
        .output()
        .expect("make runs")
}

/// Builds the tool in a folder of `root`, with the Valgrind that `root` contains.
fn make_in(root: &Path) -> Output {
    make(&[
        format!("OUT={}", root.join("out").display()),
        format!("ROOT={}", root.display()),
    ])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes a root folder with the texts `headers` and `core` in place of a Valgrind's headers and
/// core.
fn root(headers: &str, core: &str) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (folder, file, content) in [
        (HEADERS, "pub_tool_basics.h", ""),
        (HEADERS, "valgrind.h", headers),
        (LIBRARIES, CORE, core),
    ] {
        fs::create_dir_all(root.path().join(folder)).expect("folders");
        fs::write(root.path().join(folder).join(file), content).expect("a file");
    }
    root
}

#[test]
fn headers_and_a_core_of_two_versions_are_refused() {
    let root = root(
        "#define __VALGRIND_MAJOR__    3\n#define __VALGRIND_MINOR__    98\n",
        "\0valgrind-3.99.0\0",
    );
    let made = make_in(root.path());
    assert!(!made.status.success());
    let expected = "switchcost: found headers of Valgrind 3.98 and a core that calls itself 'valgrind-3.99.', need both of \
                    one version; apt-get install --reinstall valgrind\n";
    assert!(
        text(&made.stderr).contains(expected),
        "{}",
        text(&made.stderr)
    );
}

#[test]
fn machine_code_at_exits_is_left_out_where_the_version_is_not_known_to_bear_it() {
    let out = tempfile::tempdir().expect("a folder");
    let planned = |version: &str| {
        let words = [
            "--dry-run",
            "FAST_EXITS=yes",
            &format!("VERSION={version}"),
            &format!("CORE_VERSION=valgrind-{version}."),
        ]
        .map(str::to_owned);
        let made = make(&[&words[..], &[format!("OUT={}", out.path().display())]].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
        (text(&made.stdout), text(&made.stderr))
    };
    let (commands, warnings) = planned("3.26");
    assert!(
        commands.contains("exits.c") && commands.contains("liveness.c"),
        "{commands}"
    );
    assert!(!warnings.contains("FAST_EXITS"), "{warnings}");
    let (commands, warnings) = planned("3.27");
    assert!(
        commands.contains("superblocks.c") && !commands.contains("exits.c"),
        "{commands}"
    );
    assert!(
        !commands.contains("liveness.c") && !commands.contains("emit_AMD64Instr"),
        "{commands}"
    );
    assert!(
        warnings.contains("the tool is built without FAST_EXITS"),
        "{warnings}"
    );
}

/// Copies the installed Valgrind into a folder, with libraries that the test may change.
fn copied_root() -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (folder, is_linked) in [
        (HEADERS, true),
        ("usr/libexec/valgrind", true),
        (LIBRARIES, false),
    ] {
        let (from, to) = (Path::new("/").join(folder), root.path().join(folder));
        fs::create_dir_all(to.parent().expect("a parent")).expect("folders");
        if is_linked {
            symlink(from, to).expect("a link");
            continue;
        }
        fs::create_dir(&to).expect("a folder");
        for file in [CORE, "libvex-amd64-linux.a", "libgcc-sup-amd64-linux.a"] {
            fs::copy(from.join(file), to.join(file)).expect("a copy");
        }
    }
    root
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn another_build_of_the_same_valgrind_links_the_tool_again() {
    let root = copied_root();
    let build = || {
        let made = make_in(root.path());
        assert!(made.status.success(), "{}", text(&made.stderr));
        let tool = root.path().join("out/switchcost-amd64-linux");
        tool.metadata()
            .and_then(|tool| tool.modified())
            .expect("a tool")
    };
    let first = build();
    assert_eq!(build(), first, "nothing has changed");
    // A package keeps the time at which it was made, which may be long ago.
    let core = File::options()
        .append(true)
        .open(root.path().join(LIBRARIES).join(CORE))
        .expect("a file of ours");
    core.set_modified(SystemTime::now() - Duration::from_secs(86_400))
        .expect("a file of ours");
    assert_ne!(build(), first);
}
