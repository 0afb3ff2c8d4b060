use std::io;
use std::path::PathBuf;

use crate::tool::ToolError;

/// Why a guest cannot be started, or failed.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The plugin and the guest's first process have not been built.
    #[error(
        "the plugin for QEMU is not in {}; run `make build` (or `make install`), or name its folder in SWITCHCOST_QEMU_DIR",
        shown(.0)
    )]
    NotBuilt(Vec<PathBuf>),
    /// Another user could have changed a program that would be executed.
    #[error("{0}")]
    Untrusted(String),
    /// The tools do not exist for this kind of processor.
    #[error(transparent)]
    OtherProcessor(#[from] ToolError),
    /// QEMU is missing or does not start.
    #[error(
        "{program} does not work ({error}); install QEMU 7.2, or 9 or newer, for x86: apt-get install qemu-system-x86 (make \
         setup does)"
    )]
    NoQemu {
        /// Name of the QEMU program that was tried.
        program: String,
        /// Error of starting QEMU.
        error: io::Error,
    },
    /// There is no kernel image in the searched folders.
    #[error(
        "no kernel image (vmlinuz*) is in {}; name an image or a package: --kernel linux-image-cloud-amd64 (make setup fetches \
         that)",
        shown(.0)
    )]
    NoKernel(Vec<PathBuf>),
    /// The kernel named by the user is neither a file nor a possible name of a package.
    #[error(
        "no file '{path}'; name a kernel image or a Debian package: --kernel linux-image-cloud-amd64",
        path = .0.display()
    )]
    NoImage(PathBuf),
    /// The package manager cannot provide the kernel's package.
    #[error(
        "no kernel in package '{name}' ({why}); name an image or a Debian package: --kernel linux-image-cloud-amd64"
    )]
    Package {
        /// Package name as the user gave it.
        name: String,
        /// Message of the package manager.
        why: String,
    },
    /// The kernel does not have information that the capture needs.
    #[error(
        "the kernel image cannot be used: {0}; use one with BTF (CONFIG_DEBUG_INFO_BTF) and /proc/kallsyms, such as Debian's: \
         --kernel linux-image-cloud-amd64"
    )]
    Kernel(String),
    /// There are more commands than a guest can start; contains their number.
    #[error("{0} commands are too many for a guest; trace at most 64")]
    Commands(usize),
    /// A file that a command needs cannot be used.
    #[error("the file {path} cannot be used in the guest ({error}); name another file", path = .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of opening or reading the file.
        error: io::Error,
    },
    /// A library that a program needs is missing.
    #[error("the library {library} of {program} is missing; install it", program = .program.display())]
    Library {
        /// Path of the program that needs the library.
        program: PathBuf,
        /// Name of the library.
        library: String,
    },
    /// The interpreter of a script is missing.
    #[error("{interpreter}, which runs the script {script}, is missing; install it", script = .script.display())]
    Interpreter {
        /// Interpreter that the script's first line names.
        interpreter: String,
        /// Path of the script.
        script: PathBuf,
    },
    /// A command names a device file of this machine, which the guest does not have.
    #[error(
        "{path} is a device, and the guest has none of this machine's; name files, or trace without --system",
        path = .0.display()
    )]
    Device(PathBuf),
    /// The guest did not boot in time. Contains the end of the guest's output.
    #[error("the guest did not finish booting within 3 minutes{}; try another --kernel or --append", last(.0))]
    SlowBoot(String),
    /// The guest executes no instructions any more. Contains the end of the guest's output.
    #[error("the guest executed no instruction for two minutes{}; run it again, or try another --kernel", last(.0))]
    Hung(String),
    /// QEMU does not support the version of the plugin's interface.
    #[error(
        "this version of QEMU is not supported ({0}); put a qemu-system-x86_64 of 7.2, or 9 to 11.1, first in PATH"
    )]
    Interface(String),
    /// QEMU ended before the programs did.
    #[error("the guest ended before its programs ({status}){}; {}", last(.said), advice(.said))]
    Died {
        /// Exit status of QEMU.
        status: std::process::ExitStatus,
        /// Last lines of the guest's console and of QEMU's output.
        said: String,
    },
    /// A program ended without stopping itself, although the capture is between its stops. Contains
    /// the output of the programs.
    #[error(
        "a program ended before it had stopped itself{}; let each stop itself when it is ready (kill -STOP $$), or use \
         --seconds",
        wrote(.0)
    )]
    NotStopped(String),
    /// The operating system refused an operation.
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

/// Formats the output of the programs for a message; empty if they wrote nothing.
fn wrote(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("; what they wrote: {}", join_lines(text))
    }
}

/// Formats the end of the guest's output for a message; empty if there is none.
fn last(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!("; what it said last: {}", join_lines(said))
    }
}

/// Returns advice for a guest that ended too early. If QEMU could not allocate memory, the advice
/// is about this machine's memory; otherwise the guest usually has too little memory for its
/// kernel.
fn advice(said: &str) -> String {
    if said.contains("Cannot allocate memory") {
        switchcost_remedies::memory_remedy()
    } else {
        "give it more --memory, or try another --kernel or --append".to_owned()
    }
}

/// Joins lines by ` | `, so that a message is one line.
fn join_lines(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" | ")
}
