//! Control groups of the tests.

use std::fs;
use std::path::{Path, PathBuf};

/// A control group of a test, removed when dropped.
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
}

impl Group {
    /// A new group where `controller` is to be had, of version 1 or 2; none where it is not, which is said.
    pub(crate) fn with(controller: &str) -> Option<Group> {
        let found = hierarchies(controller).into_iter().next();
        found.and_then(|hierarchy| Group::below(&hierarchy)).or_else(|| {
            println!("skipped: there is no control group with {controller} to be had");
            None
        })
    }

    /// A new group of a hierarchy.
    pub(crate) fn below(hierarchy: &Path) -> Option<Group> {
        let folder = hierarchy.join(format!("switchcost-test-{}", std::process::id()));
        fs::create_dir(&folder).ok().map(|()| Group { folder })
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> bool {
        fs::write(self.folder.join(file), text).is_ok()
    }

    /// A number in one of its files.
    pub(crate) fn number(&self, file: &str, field: &str) -> u64 {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{file} has {field}: {text}"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group whose last task has just ended may be busy for a while.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Where hierarchies with a controller are mounted, of version 1 first. That of version 2 freezes without one.
pub(crate) fn hierarchies(controller: &str) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of = |kind: &str, has: &dyn Fn(&str, &str) -> bool| -> Vec<PathBuf> {
        let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let found = fields.filter(|fields| fields.len() > 3 && fields[2] == kind && has(fields[1], fields[3]));
        found.map(|fields| PathBuf::from(fields[1])).collect()
    };
    let first = of("cgroup", &|_, options| options.split(',').any(|option| option == controller));
    let second = of("cgroup2", &|folder, _| {
        let _ = fs::write(format!("{folder}/cgroup.subtree_control"), format!("+{controller}"));
        let controllers = fs::read_to_string(format!("{folder}/cgroup.subtree_control")).unwrap_or_default();
        controller == "freezer" || controllers.split_whitespace().any(|each| each == controller)
    });
    [first, second].concat()
}
