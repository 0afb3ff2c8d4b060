//! Tests of control groups.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use switchcost_facts::Root;
use switchcost_observe::{
    Backend, Listener, NoBpf, Notice, ObserveError, Options, Requests, Target, Task, observe,
};
use switchcost_record::observation::{Event, Observation};
use switchcost_units::Nanos;

use crate::{observer, sum_of, turn};

/// A control group of a test, which is removed on drop.
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
}

impl Group {
    /// Creates a group with `controller`, of version 1 or 2; returns nothing, with a message, if
    /// there is no such hierarchy.
    pub(crate) fn with(controller: &str) -> Option<Group> {
        let found = hierarchies(controller).into_iter().next();
        found
            .and_then(|hierarchy| Group::below(&hierarchy))
            .or_else(|| {
                println!("skipped: there is no control group with {controller} to be had");
                None
            })
    }

    /// Creates a new group in a hierarchy.
    pub(crate) fn below(hierarchy: &Path) -> Option<Group> {
        let folder = hierarchy.join(format!("switchcost-test-{}", std::process::id()));
        fs::create_dir(&folder).ok().map(|()| Group { folder })
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> bool {
        fs::write(self.folder.join(file), text).is_ok()
    }

    /// Returns a number in one of the group's files.
    pub(crate) fn number(&self, file: &str, field: &str) -> u64 {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(field)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{file} has {field}: {text}"))
    }

    /// Returns for how long the group's quota has throttled it so far, by the kernel's count.
    pub(crate) fn throttled_ns(&self) -> u64 {
        if self.folder.join("cpu.max").exists() {
            self.number("cpu.stat", "throttled_usec ") * 1_000
        } else {
            self.number("cpu.stat", "throttled_time ")
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Removes a group. A group whose last task has just ended may be busy for a while.
fn remove(group: &Path) {
    for _ in 0..100 {
        if fs::remove_dir(group).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the mount points of hierarchies with a controller, version 1 first. The freezer of
/// version 2 needs no controller.
pub(crate) fn hierarchies(controller: &str) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of = |kind: &str, has: &dyn Fn(&str, &str) -> bool| -> Vec<PathBuf> {
        let fields = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>());
        let found = fields
            .filter(|fields| fields.len() > 3 && fields[2] == kind && has(fields[1], fields[3]));
        found.map(|fields| PathBuf::from(fields[1])).collect()
    };
    let first = of("cgroup", &|_, options| {
        options.split(',').any(|option| option == controller)
    });
    let second = of("cgroup2", &|folder, _| {
        let _ = fs::write(
            format!("{folder}/cgroup.subtree_control"),
            format!("+{controller}"),
        );
        let controllers =
            fs::read_to_string(format!("{folder}/cgroup.subtree_control")).unwrap_or_default();
        controller == "freezer"
            || controllers
                .split_whitespace()
                .any(|each| each == controller)
    });
    [first, second].concat()
}

/// A number of runs of a program that moves itself into a group.
type Runs = (usize, fn(&Path) -> Command);

/// Moves short programs into a group and one below it, one after another; returns nothing if no
/// group can be created.
fn observed_in(hierarchy: &Path, programs: [Runs; 2]) -> Option<Observation> {
    let Some(group) = Group::below(hierarchy) else {
        println!("skipped: no group in {}", hierarchy.display());
        return None;
    };
    let below = group.folder.join("below");
    fs::create_dir(&below).expect("a group below it");
    let Some(mut observer) = observer(Options::default()) else {
        let _ = fs::remove_dir(&below);
        return None;
    };
    let target =
        Target::group(&Root::system(), &group.folder.to_string_lossy()).expect("it is one");
    let task = Task {
        target,
        companion: None,
        duration: Some(Nanos::seconds(60)),
        is_endless: false,
        wants_scheduler_time: false,
        requests: Requests::Unknown,
    };
    let done = Arc::new(AtomicBool::new(false));
    let runner = std::thread::spawn({
        let done = Arc::clone(&done);
        let folders = [group.folder.clone(), below.clone()];
        move || {
            std::thread::sleep(Duration::from_millis(150));
            for (runs, program) in programs {
                for at in 0..runs {
                    let status = program(&folders[at % 2]).status();
                    assert!(
                        status.is_ok_and(|status| status.success()),
                        "it comes to the group"
                    );
                }
            }
            done.store(true, Relaxed);
        }
    });
    observer.tick();
    let counted =
        observe(observer, task, &Root::system(), &mut Until(done)).expect("it is observed");
    runner.join().expect("they ran");
    remove(&below);
    Some(counted)
}

/// A listener without output; the observation ends when the flag is set.
struct Until(Arc<AtomicBool>);

impl Listener for Until {
    type Error = ObserveError;

    fn should_stop(&self) -> bool {
        self.0.load(Relaxed)
    }

    fn take(&mut self, _: Event) {}

    fn look(
        &mut self,
        _: &mut dyn FnMut() -> Result<Observation, NoBpf>,
    ) -> Result<(), ObserveError> {
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        panic!("{notice}");
    }
}

/// Returns a program that moves itself into a group and exits.
fn short_program(group: &Path) -> Command {
    let mut command = Command::new("sh");
    let script = format!(
        "echo $$ > {}/cgroup.procs && exec /bin/true",
        group.display()
    );
    command.args(["-c", &script]);
    command
}

/// Returns a program that moves itself and three other threads into a group. The program lives for
/// some milliseconds, a tenth of the time between two looks.
fn short_threads(group: &Path) -> Command {
    let mut command = Command::new("perl");
    let script = format!(
        "use threads; pipe(my $r, my $w);
         my @t = map {{ threads->create(sub {{ sysread($r, my $x, 1); select(undef, undef, undef, 0.001) }}) }} 1..3;
         open(my $f, '>', '{}/cgroup.procs') or die; print $f $$; close($f) or die; syswrite($w, 'xxx'); $_->join for @t",
        group.display()
    );
    command.args(["-e", &script]);
    command
}

/// Shows that all threads of a process that enters a group are observed, although the kernel
/// reports only the first thread.
#[test]
fn short_programs_and_their_threads_that_come_to_a_group_are_observed() {
    let _turn = turn();
    let has_threads = Command::new("perl")
        .args(["-Mthreads", "-e", "1"])
        .status()
        .is_ok_and(|status| status.success());
    if !has_threads {
        println!("skipped in part: there is no perl with threads");
    }
    let all = hierarchies("freezer");
    if all.is_empty() {
        println!("skipped: there is no control group to be had");
    }
    for hierarchy in all {
        let threads = if has_threads { 8 } else { 0 };
        let programs: [Runs; 2] = [(40, short_program), (threads, short_threads)];
        let Some(counted) = observed_in(&hierarchy, programs) else {
            continue;
        };
        let count = |name| sum_of(&counted, name, |tasks| tasks.count);
        assert_eq!(
            (count("true"), count("perl")),
            (40, 4 * threads as u64),
            "in {}",
            hierarchy.display()
        );
    }
}
