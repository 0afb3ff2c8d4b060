use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use switchcost_record::trust::{make_folder, open_listed};
use switchcost_record::{MeasureRecord, Source};
use switchcost_remedies::write_remedy;
use switchcost_reproduce::Step;
use switchcost_units::CpuId;

use crate::exit::{Failure, Outcome};
use crate::runs;

/// The folder of a site: its pages, and the records of its steps.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens the folder of a site, which is created if it does not exist.
    pub(super) fn open(path: Option<&Path>) -> Outcome<Folder> {
        type Make = fn(&Path) -> std::io::Result<()>;
        let (path, make): (_, Make) = match path {
            Some(path) => (path.to_owned(), |path| std::fs::create_dir_all(path)),
            None => {
                // Files for later runs are readable only by this user, and the runs that create
                // them inherit this mask.
                rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
                (runs::reproduce_folder()?, make_folder)
            }
        };
        let folder = Folder { path };
        make(&folder.records()).map_err(|error| {
            Failure::broken(format!(
                "cannot make the site in {}: {error}; {}",
                folder.path.display(),
                write_remedy(&error, "another with -o")
            ))
        })?;
        Ok(folder)
    }

    fn records(&self) -> PathBuf {
        self.path.join("records")
    }

    /// Returns the CPU of a measurement in the site's records; `None` if there is none.
    pub(super) fn measured_cpu(&self) -> Option<CpuId> {
        let entries = std::fs::read_dir(self.records()).ok()?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        });
        paths.sort_unstable();
        let cpu = |record: MeasureRecord| match record.header.plan.cases.first()?.placement.cpus[..]
        {
            [cpu] => Some(cpu),
            _ => None,
        };
        paths
            .iter()
            .find_map(|path| cpu(MeasureRecord::read(Source::listed(path)).ok()?))
    }

    pub(super) fn index(&self) -> PathBuf {
        self.path.join("index.html")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of a step's complete record.
    pub(super) fn record(&self, step: &Step) -> PathBuf {
        self.path.join(step.output())
    }

    /// Returns the path of a step's record while the step runs.
    pub(super) fn draft(&self, step: &Step) -> PathBuf {
        self.records()
            .join(format!("{}.part.{}", step.name, step.ending()))
    }

    /// Returns the path of the trace that a step writes or keeps.
    pub(super) fn trace(&self, step: &Step) -> PathBuf {
        self.records().join(format!("{}.sct", step.name))
    }

    /// Returns the path for the output of the program that watches a step.
    pub(super) fn words(&self, step: &Step) -> PathBuf {
        self.records().join(format!("{}.watched.txt", step.name))
    }

    /// Returns the path of a step's record after the step was stopped.
    pub(super) fn stopped(&self, step: &Step) -> PathBuf {
        self.records()
            .join(format!("{}.stopped.{}", step.name, step.ending()))
    }

    /// Returns the path of the file with the command that wrote a step's record.
    fn command(&self, step: &Step) -> PathBuf {
        self.records().join(format!("{}.command", step.name))
    }

    /// Returns true if a step's record exists, and its noted command is `made_by` or missing. A
    /// newer version of the program may have another command for a step with the same name.
    pub(super) fn has(&self, step: &Step, made_by: &str) -> bool {
        let noted = open_listed(&self.command(step)).and_then(std::io::read_to_string);
        self.record(step).exists() && noted.map_or(true, |noted| noted.trim_end() == made_by)
    }

    /// Stores the command that wrote a step's record.
    pub(super) fn note_command(&self, step: &Step, made_by: &str) -> std::io::Result<()> {
        writeln!(fresh(&self.command(step))?, "{made_by}")
    }

    /// Returns the path for the output of a step's command.
    pub(super) fn printed(&self, step: &Step) -> PathBuf {
        self.records().join(format!("{}.out", step.name))
    }
}

/// Creates a file. An existing file is removed first, because it may be a link to another folder.
pub(super) fn fresh(path: &Path) -> std::io::Result<File> {
    let _ = std::fs::remove_file(path);
    File::create_new(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_another_command_is_not_that_of_the_step() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(Some(place.path())).expect("a site");
        let step = Step {
            name: "today-walks".to_owned(),
            arguments: vec!["trace".to_owned(), "records/today-walks.sct".to_owned()],
            watched_by: Vec::new(),
            source: None,
        };
        assert!(
            !folder.has(&step, "switchcost trace walks"),
            "nothing is there"
        );
        std::fs::write(folder.record(&step), "a record").expect("written");
        assert!(
            folder.has(&step, "switchcost trace walks"),
            "a site of before commands were noted"
        );
        folder
            .note_command(&step, "switchcost trace walks")
            .expect("noted");
        assert!(folder.has(&step, "switchcost trace walks"));
        assert!(!folder.has(&step, "switchcost trace walks --turns 40"));
    }
}
