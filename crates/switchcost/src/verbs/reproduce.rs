//! `switchcost reproduce`: runs the commands of each paper, and writes the results as a site of
//! HTML pages.

mod again;
mod folder;
mod others;
mod run;
mod site;

use strum::IntoEnumIterator;
use switchcost_facts::{Root, quietest_cpu};
use switchcost_host::machine::manifest;
use switchcost_record::HostManifest;
use switchcost_report::reproduce::{Command, Reproduction, render, render_claims};
use switchcost_reproduce::{Claim, Effort, Exhibit, Paper, Site, Step, stand};
use switchcost_units::{CpuId, Nanos};

use crate::cli::reproduce::{ReproduceArguments, What};
use crate::exit::{Exit, Failure, Outcome};
use crate::messages::say;
use crate::output::Output;
use crate::signals::Interrupt;
use folder::Folder;
use others::Others;
use run::Runner;

/// A paper with the results of its steps, and the verdicts on its claims.
struct Done {
    paper: Paper,
    exhibits: Vec<Exhibit>,
    commands: Vec<Command>,
    /// Machine of the records, in one line.
    machine: String,
}

pub(crate) fn run(arguments: &ReproduceArguments) -> Outcome<Exit> {
    let host = manifest(&Root::system());
    let papers: Vec<Paper> = Paper::iter()
        .filter(|paper| is_wanted(&arguments.papers, *paper))
        .collect();
    if arguments.claims {
        let output = Output::claim(None)?;
        let style = output.style(arguments.verbosity);
        output.write(&render_claims(&papers, arguments.format, style))?;
        return Ok(Exit::Success);
    }
    let others = Others::read(&arguments.others, &papers)?;
    if arguments.dry_run {
        return dry_run(&papers, &site(arguments, &host, None)?);
    }
    if let Some(file) = &arguments.judge {
        return again::run(file, &papers, &others, arguments);
    }
    let folder = Folder::open(arguments.output.as_deref())?;
    let site = site(arguments, &host, folder.measured_cpu())?;
    let interrupt = Interrupt::watch()?;
    let steps: usize = papers.iter().map(|paper| paper.steps(&site).len()).sum();
    say!(
        "{steps} commands, which --dry-run prints; the site will be {}",
        folder.index().display()
    );
    let runner = Runner::new(&folder, &interrupt);
    let mut done = Vec::new();
    for paper in papers {
        let (records, commands) = runner.run_all(&paper.steps(&site))?;
        let mut exhibits = paper.exhibits(&records);
        stand(&mut exhibits, others.results(paper));
        done.push(Done {
            paper,
            exhibits,
            commands,
            machine: machine(records.host().unwrap_or(&host)),
        });
        if interrupt.is_raised() {
            break;
        }
    }
    write(&mut done, &folder, arguments)
}

fn is_wanted(papers: &[What], paper: Paper) -> bool {
    papers
        .iter()
        .any(|what| *what == What::All || what.to_string() == paper.to_string())
}

/// Returns the machine for the steps of a site, with the CPU named by the user, or the CPU of an
/// unfinished site. The quietest CPU changes from hour to hour, so a site that is continued keeps
/// its CPU.
fn site<'a>(
    arguments: &ReproduceArguments,
    host: &'a HostManifest,
    begun_on: Option<CpuId>,
) -> Outcome<Site<'a>> {
    let begun_on = begun_on.filter(|cpu| host.cpus_allowed.contains(cpu));
    let quiet_cpu = arguments
        .cpu
        .or(begun_on)
        .or_else(|| quietest_cpu(host))
        .ok_or_else(Failure::cpu_refusal)?;
    if !host.cpus_allowed.contains(&quiet_cpu) {
        return Err(Failure::usage(format!(
            "CPU {quiet_cpu} does not exist or is not allowed for this process; taskset -pc $$ shows the allowed CPUs"
        )));
    }
    let noisy_cpu = host
        .cpus_allowed
        .iter()
        .copied()
        .find(|cpu| *cpu != quiet_cpu);
    let effort = if arguments.quick {
        Effort::Quick
    } else {
        Effort::Usual
    };
    Ok(Site {
        host,
        quiet_cpu,
        noisy_cpu,
        effort,
        seed: arguments.seed,
        has_guest: arguments.system,
    })
}

/// Returns the budget in the command line of a step; 0 without one.
fn budget(step: &Step) -> Nanos {
    let mut words = step.arguments.iter().skip_while(|word| *word != "--budget");
    let named = words.nth(1).and_then(|word| word.parse().ok());
    named.unwrap_or(Nanos(0))
}

fn dry_run(papers: &[Paper], site: &Site<'_>) -> Outcome<Exit> {
    let steps: Vec<Step> = papers.iter().flat_map(|paper| paper.steps(site)).collect();
    let count = steps.len();
    let minutes = steps.iter().map(|step| budget(step).0).sum::<u64>() / 60_000_000_000;
    let mut text = format!(
        "# {count} commands, to be run in this order; the budgets of those that measure are {minutes} min in sum\nmkdir -p records\n"
    );
    for (number, step) in (1..).zip(&steps) {
        text += &format!("{}   # {number} of {count}\n", run::line(step));
    }
    Output::STDOUT.write(&text)?;
    Ok(Exit::Success)
}

/// Describes the machine in one line.
fn machine(host: &HostManifest) -> String {
    let model = host
        .cpu_model
        .known()
        .map_or("CPU not known", String::as_str);
    format!("{model}, {} CPUs, {}", host.cpus_allowed.len(), host.kernel)
}

fn write(done: &mut [Done], folder: &Folder, arguments: &ReproduceArguments) -> Outcome<Exit> {
    if arguments.quick {
        done.iter_mut()
            .flat_map(|done| &mut done.exhibits)
            .flat_map(|exhibit| &mut exhibit.claims)
            .for_each(Claim::withhold);
    }
    let reproductions: Vec<Reproduction<'_>> = done
        .iter()
        .map(|done| {
            Reproduction::new(done.paper, &done.exhibits, &done.commands, &done.machine)
                .judged_if(!arguments.quick)
        })
        .collect();
    site::write(&reproductions, folder, arguments.figures)?;
    let output = Output::claim(None)?;
    let style = output.style(arguments.verbosity);
    output.write(&render(&reproductions, arguments.format, style))?;
    say!("site: {}", folder.index().display());
    let is_missing = done.iter().any(|done| {
        done.commands
            .iter()
            .any(|command| command.missing.is_some())
    });
    Ok(if is_missing {
        Exit::Partial
    } else {
        Exit::Success
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Verb};

    #[test]
    fn every_step_is_a_command_that_the_program_takes() {
        let parse = |words: &str| match Cli::try_parse_from(words.split(' ')) {
            Ok(cli) => cli.verb,
            Err(mistake) => panic!("{words}: {mistake}"),
        };
        let Verb::Reproduce(arguments) = parse("switchcost reproduce all --system") else {
            panic!("another verb")
        };
        let host = manifest(&Root::system());
        let site = site(&arguments, &host, None).expect("a CPU");
        let steps = Paper::iter().flat_map(|paper| paper.steps(&site));
        for step in steps.filter(|step| step.source.is_none()) {
            let line = run::line(&step);
            let (_, own) = line.split_once("switchcost ").expect("our own program");
            let verb = parse(&format!("switchcost {own}"));
            let is_known = matches!(
                verb,
                Verb::Measure(_) | Verb::Trace(_) | Verb::Simulate(_) | Verb::Workload(_)
            );
            assert!(is_known, "{line}");
        }
    }
}
