//! A folder with inputs and room for results, and a bystander process, which sleeps for most of the
//! time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::leftovers::{Condition, marked};
use crate::whole::Whole;

/// Environment variable of the trials' processes, which contains the path of the place's folder.
pub(crate) const MARK: &str = "SWITCHCOST_ATTACK";

/// Perl script of the bystander process, which uses about a seventh of a CPU, and writes 200 bytes
/// every ten milliseconds.
const BYSTANDER: &str = "for (;;) { $i = 0; $i++ while $i < 120000; syswrite(STDOUT, 'x') for 1 .. 200; select(undef, undef, undef, 0.01) }";

/// Folders that are emptied before each trial.
const EMPTIED: [&str; 5] = ["made", "tmp", "state", "home", "scratch"];

pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) program: PathBuf,
    bystander: Child,
    /// Result of an undisturbed run of each subcommand, or the reason why the subcommand does not
    /// run here.
    pub(crate) wholes: RefCell<BTreeMap<String, Result<Whole, String>>>,
}

impl Place {
    pub(crate) fn new(program: &Path) -> Result<Place, String> {
        let reported = |error: std::io::Error| format!("failed to prepare a place: {error}");
        let folder = tempfile::Builder::new()
            .prefix("attack-")
            .tempdir()
            .map_err(reported)?;
        // The bystander process ends with the thread that started it.
        let bystander = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "perl", "-e", BYSTANDER])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                format!("failed to start setpriv: {error}, need util-linux; install it")
            })?;
        let place = Place {
            folder,
            program: program.to_owned(),
            bystander,
            wholes: RefCell::default(),
        };
        open_to_all(place.folder()).map_err(reported)?;
        fs::create_dir(place.path("in")).map_err(reported)?;
        place.clear();
        Ok(place)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn made(&self, name: &str) -> PathBuf {
        self.path("made").join(name)
    }

    /// Returns the PIDs of this place's processes, however they were started.
    pub(crate) fn processes(&self) -> Vec<i32> {
        marked(self.folder())
    }

    /// Returns the state of the bystander process.
    pub(crate) fn bystander(&self) -> Result<Condition, String> {
        Condition::read(self.bystander.id())
    }

    /// Empties all folders except the folder of the inputs.
    pub(crate) fn clear(&self) {
        for name in EMPTIED {
            let _ = fs::remove_dir_all(self.path(name));
            let _ = fs::create_dir(self.path(name)).and_then(|()| open_to_all(&self.path(name)));
        }
    }

    /// Returns temporary files that remain after a run, and unfinished files next to compiled
    /// runtimes.
    pub(crate) fn temporary(&self) -> Vec<String> {
        let names = |folder: &str| {
            let entries = fs::read_dir(self.path(folder))
                .into_iter()
                .flatten()
                .flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        let is_draft = |name: &String| name.starts_with("switchcost-");
        let drafts = names("home/.cache/switchcost/runtimes").filter(is_draft);
        names("tmp").chain(drafts).collect()
    }

    /// Replaces the placeholders in a word of a table, such as `{in}` by the folder of inputs.
    pub(crate) fn expanded(&self, word: &str) -> String {
        let mut word = word.replace("{bystander}", &self.bystander.id().to_string());
        for name in ["in", "made", "scratch", "state", "tmp"] {
            word = word.replace(
                &format!("{{{name}}}"),
                &self.path(name).display().to_string(),
            );
        }
        word = word.replace("{folder}", &self.folder().display().to_string());
        word.replace("{repository}", &repository().display().to_string())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.bystander), Signal::KILL);
        let _ = self.bystander.wait();
    }
}

/// Opens a folder to all users, for trials that run as another user.
fn open_to_all(folder: &Path) -> std::io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o777))
}

/// Returns the root folder of the repository, which contains the samples.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
