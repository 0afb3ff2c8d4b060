//! Ends each subcommand by each signal, at random moments.

use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};

use crate::campaign::{Kind, Sample};
use crate::judge;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::run::{LONGEST, Ran, Running};
use crate::table::{self, Kill, Victim};
use crate::verb::{self, Verb};

/// Longest time until a program that catches a signal ends. One second is enough unless the machine
/// is busy.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

pub(crate) struct Kills {
    verbs: Vec<Verb>,
    kills: Vec<Kill>,
}

impl Kills {
    pub(crate) fn new() -> Kills {
        Kills {
            verbs: table::verbs(),
            kills: table::read::<table::Kills>(include_str!("../tables/kills.toml")).kill,
        }
    }

    fn kill(&self, name: &str) -> Result<&Kill, String> {
        let found = self.kills.iter().find(|kill| kill.title() == name);
        found.ok_or_else(|| format!("found the kill {name}, need one of tables/kills.toml"))
    }
}

impl Kill {
    fn title(&self) -> String {
        let victim = if self.victim == Victim::Child {
            "-child"
        } else {
            ""
        };
        format!("{}{victim}", self.signal)
    }

    fn signal(&self) -> Result<Signal, String> {
        let signals = [
            Signal::KILL,
            Signal::TERM,
            Signal::INT,
            Signal::HUP,
            Signal::QUIT,
        ];
        let found = signals
            .into_iter()
            .find(|signal| format!("{signal:?}").contains(&self.signal));
        found.ok_or_else(|| {
            format!(
                "found the signal {}, need one that ends a program",
                self.signal
            )
        })
    }
}

impl Kind for Kills {
    fn name(&self) -> &'static str {
        "kills"
    }

    fn sample(&self) -> Sample {
        Sample::OfEachPair(1)
    }

    fn draw(&self, _: &Place, _: &str, random: &mut ChaCha8Rng) -> Vec<String> {
        let mut names = Vec::new();
        for verb in &self.verbs {
            for kill in &self.kills {
                for _ in 0..kill.moments {
                    let moment = random.random_range(0..=verb.lasts_ms * 1000);
                    names.push(format!("kills/{}/{}/{moment}us", verb.name, kill.title()));
                }
            }
        }
        names
    }

    fn attempt(&self, place: &Place, parts: &[&str]) -> Result<Outcome, String> {
        let [verb, kill, moment] = parts else {
            return Err("need kills/VERB/SIGNAL/MOMENT".to_owned());
        };
        let (verb, kill) = (verb::named(&self.verbs, verb)?, self.kill(kill)?);
        let moment = moment
            .strip_suffix("us")
            .and_then(|number| number.parse().ok());
        let moment = Duration::from_micros(moment.ok_or("need a moment such as 350us")?);
        let whole = match verb.whole(place) {
            Ok(whole) => whole,
            Err(why) => return Ok(Outcome::Untried(why)),
        };
        let bystander = place.bystander()?;
        let running = verb.run(place).start();
        std::thread::sleep(moment);
        if !send(place, &running, kill, moment)? {
            let _ = running.end(LONGEST);
            return Ok(Outcome::Untried("it had no child then".to_owned()));
        }
        let longest = if kill.answers {
            ANSWERS_WITHIN
        } else {
            LONGEST
        };
        let ran = running.end(longest);
        if kill.victim == Victim::Child || ran.code() == Some(whole.code) {
            return Ok(judge::judge_run(verb, place, &whole, &ran, &bystander).into());
        }
        let judged = is_ended_by(kill, &ran).and_then(|()| judge::is_tidy(place, &bystander));
        let judged = judged.and_then(|()| verb.check_made(place, &whole, false));
        Ok(judged
            .and_then(|()| ran.terminal.clone().map_or(Ok(()), Err))
            .into())
    }
}

/// Sends the signal of a trial. Returns false if no process could receive the signal.
fn send(
    place: &Place,
    running: &Running<'_>,
    kill: &Kill,
    moment: Duration,
) -> Result<bool, String> {
    let signal = kill.signal()?;
    let program = Pid::from_child(&running.child);
    if kill.victim == Victim::Program {
        // The process has not been waited for, so its PID is not reused, even if the process has
        // ended.
        kill_process(program, signal).map_err(|error| error.to_string())?;
        return Ok(true);
    }
    let own = program.as_raw_nonzero().get();
    let children: Vec<i32> = place
        .processes()
        .into_iter()
        .filter(|pid| *pid != own)
        .collect();
    let victim = children
        .get(moment.as_micros() as usize % children.len().max(1))
        .copied()
        .and_then(Pid::from_raw);
    Ok(victim.is_some_and(|victim| kill_process(victim, signal).is_ok()))
}

/// Checks that the signal ended the program, either directly or with exit code 128 plus the
/// signal's number.
fn is_ended_by(kill: &Kill, ran: &Ran) -> Result<(), String> {
    judge::is_orderly(ran)?;
    let number = kill.signal()?.as_raw();
    let is_ended = ran.signal() == Some(number) || kill.answers && ran.code() == Some(128 + number);
    if is_ended {
        Ok(())
    } else {
        Err(format!(
            "need the end by {}: {}",
            kill.signal,
            ran.reported()
        ))
    }
}
