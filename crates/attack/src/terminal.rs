//! A pseudoterminal for a run, and the state in which the run leaves it.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OutputModes, Termios, Winsize, tcgetattr, tcsetwinsize};

/// Modes of a terminal: a name, the sequence that turns the mode on, and the sequence that turns it
/// off.
const MODES: [(&str, &str, &str); 2] = [
    ("the other screen", "\u{1b}[?1049h", "\u{1b}[?1049l"),
    ("the hidden cursor", "\u{1b}[?25l", "\u{1b}[?25h"),
];

pub(crate) struct Terminal {
    /// Device of the terminal, held open so that its modes can be read after all processes have
    /// closed it.
    line: OwnedFd,
    before: Termios,
    reader: JoinHandle<String>,
}

impl Terminal {
    /// Creates a terminal, and makes it the terminal of the command.
    pub(crate) fn new(command: &mut Command) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master)
            .and_then(|()| unlockpt(&master))
            .expect("our own terminal");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let line =
            open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("our own terminal");
        tcsetwinsize(
            &line,
            Winsize {
                ws_row: 24,
                ws_col: 80,
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )
        .expect("our own terminal");
        let copy = || Stdio::from(line.try_clone().expect("a free descriptor"));
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let before = tcgetattr(&line).expect("our own terminal");
        let reader = std::thread::spawn(|| read(File::from(master)));
        Terminal {
            line,
            before,
            reader,
        }
    }

    /// Returns the text that was shown, and what is wrong with the terminal's state; `None` if the
    /// state is right.
    pub(crate) fn end(self) -> (String, Option<String>) {
        let settled = std::time::Instant::now();
        // A program may restore the terminal a moment later.
        let mut modes = self.changed_modes();
        while modes.is_some() && settled.elapsed() < std::time::Duration::from_secs(5) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            modes = self.changed_modes();
        }
        drop(self.line);
        let shown = self.reader.join().unwrap_or_default();
        let is_left = |(_, on, off): &&(&str, &str, &str)| shown.rfind(on) > shown.rfind(off);
        let left = MODES
            .iter()
            .find(is_left)
            .map(|(what, ..)| format!("the terminal is left with {what}"));
        (shown, modes.or(left))
    }

    fn changed_modes(&self) -> Option<String> {
        let modes = |termios: &Termios| -> (LocalModes, OutputModes) {
            (termios.local_modes, termios.output_modes)
        };
        let now = tcgetattr(&self.line).ok()?;
        (modes(&now) != modes(&self.before))
            .then(|| format!("the terminal is left with {:?}", now.local_modes))
    }
}

/// Reads the output until no process has the terminal open.
fn read(mut master: File) -> String {
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = master.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    String::from_utf8_lossy(&shown).into_owned()
}
