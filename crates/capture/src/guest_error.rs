use std::io;
use std::path::PathBuf;

use crate::tool::ToolError;

/// Why there is no guest, or why it failed.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The plugin and the first process have not been built.
    #[error(
        "the plugin for QEMU is not in {}; run `make build` (or `make install`), or name its folder in SWITCHCOST_QEMU_DIR",
        shown(.0)
    )]
    NotBuilt(Vec<PathBuf>),
    /// Another user could have put a program there that is to be executed.
    #[error("{0}")]
    Untrusted(String),
    /// There are no tools for this processor.
    #[error(transparent)]
    OtherProcessor(#[from] ToolError),
    /// There is no QEMU.
    #[error(
        "{program} does not work ({error}); install QEMU 7.2, or 9 or newer, for x86: apt-get install qemu-system-x86 (make \
         setup does)"
    )]
    NoQemu {
        /// What was tried.
        program: String,
        /// What came of it.
        error: io::Error,
    },
    /// There is no kernel.
    #[error(
        "no kernel image (vmlinuz*) is in {}; name an image or a package: --kernel linux-image-cloud-amd64 (make setup fetches \
         that)",
        shown(.0)
    )]
    NoKernel(Vec<PathBuf>),
    /// The named image is no file, and cannot be a package.
    #[error(
        "no file '{path}'; name a kernel image or a package of Debian's: --kernel linux-image-cloud-amd64",
        path = .0.display()
    )]
    NoImage(PathBuf),
    /// The package manager has no such kernel.
    #[error(
        "no kernel in package '{name}' ({why}); name an image or a package of Debian's: --kernel linux-image-cloud-amd64"
    )]
    Package {
        /// As it was given.
        name: String,
        /// What was said.
        why: String,
    },
    /// The kernel lacks information that is needed.
    #[error(
        "the kernel image cannot be used: {0}; use one with BTF (CONFIG_DEBUG_INFO_BTF) and /proc/kallsyms, such as Debian's: \
         --kernel linux-image-cloud-amd64"
    )]
    Kernel(String),
    /// More commands than a guest can start.
    #[error("{0} commands are too many for a guest, which starts 64; trace fewer")]
    Commands(usize),
    /// A file that a command needs.
    #[error("the file {path} cannot be used in the guest ({error}); name one that is there", path = .path.display())]
    File {
        /// Where it should be.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
    /// A library of a program.
    #[error("the library {library} of {program} is missing; install it", program = .program.display())]
    Library {
        /// What needs it.
        program: PathBuf,
        /// Its name.
        library: String,
    },
    /// What runs a script.
    #[error("{interpreter}, which runs the script {script}, is missing; install it", script = .script.display())]
    Interpreter {
        /// What its first line asks for.
        interpreter: String,
        /// Who asks.
        script: PathBuf,
    },
    /// A device file of this machine.
    #[error(
        "{path} is a device, and the guest has none of this machine's; name files, or trace without --system",
        path = .0.display()
    )]
    Device(PathBuf),
    /// The guest did not get as far as its programs.
    #[error("the guest did not finish booting within 3 minutes{}; try another --kernel or --append", last(.0))]
    SlowBoot(String),
    /// The guest does not do anything any more.
    #[error("the guest executed no instruction for two minutes{}; run it again, or try another --kernel", last(.0))]
    Hung(String),
    /// QEMU does not accept our plugin.
    #[error(
        "this version of QEMU is not supported ({0}); put a qemu-system-x86_64 of 7.2, or 9 to 11.1, first in PATH"
    )]
    Interface(String),
    /// QEMU ended before the programs did.
    #[error("the guest ended before its programs ({status}){}; {}", last(.said), advice(.said))]
    Died {
        /// How QEMU ended.
        status: std::process::ExitStatus,
        /// The last lines of the guest's console and of QEMU.
        said: String,
    },
    /// A program that should have stopped itself ended.
    #[error(
        "a program ended before it had stopped itself{}; let each stop itself when it is ready (kill -STOP $$), or use \
         --seconds",
        wrote(.0)
    )]
    NotStopped(String),
    /// The system refused an operation.
    #[error(
        "the guest cannot be started: {error}; {remedy}",
        error = .0,
        remedy = switchcost_remedies::start_remedy(.0, "memory files, pipes and /proc must work here")
    )]
    System(#[from] io::Error),
}

fn shown(folders: &[PathBuf]) -> String {
    folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// What programs wrote, if anything.
fn wrote(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("; what they wrote: {}", join_lines(text))
    }
}

/// What was said last, if anything was.
fn last(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!("; what it said last: {}", join_lines(said))
    }
}

/// If nothing was said, memory was too little for its kernel to say anything, most often.
fn advice(said: &str) -> String {
    if said.contains("Cannot allocate memory") {
        switchcost_remedies::memory_remedy()
    } else {
        "give it more --memory, or try another --kernel or --append".to_owned()
    }
}

/// As messages are.
fn join_lines(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" | ")
}
