use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use switchcost_facts::Root;
use switchcost_host::machine::manifest;
use switchcost_record::observation::Subject;
use tempfile::TempDir;

use super::*;
use crate::totals::Totals;

/// A simulated machine of files whose time passes only in pauses, with scripted events.
struct Script {
    folder: TempDir,
    now: Nanos,
    events: BTreeMap<u64, Step>,
    observed: Vec<Vec<u32>>,
    threads: Vec<Vec<u32>>,
    alive: BTreeSet<u32>,
}

type Step = Box<dyn Fn(&mut Script)>;

impl Script {
    fn new() -> Script {
        let folder = tempfile::tempdir().expect("a folder");
        Script {
            folder,
            now: Nanos::seconds(100),
            events: BTreeMap::new(),
            observed: Vec::new(),
            threads: Vec::new(),
            alive: BTreeSet::new(),
        }
    }

    /// Creates a machine with one process, number 7, whose name is `a`.
    fn with_process_7() -> Script {
        let mut script = Script::new();
        script.process(7, "a");
        script
    }

    /// Creates a machine with control groups, and with process number 7 in `group`.
    fn with_process_7_in(group: &str) -> Script {
        let script = Script::with_process_7();
        let mounts = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        script.file("/proc/self/mountinfo", mounts);
        script.file("/proc/7/cgroup", &format!("0::/{group}\n"));
        script
    }

    fn root(&self) -> Root {
        Root::new(self.folder.path())
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn process(&mut self, number: u32, name: &str) {
        self.file(
            &format!("/proc/{number}/stat"),
            &format!("{number} ({name}) S 1"),
        );
        self.file(
            &format!("/proc/{number}/status"),
            &format!("Name:\t{name}\nTgid:\t{number}\n"),
        );
        self.file(&format!("/proc/{number}/comm"), &format!("{name}\n"));
        self.alive.insert(number);
    }

    /// Sets the number of a task's switches, half of them voluntary.
    fn switched(&self, number: u32, times: u64) {
        let status = format!(
            "Name:\ta\nTgid:\t{number}\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n",
            times / 2,
            times.div_ceil(2)
        );
        self.file(&format!("/proc/{number}/task/{number}/status"), &status);
    }

    fn end(&mut self, number: u32) {
        self.alive.remove(&number);
        fs::remove_dir_all(self.folder.path().join(format!("proc/{number}")))
            .expect("it was there");
    }

    /// Creates a control group of version 2 with these threads, throttled `throttled` times for a
    /// millisecond each.
    fn group(&self, name: &str, threads: &str, throttled: u64) {
        let folder = format!("/sys/fs/cgroup/{name}");
        self.file(&format!("{folder}/cgroup.procs"), "");
        self.file(&format!("{folder}/cgroup.threads"), threads);
        let stat = format!(
            "nr_throttled {throttled}\nthrottled_usec {}\n",
            throttled * 1000
        );
        self.file(&format!("{folder}/cpu.stat"), &stat);
    }

    /// Adds an event `ms` milliseconds after the start.
    fn at(mut self, ms: u64, step: impl Fn(&mut Script) + 'static) -> Script {
        self.events
            .insert(self.now.0 + ms * 1_000_000, Box::new(step));
        self
    }
}

impl Backend for &mut Script {
    fn now(&self) -> Nanos {
        self.now
    }

    fn pause(&mut self, time: Nanos) {
        self.now.0 += time.0.max(1);
        let later = self.events.split_off(&(self.now.0 + 1));
        for (_, step) in std::mem::replace(&mut self.events, later) {
            step(self);
        }
    }

    fn own_cpu_time(&self) -> Nanos {
        Nanos(self.now.0 / 100)
    }

    fn add(&mut self, processes: &[u32]) -> Result<(), NoBpf> {
        self.observed.push(processes.to_vec());
        Ok(())
    }

