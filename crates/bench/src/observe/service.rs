//! Servers that people run, on one CPU, with more to do than they can: redis, nginx and PostgreSQL, each with a load from another CPU.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::CPU;

/// How a server is set up and loaded: lines for `sh` in a folder of its own, in which `$packages` is the folder of the downloaded
/// servers, `$port` is a free port, `$server` begins the command of the server, and `$load` that of its load.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The system call by which its processes answer.
    pub(super) call: &'static str,
    prepare: &'static str,
    server: &'static str,
    /// This file is there when it answers.
    ready: &'static str,
    fill: &'static str,
    load: &'static str,
    /// Whether the load writes a log, of which each line has the second and the microsecond in the fifth and sixth column. Else the work
    /// is what the server's processes write.
    has_log: bool,
}

pub(super) const KINDS: [Kind; 3] = [
    Kind {
        name: "redis",
        // Replies to 300 requests are in several buffers.
        call: "writev",
        prepare: "",
        server: "$server $packages/usr/bin/redis-server --port 0 --save '' --unixsocket $PWD/redis.sock",
        ready: "redis.sock",
        fill: "$load $packages/usr/bin/redis-benchmark -s $PWD/redis.sock -q -r 50000 -d 64 -t set -n 300000 -P 100",
        load: "$load $packages/usr/bin/redis-benchmark -s $PWD/redis.sock -q -r 50000 -d 64 -t get -n 1000000000 -P 300 -c 4",
        has_log: false,
    },
    Kind {
        name: "nginx",
        call: "writev",
        prepare: r#"switchcost-bench --text 65536 > text.html
paths=$(for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $PWD/$kind;"; done)
cat > nginx.conf << END
user root; daemon off; pid $PWD/pid; error_log stderr; worker_processes 1;
events { worker_connections 64; }
http { access_log off; $paths gzip on; gzip_types *; server { listen 127.0.0.1:$port; root $PWD; } }
END"#,
        server: "$server $packages/usr/sbin/nginx -e stderr -p $PWD -c $PWD/nginx.conf",
        ready: "pid",
        fill: "",
        load: "$load $packages/usr/bin/wrk -t 1 -c 4 -d 120s -H 'Accept-Encoding: gzip' http://127.0.0.1:$port/text.html",
        has_log: false,
    },
    Kind {
        name: "postgres",
        call: "sendto",
        // PostgreSQL does not run as root.
        prepare: r#"chown 65534:65534 .
ln -s $packages/usr/lib/postgresql/*/bin programs
cat > query.sql << END
\set from random(1, 190000)
select sum(abalance) from pgbench_accounts where aid between :from and :from + 1000;
END
$load $nobody programs/initdb -D data -U postgres -A trust --no-sync --locale C -E UTF8"#,
        server: "$server $nobody programs/postgres -D data -k $PWD -c listen_addresses= -c fsync=off -c max_parallel_workers_per_gather=0",
        ready: ".s.PGSQL.5432",
        fill: "$load $nobody programs/pgbench -h $PWD -U postgres -i -q -s 2 postgres",
        load: "$load $nobody programs/pgbench -h $PWD -U postgres -n -M prepared -c 4 -T 120 -l -f query.sql postgres",
        has_log: true,
    },
];

/// A server under load.
pub(super) struct Service {
    pub(super) kind: &'static Kind,
    // In the order in which they end.
    load: Option<OwnedProcess>,
    server: OwnedProcess,
    folder: TempDir,
}

/// What all processes of a server have used so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    at: Duration,
    pub(super) cpu_ns: f64,
    pub(super) switches: f64,
    written: f64,
}

impl Service {
    pub(super) fn start(kind: &'static Kind, packages: &Path) -> Result<Service, String> {
        let text = |error: std::io::Error| error.to_string();
        let folder = tempfile::tempdir().map_err(text)?;
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.map_err(text)?.port().to_string();
        let pinned = |cpu: &str| format!("setpriv --pdeathsig KILL taskset -c {cpu}");
        let libraries = packages.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        let own = std::env::current_exe().map_err(text)?.with_file_name("");
        let line = |line: &str| {
            let mut command = Command::new("sh");
            command
                .args(["-c", &format!("PATH=$own:$PATH\n{line}")])
                .current_dir(folder.path())
                .env("own", &own)
                .env("packages", packages)
                .env("port", &port)
                .env("server", format!("exec {}", pinned(CPU)))
                .env("load", format!("exec {}", pinned("0")))
                .env(
                    "nobody",
                    "setpriv --reuid 65534 --regid 65534 --clear-groups --pdeathsig KILL",
                )
                .env("LD_LIBRARY_PATH", &libraries)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command
        };
        line(kind.prepare).status().map_err(text)?;
        let server = OwnedProcess(line(kind.server).spawn().map_err(text)?);
        wait_for(&folder.path().join(kind.ready))?;
        line(kind.fill).status().map_err(text)?;
        let load = Some(OwnedProcess(line(kind.load).spawn().map_err(text)?));
        sleep(Duration::from_secs(1));
        Ok(Service {
            kind,
            load,
            server,
            folder,
        })
    }

    /// The processes of the server.
    pub(super) fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let parents: Vec<(u32, u32)> = entries.filter_map(parent).collect();
        let mut all = vec![self.server.0.id()];
        let mut at = 0;
        while let Some(&process) = all.get(at) {
            let children = parents.iter().filter(|(_, parent)| *parent == process);
            all.extend(children.map(|(child, _)| child));
            at += 1;
        }
        all
    }

    pub(super) fn used(&self) -> Used {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut used = Used {
            at: at.unwrap_or_default(),
            ..Used::default()
        };
        for process in self.processes() {
            let read = |name: &str| {
                fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default()
            };
            used.cpu_ns += value(&read("schedstat"), "");
            used.written += value(&read("io"), "wchar:");
            let status = read("status");
            used.switches += value(&status, "voluntary_ctxt_switches:")
                + value(&status, "nonvoluntary_ctxt_switches:");
        }
        used
    }

    /// Pieces of work done between two looks.
    pub(super) fn work(&self, from: &Used, to: &Used) -> f64 {
        if self.kind.has_log {
            count_logged(self.folder.path(), from.at, to.at)
        } else {
            to.written - from.written
        }
    }

    /// Ends the load, which then has written all of its log.
    pub(super) fn end_load(&mut self) {
        self.load = None;
    }
}

/// A process that is interrupted when it is dropped, and waited for.
struct OwnedProcess(Child);

impl Drop for OwnedProcess {
    fn drop(&mut self) {
        let _ = Command::new("kill")
            .args(["-INT", &self.0.id().to_string()])
            .output();
        let _ = self.0.wait();
    }
}

fn wait_for(path: &Path) -> Result<(), String> {
    for _ in 0..100 {
        if path.exists() {
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

/// The number after a word at the beginning of a line.
fn value(text: &str, name: &str) -> f64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    let number = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0.0)
}

fn count_logged(folder: &Path, from: Duration, to: Duration) -> f64 {
    let time = |line: &str| {
        let mut words = line.split(' ').skip(4);
        let seconds = words.next()?.parse().ok()?;
        let micros: u32 = words.next()?.parse().ok()?;
        Some(Duration::new(seconds, micros.checked_mul(1_000)?))
    };
    let mut count = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("pgbench_log")
        {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            let times = text.lines().filter_map(time);
            count += times.filter(|time| (from..to).contains(time)).count();
        }
    }
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_in_its_window() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = "0 1 90 0 10 999999\n0 2 90 0 11 5\n1 1 80 0 12 0\nbroken\n";
        fs::write(folder.path().join("pgbench_log.7"), log).expect("room");
        let [from, to] = [11, 12].map(Duration::from_secs);
        assert_eq!(count_logged(folder.path(), from, to), 1.0);
        assert_eq!(value("a: 1\nab:\t12 3\n", "ab:"), 12.0);
        assert_eq!(value("57 8 9\n", ""), 57.0);
    }
}
