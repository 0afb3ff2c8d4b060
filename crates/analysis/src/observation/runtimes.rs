//! Recognizes threads of language runtimes by their names.

use switchcost_record::observation::Tasks;

/// Role of threads in a language runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) runtime: &'static str,
    pub(super) role: &'static str,
}

/// Known language runtimes, roles of their threads, and prefixes of the threads' names. `#` stands
/// for digits at the beginning. The kernel stores 15 bytes of each name.
const KNOWN: [(&str, &str, &[&str]); 13] = [
    (
        "Java",
        "carriers of virtual threads, fork-join pools",
        &["ForkJoinPool-"],
    ),
    ("Java", "common fork-join pool", &["ForkJoinPool.co"]),
    (
        "Java",
        "garbage collectors",
        &["GC Thread#", "G1 ", "ZWorker", "ZDriver", "Shenandoah GC"],
    ),
    ("Java", "compilers", &["C1 CompilerThre", "C2 CompilerThre"]),
    ("tokio", "workers", &["tokio-runtime-w", "tokio-rt-worker"]),
    ("Node", "libuv's pool", &["libuv-worker"]),
    ("Node", "V8's workers", &["V8Worker", "DelayedTaskSche"]),
    ("Erlang", "schedulers", &["#_scheduler", "erts_sched_"]),
    (
        "Erlang",
        "dirty schedulers of computing",
        &["#_dirty_cpu_", "erts_dcpus_"],
    ),
    (
        "Erlang",
        "dirty schedulers of input and output",
        &["#_dirty_io_", "erts_dios_"],
    ),
    (
        ".NET",
        "thread pool",
        &[".NET TP Worker", ".NET ThreadPool", "Thread Pool Wor"],
    ),
    (".NET", "compilers", &[".NET Tiered Com"]),
    ("Haskell", "workers", &["ghc_worker"]),
];

pub(super) fn kind(tasks: &Tasks) -> Option<Kind> {
    if tasks.is_kernel {
        return None;
    }
    if tasks.runtime.as_deref() == Some("Go") {
        return Some(Kind {
            runtime: "Go",
            role: "threads (Ms)",
        });
    }
    let behind = tasks
        .name
        .trim_start_matches(|letter: char| letter.is_ascii_digit());
    let name = if behind.len() < tasks.name.len() {
        format!("#{behind}")
    } else {
        tasks.name.clone()
    };
    let is_it =
        |(_, _, begins): &&(_, _, &[&str])| begins.iter().any(|begin| name.starts_with(begin));
    KNOWN
        .iter()
        .find(is_it)
        .map(|(runtime, role, _)| Kind { runtime, role })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::tests::named;

    #[test]
    fn threads_are_known_by_how_their_names_begin() {
        for (name, runtime, role) in [
            (
                "ForkJoinPool-1-",
                "Java",
                "carriers of virtual threads, fork-join pools",
            ),
            ("tokio-runtime-w", "tokio", "workers"),
            ("12_scheduler", "Erlang", "schedulers"),
            (
                "10_dirty_io_sch",
                "Erlang",
                "dirty schedulers of input and output",
            ),
            ("libuv-worker", "Node", "libuv's pool"),
        ] {
            assert_eq!(
                kind(&named(name, 0)),
                Some(Kind { runtime, role }),
                "{name}"
            );
        }
        let go = Tasks {
            runtime: Some("Go".to_owned()),
            ..named("etcd", 0)
        };
        assert_eq!(kind(&go).map(|kind| kind.runtime), Some("Go"));
        for name in ["redis-server", "scheduler", "7", "", "tokio"] {
            assert_eq!(kind(&named(name, 0)), None, "{name}");
        }
    }
}
