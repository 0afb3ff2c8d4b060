//! `switchcost doctor`: checks whether this machine is fit for measuring, and how to improve it.

use switchcost_doctor::check;
use switchcost_facts::Root;
use switchcost_record::Severity;

use crate::cli::DoctorArguments;
use crate::exit::{Exit, Outcome};
use crate::output::Output;

pub(crate) fn run(arguments: &DoctorArguments) -> Outcome<Exit> {
    let format = arguments.form.format_of_text()?;
    let output = Output::claim(arguments.form.output.as_deref())?;
    let fitness = check(&Root::system());
    let text =
        switchcost_report::doctor::render(&fitness, format, output.style(arguments.verbosity));
    output.write(&text)?;
    Ok(match fitness.verdict {
        Severity::Fit => Exit::Success,
        Severity::Caveat => Exit::Partial,
        Severity::Unfit => Exit::Unfit,
    })
}