    fn add_threads(&mut self, threads: &[u32]) -> Result<(), NoBpf> {
        self.threads.push(threads.to_vec());
        Ok(())
    }

    fn add_all(&mut self) {}

    fn tick(&mut self) {}

    fn take_events(&mut self, _: &mut dyn FnMut(Event)) {}

    fn processes(&self) -> BTreeSet<u32> {
        self.alive.clone()
    }

    fn totals(&self) -> Totals {
        Totals {
            voluntary: self.now.0 / 1_000_000,
            ..Totals::default()
        }
    }

    fn snapshot(&mut self) -> Result<Observation, NoBpf> {
        Ok(Observation::empty(manifest(&self.root()), String::new()))
    }

    fn finish(mut self) -> Result<Observation, NoBpf> {
        self.snapshot()
    }
}

/// A listener that stores messages.
#[derive(Default)]
struct Said(Vec<String>);

impl Listener for Said {
    type Error = ObserveError;

    fn should_stop(&self) -> bool {
        false
    }

    fn take(&mut self, _: Event) {}

    fn look(
        &mut self,
        so_far: &mut dyn FnMut() -> Result<Observation, NoBpf>,
    ) -> Result<(), ObserveError> {
        so_far().map(drop).map_err(ObserveError::from)
    }

    fn notice(&mut self, notice: Notice) {
        self.0.push(notice.to_string());
    }
}

fn observed(
    script: &mut Script,
    target: Target,
    duration: Option<Nanos>,
) -> (Observation, Vec<String>) {
    let (root, mut said) = (script.root(), Said::default());
    let task = Task {
        target,
        companion: None,
        duration,
        is_endless: false,
        wants_scheduler_time: false,
        requests: Requests::Unknown,
    };
    let observation = observe(script, task, &root, &mut said).expect("nothing is refused");
    (observation, said.0)
}

/// Observes a control group for `ms` milliseconds.
fn observed_group(script: &mut Script, name: &str, ms: u64) -> (Observation, Vec<String>) {
    let target = Target::group(&script.root(), name).expect("a group");
    observed(script, target, Some(Nanos::millis(ms)))
}

/// Observes the processes `numbers`.
fn observed_processes(
    script: &mut Script,
    numbers: &[u32],
    duration: Option<Nanos>,
) -> (Observation, Vec<String>) {
    let target = Target::processes(&script.root(), numbers.to_vec()).expect("they are there");
    observed(script, target, duration)
}

#[test]
fn it_ends_with_the_last_process() {
    let mut script = Script::with_process_7();
    script.process(8, "b");
    let mut script = script
        .at(300, |script| script.end(7))
        .at(700, |script| script.end(8));
    let (observation, _) = observed_processes(&mut script, &[7, 8], None);
    assert!(
        (700..=720).contains(&(observation.window_ns.0 / 1_000_000)),
        "{}",
        observation.window_ns
    );
    assert_eq!(script.observed, [[7, 8]]);
    let moments = &observation.moments;
    let switches: u64 = moments.iter().map(|moment| moment.voluntary).sum();
    assert!(moments.len() >= 6 && switches > 0, "{moments:?}");
}

#[test]
fn children_that_were_there_before_are_counted_and_not_observed() {
    let mut script = Script::new();
    for (number, children) in [(7, "8 9"), (8, ""), (9, "10"), (10, "")] {
        script.process(number, "server");
        script.file(&format!("/proc/{number}/task/{number}/children"), children);
        script.switched(number, number.into());
    }
    let mut script = script.at(500, |script| {
        script.switched(9, 1009);
        script.switched(10, 110);
    });
    let (observation, _) = observed_processes(&mut script, &[7, 8], Some(Nanos::seconds(1)));
    assert_eq!(script.observed, [[7, 8]]);
    let older = observation.older_children.expect("there are some");
    // An observed child is not among them.
    assert_eq!(
        (older.processes, older.parents, older.switches),
        (2, vec![7, 9], 1100)
    );
    let (observation, _) = observed_processes(&mut script, &[8, 10], Some(Nanos::seconds(1)));
    assert_eq!(observation.older_children, None);
}

#[test]
fn a_window_cuts_to_the_nanosecond() {
    let mut script = Script::with_process_7();
    let (observation, _) = observed_processes(&mut script, &[7], Some(Nanos(1_234_567_891)));
    assert_eq!(observation.window_ns, Nanos(1_234_567_891));
}

#[test]
fn a_number_of_a_thread_is_refused_with_that_of_its_process() {
    let mut script = Script::new();
    script.process(7, "server");
    script.file("/proc/9/status", "Name:\tworker\nTgid:\t7\n");
    script.file("/proc/9/stat", "9 (worker) S 1");
    let refused = |numbers: &[u32]| {
        Target::processes(&script.root(), numbers.to_vec())
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(
        refused(&[7, 9]),
        "9 is a thread of process 7 (server), not a process; use -p 7"
    );
    assert_eq!(
        refused(&[10]),
        "no process with PID 10; list processes with ps -e"
    );
    script.file("/proc/7/stat", "7 (server) Z 1");
    assert_eq!(
        refused(&[7]),
        "no process with PID 7; list processes with ps -e"
    );
}

#[test]
fn threads_of_a_control_group_are_observed_and_those_that_come_to_it() {
    let script = Script::new();
    script.group("pods", "", 0);
    script.group("pods/one", "21\n22\n", 0);
    let mut script = script.at(500, |script| script.group("pods/one", "21\n22\n23\n", 0));
    let (observation, _) = observed_group(&mut script, "pods", 1000);
    assert_eq!(script.threads, [vec![21, 22], vec![23]]);
    assert_eq!(
        observation.subject,
        Subject::ControlGroup("pods".to_owned())
    );
}

#[test]
fn the_observer_is_not_observed_in_a_group_that_it_is_in() {
    let mut script = Script::new();
    script.group("pods", "21\n22\n", 0);
    script.file(
        &format!("/proc/{}/task/22/comm", std::process::id()),
        "switchcost\n",
    );
    observed_group(&mut script, "pods", 200);
    assert_eq!(script.threads, [[21]]);
}

#[test]
fn threads_of_a_group_of_version_1_are_in_its_file_of_tasks() {
    let mut script = Script::new();
    script.file("/sys/fs/cgroup/cpu/batch/cgroup.procs", "20\n");
    script.file("/sys/fs/cgroup/cpu/batch/tasks", "21\n");
    for name in ["cpu/batch", "batch", "/sys/fs/cgroup/cpu/batch/"] {
        observed_group(&mut script, name, 40);
    }
    assert_eq!(script.threads, [[21], [21], [21]]);
}

#[test]
fn a_quota_that_binds_a_task_later_is_named_with_its_time() {
    let script = Script::with_process_7_in("free");
    script.group("free", "7\n", 0);
    script.group("tight", "", 1000);
    let script = script.at(1000, |script| script.file("/proc/7/cgroup", "0::/tight\n"));
    let mut script = script.at(2000, |script| script.group("tight", "7\n", 1005));
    let (observation, _) = observed_processes(&mut script, &[7], Some(Nanos::seconds(3)));
    let [one] = &observation.throttled[..] else {
        panic!("{:?}", observation.throttled)
    };
    assert_eq!(
        (one.group.as_str(), one.times, one.throttled_ns),
        ("tight", 5, Nanos::millis(5))
    );
    let joined = one.joined_after_ns.expect("not from the start");
    assert!((1000..=1300).contains(&(joined.0 / 1_000_000)), "{joined}");
}

#[test]
fn one_that_binds_from_the_start_has_no_time() {
    let mut script = quota_from_the_start();
    let (observation, _) = observed_processes(&mut script, &[7], Some(Nanos::seconds(1)));
    assert_eq!(times(&observation), [(2, None)]);
}

#[test]
fn nor_has_one_of_a_process_that_had_not_switched_yet() {
    for is_meant in [true, false] {
        let mut script = quota_from_the_start();
        script.alive.remove(&7);
        let mut script = script.at(100, |script| {
            script.alive.insert(7);
        });
        // The process is seen after 200 ms only if no task is given by its number.
        let target = Target::processes(&script.root(), vec![7]).expect("it is there");
        let target = if is_meant { target } else { Target::All };
        let (observation, _) = observed(&mut script, target, Some(Nanos::seconds(1)));
        assert_eq!(times(&observation), [(2, None)], "{is_meant}");
    }
}

#[test]
fn a_group_that_is_created_again_counts_on() {
    let script = quota_from_the_start();
    let script = script.at(1000, |script| script.group("tight", "7\n", 0));
    let mut script = script.at(1500, |script| script.group("tight", "7\n", 3));
    let (observation, _) = observed_processes(&mut script, &[7], Some(Nanos::seconds(2)));
    assert_eq!(times(&observation), [(5, None)]);
}

fn times(observation: &Observation) -> Vec<(u64, Option<Nanos>)> {
    observation
        .throttled
        .iter()
        .map(|group| (group.times, group.joined_after_ns))
        .collect()
}

/// Makes a machine with a process that is throttled twice during the observation, and always
/// belonged to its group.
fn quota_from_the_start() -> Script {
    let script = Script::with_process_7_in("tight");
    script.group("tight", "7\n", 1000);
    script.at(500, |script| script.group("tight", "7\n", 1002))
}

fn command(script: &str) -> Target {
    Target::Command(crate::Command::new(
        ["sh", "-c", script].map(Into::into).to_vec(),
        crate::Streams::Nowhere,
    ))
}

#[test]
fn a_command_is_observed_before_it_runs() {
    let mut script = Script::new();
    // Time in this script passes faster than that of the command.
    let target = command("exit 3");
    let (_, said) = observed(&mut script, target, None);
    assert_eq!(script.observed.len(), 1);
    assert_eq!(said, ["'sh -c exit 3' ended with exit status: 3"]);
}

#[test]
fn what_goes_on_behind_a_command_is_reported_and_with_a_time_observed() {
    for (duration, words) in [
        (
            None,
            "; to observe them: switchcost observe -p 70,71,72,73,74 -d 10s, or use -d with the command",
        ),
        (Some(Nanos::seconds(60)), ", and are observed further"),
    ] {
        let mut script = Script::new();
        (70..75).for_each(|number| script.process(number, "nginx"));
        let mut script = script.at(50_000, |script| {
            (70..75).for_each(|number| script.end(number));
        });
        let (observation, said) = observed(&mut script, command("exit 0"), duration);
        assert_eq!(
            said,
            [format!(
                "'sh -c exit 0' exited, but its children are still running (nginx 70, nginx 71, nginx 72 and 2 more){words}"
            )]
        );
        let goes_on = observation.window_ns >= Nanos::seconds(50);
        assert_eq!(goes_on, duration.is_some(), "{}", observation.window_ns);
    }
}

#[test]
fn processes_of_a_name_are_those_that_pgrep_finds() {
    let mut script = Script::new();
    for (number, name) in [
        (7, "redis-server"),
        (8, "redis-cli"),
        (9, "redis-server"),
        (11, "a name that is "),
    ] {
        script.process(number, name);
    }
    let named = |name: &str| match Target::named(&script.root(), &[name.to_owned()]) {
        Ok(Target::Processes(processes)) => Ok(processes.numbers()),
        other => Err(format!("{other:?}")),
    };
    assert_eq!(named("redis-server"), Ok(vec![7, 9]));
    assert_eq!(
        named("a name that is longer than what is kept"),
        Ok(vec![11])
    );
    assert!(named("redis").is_err_and(|why| why.contains("NoName")));
}

#[test]
fn what_ends_before_its_time_is_told_and_what_comes_under_its_name_is_observed() {
    let second = Some(Nanos::seconds(1));
    let end_of_7 = || {
        let script = Script::with_process_7();
        script.at(300, |script| script.end(7))
    };
    let mut script = end_of_7();
    let (observation, said) = observed_processes(&mut script, &[7], second);
    assert!(observation.window_ns < Nanos::millis(400));
    let [one] = &said[..] else { panic!("{said:?}") };
    assert!(one.starts_with("process 7 (a) ended after 30"), "{one}");

    // Another process has the same number.
    let mut script = end_of_7().at(301, |script| {
        script.process(7, "b");
        let fields = "0 ".repeat(18);
        script.file("/proc/7/stat", &format!("7 (b) S {fields}99"));
    });
    assert_eq!(observed_processes(&mut script, &[7], second).1.len(), 1);

    let mut script = end_of_7().at(600, |script| script.process(8, "a"));
    let target = Target::named(&script.root(), &["a".to_owned()]).expect("it is there");
    let (observation, said) = observed(&mut script, target, second);
    assert_eq!(observation.window_ns, Nanos::seconds(1));
    assert_eq!(script.observed, [[7], [8]]);
    assert_eq!(observation.subject, Subject::Processes(vec![7, 8]));
    let [gone, back] = &said[..] else {
        panic!("{said:?}")
    };
    assert!(gone.starts_with("process 7 (a) is gone after 30"), "{gone}");
    assert!(back.starts_with("process 8 (a) started after "), "{back}");

    // The source observes a later process before the search finds it.
    let mut script = Script::with_process_7().at(300, |script| script.process(8, "a"));
    let target = Target::named(&script.root(), &["a".to_owned()]).expect("it is there");
    let (observation, _) = observed(&mut script, target, Some(Nanos::seconds(2)));
    assert_eq!(observation.subject, Subject::Processes(vec![7, 8]));
}

#[test]
fn a_control_group_that_is_removed_is_observed_again_when_it_is_there_again() {
    let script = Script::new();
    script.group("pod", "21\n", 0);
    // The file system may give the inode of a removed folder to the next one.
    let remove = |script: &mut Script| {
        let groups = script.folder.path().join("sys/fs/cgroup");
        let removed = groups.join(format!("removed-at-{}", script.now.0));
        fs::rename(groups.join("pod"), removed).expect("it was there");
    };
    // The first count is for the long pause, the second from one look to the next.
    let mut script = script
        .at(300, remove)
        .at(600, |script| script.group("pod", "21\n", 0))
        .at(810, move |script| {
            remove(script);
            script.group("pod", "22\n", 0);
        });
    let (observation, said) = observed_group(&mut script, "pod", 1000);
    assert_eq!(observation.window_ns, Nanos::seconds(1));
    assert_eq!(script.threads, [[21], [21], [22]]);
    let words = ["is gone after", "started after", "started after"];
    assert_eq!(said.len(), words.len(), "{said:?}");
    assert!(
        said.iter()
            .zip(words)
            .all(|(said, words)| said.contains(words))
    );
}

#[test]
fn a_process_whose_first_thread_has_ended_is_observed_until_the_last_one_has() {
    let script = Script::with_process_7();
    script.file("/proc/7/stat", "7 (a) Z 1");
    script.file("/proc/7/task/7/stat", "7 (a) Z 1");
    script.file("/proc/7/task/8/stat", "8 (b) S 1");
    let mut script = script.at(500, |script| {
        script.file("/proc/7/task/8/stat", "8 (b) X 1")
    });
    let (observation, _) = observed_processes(&mut script, &[7], None);
    assert!((500..=520).contains(&(observation.window_ns.0 / 1_000_000)));
}
