//! Tests `observe` on common servers under their own load generators: its counts must equal the
//! kernel's.
//!
//! The programs are those of the distribution, from a folder that `SWITCHCOST_SERVICES` names
//! (scripts/services.sh).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, count, finished, is_root, items, text};
use serde_json::Value;

const UNDER_LOAD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/services/under_load.pl"
);

/// User without rights that every Debian has, because PostgreSQL does not run as root.
const NOBODY: &str = "65534";

const AS_NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

/// Returns the folder of the unpacked packages, which `SWITCHCOST_SERVICES` names; nothing, with a
/// message, if this variable is not set.
fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os("SWITCHCOST_SERVICES").map(PathBuf::from);
    if folder.is_none() {
        println!(
            "skipped: SWITCHCOST_SERVICES names no folder of servers; scripts/services.sh downloads them"
        );
    }
    folder
}

/// A server, and its load generator.
struct Service {
    /// Name of the server's processes in the kernel.
    name: &'static str,
    /// Address at which the server answers: a path, or a port of the loopback.
    socket: String,
    /// Name of the signal that asks the server to end.
    signal: &'static str,
    server: String,
    load: String,
}

fn libraries(packages: &Path) -> PathBuf {
    packages.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH))
}

/// Observes a service under load, all of whose processes begin and end during the observation.
/// Returns nothing, with a message, if the kernel accepts no BPF programs. The service works in a
/// folder and as the owner of that folder.
fn found(place: &Place, packages: &Path, service: &Service, folder: &Path) -> Option<Value> {
    let record = place.path("o.json");
    let mut command = place.command(("observe --no-calibration -d 60s --record", record));
    let owner = rustix::fs::stat(folder).expect("a folder").st_uid;
    command.arg("--");
    if owner.to_string() == NOBODY {
        command.args(AS_NOBODY).args(["--pdeathsig", "TERM"]);
    }
    let Service {
        socket,
        server,
        load,
        ..
    } = service;
    command.args(["perl", UNDER_LOAD, socket, service.signal, server, load]);
    command.env("LD_LIBRARY_PATH", libraries(packages));
    finished(command.current_dir(folder)).assert_code(0);
    let json = place.run("report o.json --format json").json();
    if json["source"] != "bpf" {
        println!("skipped: {}", json["not_counted_by"]);
        return None;
    }
    let mut processes = items(&json["processes"]).iter();
    assert!(processes.any(|it| it["name"] == service.name), "{json}");
    let reported = std::fs::read_to_string(folder.join("kernels"));
    check_counts(&reported.expect("what the kernel has counted"), &json);
    Some(json)
}

/// Checks the switches that the kernel has counted, by kind, except those at the ends of processes.
/// The last switch of an ended task may come later, because the task is preempted as it ends, or
/// continues after reading its own counts.
fn check_counts(reported: &str, json: &Value) {
    let reported = reported.split(' ').filter_map(|number| number.parse().ok());
    let reported: Vec<u64> = reported.collect();
    let [voluntary, involuntary] = reported[..] else {
        panic!("two numbers: {reported:?}")
    };
    let all = &json["all"];
    let [switches, observed, tasks] =
        ["switches", "involuntary", "tasks"].map(|name| count(&all[name]));
    for (what, reported, observed) in [
        ("voluntary", voluntary, switches - observed),
        ("involuntary", involuntary, observed),
    ] {
        // Rarely the kernel does not call the BPF program for a switch (docs/method/observing.md,
        // "Known limit").
        let range = reported - reported / 1000..=reported + reported / 1000 + tasks + 20;
        assert!(
            range.contains(&observed),
            "{what}: {observed} observed, {reported} by the kernel, {tasks} tasks"
        );
    }
    println!(
        "{switches} switches of {tasks} tasks, the kernel counts {}",
        voluntary + involuntary
    );
    let of_causes: u64 = items(&json["causes"])
        .iter()
        .map(|cause| count(&cause["switches"]))
        .sum();
    assert_eq!(of_causes, switches, "each has a cause");
    for (what, lost) in json["lost"].as_object().expect("counts") {
        assert!(
            count(lost) * 50 <= switches,
            "{what}: {lost} of {switches} found no room"
        );
    }
}

/// Returns the number of switches for the reason `why` and from the kernel entry `entry`.
fn switches(json: &Value, why: &str, entry: &str) -> u64 {
    let causes = items(&json["causes"]).iter();
    let is_it = |cause: &&Value| {
        cause["why"] == why && (cause["entry"] == entry || cause["entry"]["system-call"] == entry)
    };
    causes
        .filter(is_it)
        .map(|cause| count(&cause["switches"]))
        .sum()
}

