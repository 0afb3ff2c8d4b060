//! The screen of `--live`, which shows about the last second and is redrawn periodically.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::Paragraph;
use switchcost_analysis::observation::{Findings, ProcessFinding};
use switchcost_host::cleanup::{CleanupHelper, Step};
use switchcost_observe::{NoBpf, ObserveError};
use switchcost_record::observation::Observation;
use switchcost_report::observe::By;
use switchcost_report::{Format, Style};
use switchcost_units::Nanos;

use super::matching::Matching;
use crate::exit::{Failure, Outcome};
use crate::terminal;

/// Time between two screens.
const EACH: Duration = Duration::from_secs(1);

/// Least number of columns and rows of the terminal: enough for the answer and one table.
const LEAST: (u16, u16) = (60, 16);

/// Help on the keys, which fits on the narrowest terminal.
const KEYS: &str = "[q]uit [p]ause; sort: [c]ost [s]witches [i]nvoluntary [w]ait";

/// Sort order of the table of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Cost,
    Switches,
    Involuntary,
    Wait,
}

impl Order {
    fn order_by_key(key: char) -> Option<Order> {
        match key {
            'c' => Some(Order::Cost),
            's' => Some(Order::Switches),
            'i' => Some(Order::Involuntary),
            'w' => Some(Order::Wait),
            _ => None,
        }
    }

    fn value(self, found: &ProcessFinding) -> f64 {
        match self {
            Order::Cost => found.likely_ns().unwrap_or(found.switches as f64),
            Order::Switches => found.switches as f64,
            Order::Involuntary => found.involuntary as f64,
            Order::Wait => found
                .wait
                .map_or(0.0, |wait| wait.p99_ns.unwrap_or(f64::INFINITY)),
        }
    }
}

fn missing_terminal(why: &str) -> Failure {
    Failure::usage(format!(
        "--live needs a terminal, but {why}; use --every 1s for a line of JSON each second, or leave out --live for one report"
    ))
}

/// Returns an error for a terminal that cannot be redrawn, or that has no keyboard.
pub(super) fn check_terminal() -> Outcome {
    let refused = |why: &str| Err(missing_terminal(why));
    if !io::stdout().is_terminal() {
        return refused("standard output is not one");
    }
    if !io::stdin().is_terminal() {
        return refused("standard input is not one");
    }
    match terminal::cursorless() {
        Some(name) => refused(&format!("this one (TERM={name}) has no cursor")),
        None => Ok(()),
    }
}

/// The live screen. Dropping this value restores the terminal.
pub(super) struct Live {
    terminal: DefaultTerminal,
    /// Cleanup helper that restores the terminal if this process is killed; `None` if it could not
    /// be started.
    _helper: Option<CleanupHelper>,
    order: Order,
    is_paused: bool,
    is_left: bool,
    /// Time of the last redraw, or of the start of the first interval; `None` before.
    drawn: Option<Instant>,
    before: Option<Observation>,
    /// Length of the interval shown on the screen; `None` before the first.
    interval: Option<Nanos>,
    text: String,
    matching: Matching,
}

impl Live {
    pub(super) fn start(matching: Matching) -> Outcome<Live> {
        check_terminal()?;
        // Without the cleanup helper, a kill leaves the terminal in raw mode.
        let helper = CleanupHelper::start(&Step::Terminal).ok();
        let terminal = ratatui::try_init()
            .map_err(|error| missing_terminal(&format!("this one refuses ({error})")))?;
        Ok(Live {
            terminal,
            _helper: helper,
            order: Order::Cost,
            is_paused: false,
            is_left: false,
            drawn: None,
            before: None,
            interval: None,
            text: "Counting ...".to_owned(),
            matching,
        })
    }

