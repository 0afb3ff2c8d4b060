//! Servers that people run, on one CPU, with more to do than they can: redis, nginx and PostgreSQL, each with a load from another CPU.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::observed::CPU;

/// The CPU of the load.
const OTHER: &str = "0";

/// A user without rights: PostgreSQL does not run as root.
const NOBODY: &str = "65534";

/// A server under load.
pub(super) struct Service {
    pub(super) name: &'static str,
    /// The system call by which its processes answer.
    pub(super) call: &'static str,
    server: Child,
    load: Option<Child>,
    work: Work,
}

/// How what was done is counted.
enum Work {
    /// By what the server's processes wrote.
    Written,
    /// By the lines of a log of the load, of which each has the second and the microsecond in the fifth and sixth column.
    Log(PathBuf),
}

/// What all processes of a server have used so far.
#[derive(Clone, Debug)]
pub(super) struct Used {
    at: Duration,
    pub(super) cpu_ns: f64,
    pub(super) switches: f64,
    written: f64,
}

impl Service {
    pub(super) fn redis(packages: &Path, folder: &Path) -> Result<Service, String> {
        let socket = folder.join("redis.sock");
        let programs = packages.join("usr/bin");
        let mut server = on(CPU, packages, folder, &programs.join("redis-server"));
        server
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(&socket);
        // Replies to 300 requests are in several buffers.
        let service = Service {
            name: "redis",
            call: "writev",
            server: start(server)?,
            load: None,
            work: Work::Written,
        };
        until(|| UnixStream::connect(&socket).is_ok())?;
        let benchmark = |words: &[&str]| {
            let mut load = on(OTHER, packages, folder, &programs.join("redis-benchmark"));
            load.arg("-s")
                .arg(&socket)
                .args(["-q", "-r", "50000", "-d", "64"])
                .args(words);
            load
        };
        benchmark(&["-t", "set", "-n", "300000", "-P", "100"])
            .output()
            .map_err(|error| error.to_string())?;
        service.under(benchmark(&[
            "-t",
            "get",
            "-n",
            "1000000000",
            "-P",
            "300",
            "-c",
            "4",
        ]))
    }

    pub(super) fn nginx(packages: &Path, folder: &Path) -> Result<Service, String> {
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = listener.map_err(|error| error.to_string())?.port();
        let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {}/{name};\n", folder.display()))
            .concat();
        let settings = format!(
            "user root; daemon off; pid {0}/pid; error_log stderr; worker_processes 1;
            events {{ worker_connections 64; }}
            http {{ access_log off; {paths} gzip on; gzip_types *; server {{ listen 127.0.0.1:{port}; root {0}; }} }}",
            folder.display()
        );
        let file = |name: &str| folder.join(name);
        let text = crate::input::write_text(&file("text.html"), 64 << 10);
        text.and_then(|()| fs::write(file("nginx.conf"), settings))
            .map_err(|error| error.to_string())?;
        let mut server = on(CPU, packages, folder, &packages.join("usr/sbin/nginx"));
        server
            .args(["-e", "stderr", "-p"])
            .arg(folder)
            .arg("-c")
            .arg(file("nginx.conf"));
        let service = Service {
            name: "nginx",
            call: "writev",
            server: start(server)?,
            load: None,
            work: Work::Written,
        };
        until(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        let mut load = on(OTHER, packages, folder, &packages.join("usr/bin/wrk"));
        load.args([
            "-t",
            "1",
            "-c",
            "4",
            "-d",
            "120s",
            "-H",
            "Accept-Encoding: gzip",
        ]);
        load.arg(format!("http://127.0.0.1:{port}/text.html"));
        service.under(load)
    }

    pub(super) fn postgres(packages: &Path, folder: &Path) -> Result<Service, String> {
        let versions =
            fs::read_dir(packages.join("usr/lib/postgresql")).map_err(|error| error.to_string())?;
        let programs = versions
            .flatten()
            .map(|entry| entry.path().join("bin"))
            .next()
            .ok_or("no PostgreSQL")?;
        let program = |name: &str| as_nobody(&programs.join(name));
        let data = folder.join("data");
        std::os::unix::fs::chown(folder, Some(65534), Some(65534))
            .map_err(|error| error.to_string())?;
        let mut made = on(OTHER, packages, folder, Path::new("setpriv"));
        made.args(program("initdb")).arg("-D").arg(&data);
        made.args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-sync",
            "--locale",
            "C",
            "-E",
            "UTF8",
        ]);
        made.output().map_err(|error| error.to_string())?;
        let mut server = on(CPU, packages, folder, Path::new("setpriv"));
        server
            .args(program("postgres"))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder);
        server.args([
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
            "-c",
            "max_parallel_workers_per_gather=0",
        ]);
        let service = Service {
            name: "postgres",
            call: "sendto",
            server: start(server)?,
            load: None,
            work: Work::Log(folder.into()),
        };
        until(|| UnixStream::connect(folder.join(".s.PGSQL.5432")).is_ok())?;
        let pgbench = |words: &[&str]| {
            let mut load = on(OTHER, packages, folder, Path::new("setpriv"));
            load.args(program("pgbench"))
                .arg("-h")
                .arg(folder)
                .args(["-U", "postgres"])
                .args(words)
                .arg("postgres");
            load
        };
        pgbench(&["-i", "-q", "-s", "2"])
            .output()
            .map_err(|error| error.to_string())?;
        let query = "\\set from random(1, 190000)\n\
                     select sum(abalance) from pgbench_accounts where aid between :from and :from + 1000;\n";
        let script = folder.join("query.sql");
        fs::write(&script, query).map_err(|error| error.to_string())?;
        let script = script.display().to_string();
        service.under(pgbench(&[
            "-n", "-M", "prepared", "-c", "4", "-T", "120", "-l", "-f", &script,
        ]))
    }

    fn under(mut self, load: Command) -> Result<Service, String> {
        self.load = Some(start(load)?);
        sleep(Duration::from_secs(1));
        Ok(self)
    }

    /// The processes of the server.
    pub(super) fn processes(&self) -> Vec<u32> {
        let mut all = vec![self.server.id()];
        let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(parent)
            .collect();
        let mut at = 0;
        while let Some(&process) = all.get(at) {
            all.extend(
                parents
                    .iter()
                    .filter(|(_, parent)| *parent == process)
                    .map(|(child, _)| child),
            );
            at += 1;
        }
        all
    }

    pub(super) fn used(&self) -> Used {
        let at = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let mut used = Used {
            at,
            cpu_ns: 0.0,
            switches: 0.0,
            written: 0.0,
        };
        for process in self.processes() {
            let read = |name: &str| {
                fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default()
            };
            used.cpu_ns += read("schedstat")
                .split(' ')
                .next()
                .and_then(|ns| ns.parse().ok())
                .unwrap_or(0.0);
            used.written += value(&read("io"), "wchar:");
            let status = read("status");
            used.switches += value(&status, "voluntary_ctxt_switches:")
                + value(&status, "nonvoluntary_ctxt_switches:");
        }
        used
    }

    /// Pieces of work done between two looks.
    pub(super) fn done(&self, from: &Used, to: &Used) -> f64 {
        match &self.work {
            Work::Written => to.written - from.written,
            Work::Log(folder) => logged(folder, from.at, to.at),
        }
    }

    /// Ends the load, which then has written all of its log.
    pub(super) fn end_load(&mut self) {
        if let Some(mut load) = self.load.take() {
            terminate(&load);
            let _ = load.wait();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end_load();
        terminate(&self.server);
        let _ = self.server.wait();
    }
}

