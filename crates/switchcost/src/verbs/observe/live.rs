//! The screen of `--live`: the last moment, drawn again and again.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::Paragraph;
use switchcost_analysis::observation::{Findings, ProcessFinding, analyse};
use switchcost_host::cleanup::{CleanupHelper, Step};
use switchcost_observation::Observation;
use switchcost_observe::{NoBpf, ObserveError};
use switchcost_report::observe::By;
use switchcost_report::{Format, Style};

use crate::exit::Failure;
use crate::terminal;

/// From one picture to the next.
const EACH: Duration = Duration::from_secs(1);

/// Below this there is no room for the answer and one table.
const LEAST: (u16, u16) = (60, 16);

/// By what the table of names is ordered, and the key for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Cost,
    Switches,
    Involuntary,
    Wait,
}

impl Order {
    fn of_key(key: char) -> Option<Order> {
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
            Order::Cost => found.cost_ns.map_or(found.switches as f64, |cost| {
                cost.likely.unwrap_or(cost.high)
            }),
            Order::Switches => found.switches as f64,
            Order::Involuntary => found.involuntary as f64,
            Order::Wait => found
                .wait
                .map_or(0.0, |wait| wait.p99_ns.unwrap_or(f64::INFINITY)),
        }
    }
}

/// Holds the terminal: as it was again when dropped.
pub(super) struct Live {
    terminal: DefaultTerminal,
    /// Does the same where we are killed.
    _helper: Option<CleanupHelper>,
    order: Order,
    is_paused: bool,
    is_left: bool,
    drawn: Option<Instant>,
    before: Option<Observation>,
    text: String,
}

impl Live {
    pub(super) fn start() -> Result<Live, Failure> {
        if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
            return Err(Failure::NoTerminal("found none".to_owned()));
        }
        if let Some(name) = terminal::without_cursor() {
            return Err(Failure::NoTerminal(format!(
                "found one without a cursor (TERM={name})"
            )));
        }
        // Where there is none, a kill leaves the terminal as it is then.
        let helper = CleanupHelper::start(&Step::Terminal).ok();
        let terminal = ratatui::try_init()
            .map_err(|error| Failure::NoTerminal(format!("found one that refuses ({error})")))?;
        Ok(Live {
            terminal,
            _helper: helper,
            order: Order::Cost,
            is_paused: false,
            is_left: false,
            drawn: None,
            before: None,
            text: "Counting ...".to_owned(),
        })
    }

    /// Whether the user has left it.
    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    /// Takes what was typed, and draws where it is time.
    pub(super) fn tick(
        &mut self,
        so_far: impl FnOnce() -> Result<Observation, NoBpf>,
    ) -> Result<(), Failure> {
        let lost = |error: io::Error| Failure::NoTerminal(format!("lost it ({error})"));
        let mut is_changed = self.take_keys().map_err(lost)?;
        let is_time = self.drawn.is_none_or(|drawn| drawn.elapsed() >= EACH) && !self.is_paused;
        if is_time || (is_changed && !self.is_paused) {
            let now = so_far().map_err(ObserveError::from)?;
            let shown = self
                .before
                .as_ref()
                .map_or_else(|| now.clone(), |before| now.since(before));
            self.text = self.page(&shown);
            // A change of the order shows the same moment so far, not a shorter one.
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
                // In raw mode the terminal sends no signal.
                KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => {
                    self.is_left = true
                }
                _ if modifiers.contains(KeyModifiers::CONTROL) => {}
                KeyCode::Char('q') | KeyCode::Esc => self.is_left = true,
                KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
                KeyCode::Char(key) => self.order = Order::of_key(key).unwrap_or(self.order),
                _ => {}
            }
        }
        Ok(is_changed)
    }

    fn page(&self, observation: &Observation) -> String {
        let mut findings: Findings = analyse(observation);
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
        terminal::shown(
            &switchcost_report::observe::render(
                observation,
                &findings,
                By::Program,
                Format::Table,
                style,
            ),
            &io::stdout(),
        )
    }

    fn draw(&mut self) -> io::Result<()> {
        let state = if self.is_paused {
            "paused"
        } else {
            "the last second"
        };
        let help = format!(
            "{state}, by {:?} | c cost, s switches, i involuntary, w wait | p pause, q leave",
            self.order
        );
        let text = format!("{}\n\n{}", help.to_lowercase(), self.text);
        self.terminal.draw(|frame| {
            let area = frame.area();
            let is_small = area.width < LEAST.0 || area.height < LEAST.1;
            let small = format!("need {} columns and {} lines; q leaves", LEAST.0, LEAST.1);
            frame.render_widget(Paragraph::new(if is_small { small } else { text }), area);
        })?;
        Ok(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