    /// Returns true if the user has quit.
    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    /// Handles keys, and redraws the screen if a redraw is due.
    pub(super) fn tick(&mut self, so_far: impl FnOnce() -> Result<Observation, NoBpf>) -> Outcome {
        let lost = |error: io::Error| missing_terminal(&format!("this one is gone ({error})"));
        let mut is_changed = self.take_keys().map_err(lost)?;
        is_changed |= self.drawn.is_none();
        let drawn = *self.drawn.get_or_insert_with(Instant::now);
        let is_time = drawn.elapsed() >= EACH && !self.is_paused;
        if is_time || (is_changed && !self.is_paused && self.before.is_some()) {
            let now = so_far().map_err(ObserveError::from)?;
            let shown = self
                .before
                .as_ref()
                .map_or_else(|| now.clone(), |before| now.since(before));
            self.interval = Some(shown.window_ns);
            self.text = self.page(&shown);
            // A change of the sort order shows the same interval again, not a shorter one.
            if is_time {
                self.before = Some(now);
                self.drawn = Some(Instant::now());
            }
            is_changed = true;
        }
        if is_changed {
            self.draw().map_err(lost)
        } else {
            Ok(())
        }
    }

    fn take_keys(&mut self) -> io::Result<bool> {
        let mut is_changed = false;
        while event::poll(Duration::ZERO)? {
            is_changed = true;
            let Event::Key(KeyEvent {
                code, modifiers, ..
            }) = event::read()?
            else {
                continue;
            };
            match code {
                // In raw mode the terminal sends no signal for Ctrl-C.
                KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => {
                    self.is_left = true
                }
                _ if modifiers.contains(KeyModifiers::CONTROL) => {}
                KeyCode::Char('q') | KeyCode::Esc => self.is_left = true,
                KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
                KeyCode::Char(key) => self.order = Order::order_by_key(key).unwrap_or(self.order),
                _ => {}
            }
        }
        Ok(is_changed)
    }

    fn page(&self, observation: &Observation) -> String {
        let mut findings: Findings = self.matching.analyse(observation);
        findings
            .names
            .sort_by(|a, b| self.order.value(b).total_cmp(&self.order.value(a)));
        let width = self
            .terminal
            .size()
            .map_or(Style::USUAL_WIDTH, |size| size.width);
        let style = Style {
            width: Some(width),
            ..Style::default()
        };
        terminal::shown(&report(observation, &findings, style), &io::stdout())
    }

    fn draw(&mut self) -> io::Result<()> {
        let head = head(
            self.is_paused,
            self.interval,
            self.order,
            self.matching.age(),
        );
        let text = format!("{head}\n{}", self.text);
        self.terminal.draw(|frame| {
            let area = frame.area();
            let is_small = area.width < LEAST.0 || area.height < LEAST.1;
            let small = format!(
                "the terminal needs {} columns and {} lines (q quits)",
                LEAST.0, LEAST.1
            );
            frame.render_widget(Paragraph::new(if is_small { small } else { text }), area);
        })?;
        Ok(())
    }
}

/// Renders the report on one interval.
fn report(observation: &Observation, findings: &Findings, style: Style) -> String {
    switchcost_report::observe::render(observation, findings, By::Program, Format::Table, style)
}

/// Returns the lines above the report: the interval shown, the sort order and the keys.
fn head(
    is_paused: bool,
    interval: Option<Nanos>,
    order: Order,
    age_of_caches: Option<Duration>,
) -> String {
    let state = if is_paused { "Paused. " } else { "" };
    let interval = interval.map_or("No data yet".to_owned(), |time| {
        format!("Last {:.2} s", time.0 as f64 / 1e9)
    });
    let order = format!("{order:?}").to_lowercase();
    let caches = age_of_caches.map_or(String::new(), |age| {
        format!("; the cost of cold caches is from {} s ago", age.as_secs())
    });
    format!("{state}{interval}, sorted by {order}{caches}\n{KEYS}\n")
}

impl Drop for Live {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use switchcost_analysis::observation::analyse;

    use super::*;

    #[test]
    fn a_frame_reads_as_kept() {
        let sample = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../record/tests/samples/observation-2.json"
        );
        let observation = Observation::read(Path::new(sample)).expect("a sample");
        let report = report(&observation, &analyse(&observation), Style::default());
        let head = head(false, Some(observation.window_ns), Order::Cost, None);
        let frame = format!("{head}\n{report}");
        assert!(
            frame.lines().count() <= 45 && frame.lines().all(|line| line.chars().count() <= 100),
            "{frame}"
        );
        insta::assert_snapshot!(frame);
    }

    #[test]
    fn the_narrowest_terminal_shows_all_keys() {
        assert!(KEYS.len() <= usize::from(LEAST.0), "{}", KEYS.len());
    }
}