fn terminate(child: &Child) {
    let _ = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .output();
}

/// A program on one CPU, which ends with this one.
fn on(cpu: &str, packages: &Path, folder: &Path, program: &Path) -> Command {
    let libraries = packages.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "taskset", "-c", cpu])
        .arg(program);
    command
        .env("LD_LIBRARY_PATH", libraries)
        .current_dir(folder);
    command
}

/// Words behind `setpriv`.
fn as_nobody(program: &Path) -> Vec<String> {
    let words = [
        "--reuid",
        NOBODY,
        "--regid",
        NOBODY,
        "--clear-groups",
        "--pdeathsig",
        "KILL",
    ];
    words
        .map(str::to_owned)
        .into_iter()
        .chain([program.display().to_string()])
        .collect()
}

fn start(mut command: Command) -> Result<Child, String> {
    let silent = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    silent
        .spawn()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))
}

fn until(answers: impl Fn() -> bool) -> Result<(), String> {
    for _ in 0..100 {
        if answers() {
            return Ok(());
        }
        sleep(Duration::from_millis(100));
    }
    Err("the server does not answer".to_owned())
}

/// A process and its parent.
fn parent(entry: fs::DirEntry) -> Option<(u32, u32)> {
    let process = entry.file_name().to_str()?.parse().ok()?;
    let status = fs::read_to_string(entry.path().join("status")).ok()?;
    Some((process, value(&status, "PPid:") as u32))
}

/// The number behind a word at the beginning of a line.
fn value(text: &str, name: &str) -> f64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    rest.and_then(|rest| rest.trim().parse().ok())
        .unwrap_or(0.0)
}

fn logged(folder: &Path, from: Duration, to: Duration) -> f64 {
    let is_log = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("pgbench_log"))
    };
    let logs = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(is_log);
    let text: String = logs
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    let at = |line: &str| {
        let mut words = line.split(' ').skip(4);
        Some(Duration::new(
            words.next()?.parse().ok()?,
            words.next()?.parse::<u32>().ok()?.checked_mul(1_000)?,
        ))
    };
    text.lines()
        .filter_map(at)
        .filter(|at| (from..to).contains(at))
        .count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_in_its_window() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(
            folder.path().join("pgbench_log.7"),
            "0 1 90 0 10 999999\n0 2 90 0 11 5\n1 1 80 0 12 0\nbroken\n",
        )
        .expect("room");
        assert_eq!(
            logged(
                folder.path(),
                Duration::from_secs(11),
                Duration::from_secs(12)
            ),
            1.0
        );
        assert_eq!(value("a: 1\nab:\t12\n", "ab:"), 12.0);
    }
}
