//! Arguments of `trace --system`: the guest of the programs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args};
use switchcost_units::{Bytes, Nanos};

/// Highest rate of a guest's instructions, in millions per second. The lowest is 1/1024 of it.
const MOST_MIPS: u32 = 1000;

/// A whole guest, or several, for programs of the user's.
#[derive(Clone, Debug, Args)]
pub(crate) struct SystemArguments {
    /// Run the programs in a guest under QEMU, and trace its kernel, too
    ///
    /// The same inputs give the same trace. Needs QEMU and a kernel image. In a clone, make setup
    /// fetches both; otherwise install qemu-system-x86, and name a kernel with --kernel.
    #[arg(long, conflicts_with_all = ["order", "processes", "cpu", "quantum"], help_heading = "A whole system")]
    pub(crate) system: bool,

    #[command(flatten)]
    pub(crate) guest: GuestArguments,

    /// Time slice of the guest's scheduler [default: its own]
    ///
    /// Several kernels, parameters or time slices give one trace per combination.
    #[arg(hide_short_help = true, long, value_name = "LIST", value_delimiter = ',', requires = "system", value_parser = parse_slice, help_heading = "A whole system")]
    pub(crate) slice: Vec<Nanos>,

    /// End the programs after this many seconds of guest time
    #[arg(hide_short_help = true, long, value_name = "N", requires = "system", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..),
          help_heading = "A whole system")]
    pub(crate) seconds: u64,

    /// Trace each program only between its own SIGSTOPs, to omit its start-up
    ///
    /// Tracing begins when the program stops itself (kill -STOP $$), and ends when it stops again or exits.
    #[arg(
        hide_short_help = true,
        long,
        requires = "system",
        help_heading = "A whole system"
    )]
    pub(crate) between_stops: bool,

    /// Another file, folder or program needed in the guest; may be repeated
    #[arg(
        hide_short_help = true,
        long = "file",
        value_name = "PATH",
        requires = "system",
        help_heading = "A whole system"
    )]
    pub(crate) files: Vec<PathBuf>,
}

/// Properties and start of a guest. A subcommand that has one guest takes each value [`once`].
#[derive(Clone, Debug, Args)]
pub(crate) struct GuestArguments {
    /// Kernel of the guest: an image, or a Debian package [default: the one from make setup]
    ///
    /// A package, such as linux-image-amd64, is downloaded, but not installed. Without a clone (make
    /// setup), name one.
    #[arg(
        long,
        value_name = "IMAGE|PACKAGE",
        requires = "system",
        help_heading = "A whole system"
    )]
    pub(crate) kernel: Vec<OsString>,

    /// Additional kernel parameters, such as 'mitigations=auto'
    #[arg(
        hide_short_help = true,
        long,
        value_name = "WORDS",
        requires = "system",
        allow_hyphen_values = true,
        help_heading = "A whole system"
    )]
    pub(crate) append: Vec<String>,

    /// Memory of the guest [default: 384MiB plus three times the size of its files]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "SIZE",
        requires = "system",
        help_heading = "A whole system"
    )]
    pub(crate) memory: Option<Bytes>,

    /// Millions of instructions per second of guest time [default: 1000]
    ///
    /// Allowed: 1000, 500, 250 and so on down to 1.0. 15.6 is about a processor of 1990.
    #[arg(hide_short_help = true, long, value_name = "N", requires = "system", value_parser = parse_mips, help_heading = "A whole system")]
    pub(crate) mips: Option<IcountShift>,

    /// Also record physical addresses, for physically indexed levels
    ///
    /// Otherwise the simulation assigns physical addresses.
    #[arg(
        hide_short_help = true,
        long,
        requires = "system",
        help_heading = "A whole system"
    )]
    pub(crate) physical: bool,
}

/// Allows an argument only once, although another subcommand takes it several times.
pub(crate) fn allow_once(argument: Arg) -> Arg {
    argument.action(ArgAction::Set)
}

/// Replaces the default of `--mips` in the help by the default of `workload`.
pub(crate) fn show_workload_default(mips: Arg) -> Arg {
    const FIRST: &str = "Millions of instructions per second of guest time [default: 15.6]";
    mips.help(FIRST).long_help(format!(
        "{FIRST}\n\nAllowed: 1000, 500, 250 and so on down to 1.0. 15.6 is about a processor of 1990."
    ))
}

/// Rate of a guest's instructions: 1000 million per second, divided by 2 to the power of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IcountShift(pub(crate) u32);

/// Parses a rate in millions of instructions per second. QEMU supports powers of two in nanoseconds
/// per instruction.
fn parse_mips(text: &str) -> Result<IcountShift, String> {
    let need = || {
        let known: Vec<String> = (0..=10).map(mips_text).collect();
        format!(
            "'{text}' is not a possible rate; use one of {}",
            known.join(", ")
        )
    };
    (0..=10)
        .find(|&icount_shift| mips_text(icount_shift) == text)
        .map(IcountShift)
        .ok_or_else(need)
}

fn mips_text(icount_shift: u32) -> String {
    if MOST_MIPS.is_multiple_of(1 << icount_shift) {
        (MOST_MIPS >> icount_shift).to_string()
    } else {
        format!("{:.1}", f64::from(MOST_MIPS) / f64::from(1 << icount_shift))
    }
}

/// Parses a time slice within the limits of Linux's schedulers, which are 0.1 ms and 1 s.
fn parse_slice(text: &str) -> Result<Nanos, String> {
    let slice: Nanos = text
        .parse()
        .map_err(|error: switchcost_units::ParseNanosError| error.to_string())?;
    if (100_000..=1_000_000_000).contains(&slice.0) {
        Ok(slice)
    } else {
        Err(format!(
            "'{text}' is not a time from 100us to 1s; write a time such as 4ms"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_powers_of_two_of_nanoseconds() {
        assert_eq!(parse_mips("1000"), Ok(IcountShift(0)));
        assert_eq!(parse_mips("125"), Ok(IcountShift(3)));
        assert_eq!(parse_mips("62.5"), Ok(IcountShift(4)));
        assert_eq!(
            parse_mips("20"),
            Err(
                "'20' is not a possible rate; use one of 1000, 500, 250, 125, 62.5, 31.2, 15.6, 7.8, 3.9, 2.0, 1.0"
                    .to_owned()
            )
        );
    }

    #[test]
    fn slices_are_as_schedulers_have_them() {
        assert_eq!(parse_slice("3ms"), Ok(Nanos(3_000_000)));
        assert_eq!(
            parse_slice("5s"),
            Err("'5s' is not a time from 100us to 1s; write a time such as 4ms".to_owned())
        );
    }
}
