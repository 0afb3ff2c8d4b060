//! Runs each subcommand in each unusual environment.

use std::path::Path;

use rand_chacha::ChaCha8Rng;

use crate::campaign::{Kind, Sample};
use crate::judge;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::run::Ran;
use crate::table::{self, Environment};
use crate::verb::{self, Verb};
use crate::whole::Whole;

/// Programs that set up an environment. The error messages of these programs begin with their
/// names.
const MAKERS: [&str; 11] = [
    "unshare:", "setpriv:", "prlimit:", "mount:", "strace:", "chrt:", "taskset:", "setarch:",
    "nice:", "env:", "sh:",
];
/// Numbers of SIGKILL and SIGXCPU, by which the kernel ends a process that exceeds its limits.
const LIMIT_SIGNALS: [i32; 2] = [9, 24];

pub(crate) struct Environments {
    verbs: Vec<Verb>,
    environments: Vec<Environment>,
}

impl Environments {
    pub(crate) fn new() -> Environments {
        let table: table::Environments = table::read(include_str!("../tables/environments.toml"));
        Environments {
            verbs: table::verbs(),
            environments: table.environment,
        }
    }
}

impl Kind for Environments {
    fn name(&self) -> &'static str {
        "environments"
    }

    fn sample(&self) -> Sample {
        Sample::OfEachPart(3)
    }

    fn draw(&self, _: &Place, _: &str, _: &mut ChaCha8Rng) -> Vec<String> {
        let mut names = Vec::new();
        for environment in &self.environments {
            let verbs = self
                .verbs
                .iter()
                .filter(|verb| !environment.not_in.contains(&verb.name));
            names.extend(
                verbs.map(|verb| format!("environments/{}/{}", environment.name, verb.name)),
            );
        }
        names
    }

    fn attempt(&self, place: &Place, parts: &[&str]) -> Result<Outcome, String> {
        let [environment, verb] = parts else {
            return Err("need environments/NAME/VERB".to_owned());
        };
        let found = self
            .environments
            .iter()
            .find(|found| found.name == *environment);
        let environment = found
            .ok_or_else(|| format!("found {environment}, need one of tables/environments.toml"))?;
        let verb = verb::named(&self.verbs, verb)?;
        let whole = match verb.whole(place) {
            Ok(whole) => whole,
            Err(why) => return Ok(Outcome::Untried(why)),
        };
        let bystander = place.bystander()?;
        let mut run = verb.run(place);
        run.wrap.clone_from(&environment.wrap);
        run.set = environment.set.clone().into_iter().collect();
        run.unset = &environment.unset;
        let ran = run.whole();
        if let Some(why) = cannot_be_made(&ran) {
            return Ok(Outcome::Untried(format!("{}: {why}", environment.name)));
        }
        if environment.killed && is_ended_by_limit(&ran) {
            return Ok(judge::is_tidy(place, &bystander).into());
        }
        // Texts may differ in another environment, and results in a private mount are invisible
        // here.
        let is_visible = !environment.wrap.iter().any(|word| word.contains("{made}"));
        let whole = if is_visible {
            whole.with_other_texts()
        } else {
            whole.hidden()
        };
        let judged = judge::judge_run(verb, place, &whole, &ran, &bystander);
        Ok(judged
            .and_then(|()| is_as_promised(place, environment, &whole, &ran))
            .into())
    }
}

fn is_as_promised(
    place: &Place,
    environment: &Environment,
    whole: &Whole,
    ran: &Ran,
) -> Result<(), String> {
    if !environment.silent {
        judge::is_explained(ran)?;
    }
    let has_failed = !environment.silent && matches!(ran.code(), Some(1 | 2 | 5));
    if environment
        .says
        .as_ref()
        .is_some_and(|words| has_failed && !ran.stderr.contains(words))
    {
        return Err(format!(
            "need a message with {:?}: {}",
            environment.says,
            ran.reported()
        ));
    }
    let forbidden = environment
        .forbids
        .as_ref()
        .map(|path| place.expanded(path));
    if let Some(path) = forbidden.filter(|path| Path::new(path).exists()) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        return Err(format!("it made {path}: {text:?}"));
    }
    // A number that could not be measured next to another task is not a difference.
    let is_same =
        ran.code() == Some(whole.code) || matches!((ran.code(), whole.code), (Some(0 | 3), 0 | 3));
    if environment.works && !is_same {
        Err(format!("need exit code {}: {}", whole.code, ran.reported()))
    } else {
        Ok(())
    }
}

/// Returns true if a resource limit ended the program: the kernel killed it, or it ended itself
/// after SIGXCPU with exit code 128 plus the signal's number.
fn is_ended_by_limit(ran: &Ran) -> bool {
    ran.code() == Some(152)
        || ran
            .signal()
            .is_some_and(|signal| LIMIT_SIGNALS.contains(&signal))
}

fn cannot_be_made(ran: &Ran) -> Option<String> {
    let line = ran
        .stderr
        .lines()
        .find(|line| MAKERS.iter().any(|maker| line.starts_with(maker)))?;
    matches!(ran.code(), Some(1 | 2 | 32 | 125..=127)).then(|| line.to_owned())
}
