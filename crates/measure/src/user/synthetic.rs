//! A made-up switch: the switching arm burns a known time at each hand-off, and a known time more at each walk.
//! What the instrument makes of it is known before it is measured. Where both times are 0 the switching arm runs the
//! baseline's own code: two arms without any difference (an A/A run).

use std::io;
use std::rc::Rc;

use host::clock::Clock;
use host::evidence::TaskId;
use units::Ticks;

use super::Bodies;
use crate::experiment::{Batch, Experiment, Timed, Watch};
use crate::protocol::Order;

pub(super) struct Synthetic {
    bodies: Rc<Bodies>,
    switch: Ticks,
    reload: Ticks,
}

impl Synthetic {
    pub(super) fn new(bodies: Rc<Bodies>, order: &Order) -> Synthetic {
        let ticks = |nanos| order.rate.ticks(nanos);
        Synthetic { bodies, switch: ticks(order.synthetic_switch_ns), reload: ticks(order.synthetic_reload_ns) }
    }

    fn rounds(&self, burner: &mut Burner, batch: Batch, rounds: u64) -> u64 {
        let burnt = if batch.arm.walks() { Ticks(self.switch.0 + self.reload.0) } else { self.switch };
        for _ in 0..rounds {
            for task in 0..self.bodies.tasks {
                self.bodies.turn(task);
                burner.burn(burnt);
            }
        }
        rounds * self.bodies.tasks as u64
    }
}

/// Spins for known times. What one burn takes too long, because the clock is read in steps, the next takes less.
struct Burner {
    clock: Clock,
    /// What a burn costs beyond the distance of its first and last reading; calibrated, not assumed.
    overhead: u64,
    /// Burnt too much so far; at most half a burn is carried over.
    ahead: u64,
}

impl Burner {
    fn new(clock: Clock) -> Burner {
        let costs = (0..16).map(|_| Burner { clock, overhead: 0, ahead: 0 }.cost_beyond());
        Burner { clock, overhead: costs.min().unwrap_or(0), ahead: 0 }
    }

    /// A hundred burns of a microsecond or so, timed from outside.
    fn cost_beyond(mut self) -> u64 {
        const BURNS: u64 = 100;
        let each = Ticks(2_000);
        let start = self.clock.now();
        for _ in 0..BURNS {
            self.burn(each);
        }
        ((self.clock.now() - start).0 / BURNS).saturating_sub(each.0)
    }

    /// A burn of nothing costs nothing.
    #[inline(never)]
    fn burn(&mut self, ticks: Ticks) {
        if ticks.0 == 0 {
            return;
        }
        let due = ticks.0.saturating_sub(self.ahead);
        let start = self.clock.now();
        let mut spent = self.overhead;
        while spent < due {
            spent = (self.clock.now() - start).0 + self.overhead;
        }
        // An interrupt is nothing to make up for.
        self.ahead = (spent - due).min(ticks.0 / 2);
    }
}

impl Experiment for Synthetic {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            return self.bodies.baseline(batch, watch);
        }
        if self.switch.0 + self.reload.0 == 0 {
            let timed = self.bodies.baseline(batch, watch)?;
            return Ok(Timed { user_switches: timed.handoffs, ..timed });
        }
        let mut burner = Burner::new(watch.clock);
        self.bodies.switching(batch, watch, |rounds| self.rounds(&mut burner, batch, rounds))
    }
}
