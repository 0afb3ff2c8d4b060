//! A made-up switch: the switching arm burns a known time at each hand-off, and a known time more at each walk.
//! What the instrument makes of it is known before it is measured. Where both times are 0 the switching arm runs the
//! baseline's own code: two arms without any difference (an A/A run).

use std::io;
use std::rc::Rc;

use host::clock::Clock;
use host::evidence::TaskId;
use units::Ticks;

use super::Bodies;
use crate::experiment::{Batch, Experiment, Measured, Timed, Watch, time};
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
    /// Of the two readings that enclose a burn, this much lies outside what they measure.
    read_cost: u64,
    /// Burnt too much so far; at most one burn's worth is carried over.
    ahead: u64,
}

impl Burner {
    fn new(clock: Clock) -> Burner {
        Burner { clock, read_cost: clock.read_cost().0, ahead: 0 }
    }

    /// A burn of nothing costs nothing.
    fn burn(&mut self, ticks: Ticks) {
        if ticks.0 == 0 {
            return;
        }
        let due = ticks.0.saturating_sub(self.ahead);
        let start = self.clock.now();
        let mut spent = self.read_cost;
        while spent < due {
            spent = (self.clock.now() - start).0 + self.read_cost;
        }
        // An interrupt is nothing to make up for: what is carried over is below one burn.
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
        self.bodies.choose_arm(batch);
        watch.around(|clock| {
            let mut burner = Burner::new(clock);
            self.rounds(&mut burner, batch, batch.warm_up);
            let mut user_switches = 0;
            let ticks = time(clock, || {
                user_switches = self.rounds(&mut burner, batch, batch.rounds);
                Ok(())
            })?;
            Ok(Measured { handoffs: self.bodies.handoffs(batch), ticks, user_switches })
        })
    }
}