/// Returns a port that was free at the time of the call.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("the loopback is there");
    listener.local_addr().expect("it is bound").port()
}

#[test]
fn nginx_under_wrk_waits_for_requests() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    let folder = text(place.folder());
    let port = free_port();
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};\n"))
        .concat();
    let user = if is_root() { "user root;" } else { "" };
    let settings = format!(
        "{user} daemon off; pid {folder}/pid; error_log stderr; worker_processes 2;
        events {{ worker_connections 256; }}
        http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port}; return 200 'answered'; }} }}"
    );
    std::fs::write(place.path("nginx.conf"), settings).expect("a file");
    let programs = packages.join("usr");
    let service = Service {
        name: "nginx",
        socket: port.to_string(),
        signal: "QUIT",
        server: format!(
            "{} -e stderr -p {folder} -c {folder}/nginx.conf",
            text(&programs.join("sbin/nginx"))
        ),
        load: format!(
            "{} -t 1 -c 16 -d 2s http://127.0.0.1:{port}/",
            text(&programs.join("bin/wrk"))
        ),
    };
    let Some(json) = found(&place, &packages, &service, place.folder()) else {
        return;
    };
    assert!(
        switches(&json, "blocked", "epoll_wait") > 100,
        "{}",
        json["causes"]
    );
    assert!(
        std::net::TcpStream::connect(("127.0.0.1", port)).is_err(),
        "no server is left"
    );
}

#[test]
fn redis_under_its_benchmark_waits_for_requests() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    let socket = text(&place.path("redis.sock")).to_owned();
    let programs = packages.join("usr/bin");
    let service = Service {
        name: "redis-server",
        socket: socket.clone(),
        signal: "TERM",
        server: format!(
            "{} --port 0 --unixsocket {socket} --save ''",
            text(&programs.join("redis-server"))
        ),
        load: format!(
            "{} -s {socket} -c 20 -n 50000 -t set,get -q",
            text(&programs.join("redis-benchmark"))
        ),
    };
    let Some(json) = found(&place, &packages, &service, place.folder()) else {
        return;
    };
    assert!(
        switches(&json, "blocked", "epoll_wait") > 1000,
        "{}",
        json["causes"]
    );
    assert!(!Path::new(&socket).exists(), "it has cleaned up");
}

#[test]
fn postgres_under_pgbench_is_preempted_wherever_it_runs() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    let versions =
        std::fs::read_dir(packages.join("usr/lib/postgresql")).expect("a folder for each version");
    let programs = versions
        .map(|entry| entry.expect("a folder").path().join("bin"))
        .next()
        .expect("a version");
    let folder = place.path("postgres");
    std::fs::create_dir(&folder).expect("a folder");
    let is_root = is_root();
    if is_root {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(place.folder(), open).expect("it is ours");
        std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).expect("as root");
    }
    let folder = text(&folder);
    let programs = text(&programs);
    let initdb = format!(
        "{programs}/initdb -D {folder}/data -U postgres -A trust --no-sync --locale C -E UTF8"
    );
    let mut command = Command::new(if is_root { AS_NOBODY[0] } else { "env" });
    if is_root {
        command.args(&AS_NOBODY[1..]);
    }
    command.args(["sh", "-c", &initdb]);
    finished(command.env("LD_LIBRARY_PATH", libraries(&packages))).assert_code(0);
    let service = Service {
        name: "postgres",
        socket: format!("{folder}/.s.PGSQL.5432"),
        signal: "INT",
        server: format!(
            "{programs}/postgres -D {folder}/data -k {folder} -c listen_addresses= -c fsync=off"
        ),
        // The service answers before it accepts connections.
        load: format!(
            "sh -c 'for i in 1 2 3 4 5 6 7 8 9; do {programs}/pgbench -h {folder} -U postgres -i -q postgres && break; sleep 0.2; done; \
             {programs}/pgbench -h {folder} -U postgres -n -c 16 -T 3 postgres'"
        ),
    };
    let Some(json) = found(&place, &packages, &service, Path::new(folder)) else {
        return;
    };
    // The service is preempted by its clients, wherever it is: in its own code, in system calls,
    // and in page faults.
    let preempted = |entry| switches(&json, "preempted-by-woken", entry);
    assert!(
        preempted("interrupt") > 100 && preempted("kill") + preempted("futex") > 100,
        "{}",
        json["causes"]
    );
    assert!(
        preempted("page-fault") > 0 || !cfg!(target_arch = "x86_64"),
        "{}",
        json["causes"]
    );
    assert!(
        switches(&json, "blocked", "epoll_wait") > 1000,
        "{}",
        json["causes"]
    );
}
