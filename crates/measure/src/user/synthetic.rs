//! A synthetic switch. The switching arm spends a known time at each hand-off, and another known
//! time at each walk, so the correct result is known. If both times are 0, the switching arm runs
//! the code of the baseline: two arms without any difference (an A/A run).

use std::io;
use std::rc::Rc;

use switchcost_host::clock::Clock;
use switchcost_host::evidence::TaskId;
use switchcost_units::Ticks;

use super::Bodies;
use crate::experiment::{Batch, Experiment, Timed};
use crate::protocol::Order;

pub(super) struct Synthetic {
    bodies: Rc<Bodies>,
    switch: Ticks,
    reload: Ticks,
    burner: Burner,
}

impl Synthetic {
    pub(super) fn new(bodies: Rc<Bodies>, order: &Order) -> Synthetic {
        let ticks = |nanos| order.rate.ticks(nanos);
        let burner = Burner::new(order.clock, &bodies);
        Synthetic {
            bodies,
            switch: ticks(order.synthetic_switch_ns),
            reload: ticks(order.synthetic_reload_ns),
            burner,
        }
    }
}

fn rounds(bodies: &Bodies, burner: &mut Burner, switch: Ticks, reload: Ticks, rounds: u64) -> u64 {
    for _ in 0..rounds {
        for task in 0..bodies.tasks {
            if bodies.walks.get() {
                bodies.walk_timed(task, || burner.burn(reload));
            } else {
                bodies.turn(task);
            }
            burner.burn(switch);
        }
    }
    rounds * bodies.tasks as u64
}

/// Generator of delays of known lengths in a loop. If one delay takes too long, because the clock
/// has steps or an interrupt came, the next ones are shorter.
struct Burner {
    clock: Clock,
    /// Cost of a delay beyond the time between its first and its last reading of the clock, in
    /// ticks; from calibration.
    overhead: i64,
    /// Time that is still to be spent, in ticks; negative if too much was spent.
    owed: i64,
}

/// Number of delays in a calibration. Each delay has [`CALIBRATION_TICKS`], about a microsecond.
const CALIBRATION: u64 = 200;
const CALIBRATION_TICKS: Ticks = Ticks(2_000);

impl Burner {
    fn new(clock: Clock, bodies: &Bodies) -> Burner {
        let costs = (0..16).map(|_| {
            Burner {
                clock,
                overhead: 0,
                owed: 0,
            }
            .cost_beyond(bodies)
        });
        Burner {
            clock,
            overhead: costs.min().unwrap_or(0),
            owed: 0,
        }
    }

    /// Returns the ticks that a delay adds to a loop beyond the delay's own length.
    fn cost_beyond(mut self, bodies: &Bodies) -> i64 {
        let start = self.clock.now();
        for _ in 0..CALIBRATION {
            bodies.turn(0);
        }
        let middle = self.clock.now();
        for _ in 0..CALIBRATION {
            bodies.turn(0);
            self.burn(CALIBRATION_TICKS);
        }
        let end = self.clock.now();
        let longer = (end - middle).0 as i64 - (middle - start).0 as i64;
        (longer + self.owed) / CALIBRATION as i64 - CALIBRATION_TICKS.0 as i64
    }

    /// Uses the CPU for a time. A time of 0 costs nothing.
    #[inline(never)]
    fn burn(&mut self, ticks: Ticks) {
        if ticks.0 == 0 {
            return;
        }
        self.owed += ticks.0 as i64;
        let start = self.clock.now();
        let mut spent = self.overhead;
        while spent < self.owed {
            spent = (self.clock.now() - start).0 as i64 + self.overhead;
        }
        self.owed -= spent;
    }
}

impl Experiment for Synthetic {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        let bodies = Rc::clone(&self.bodies);
        if !batch.arm.switches() {
            return bodies.baseline(batch);
        }
        if self.switch.0 + self.reload.0 == 0 {
            let timed = bodies.baseline(batch)?;
            return Ok(Timed {
                user_switches: timed.handoffs,
                switching_handoffs: timed.handoffs,
                ..timed
            });
        }
        let (switch, reload) = (self.switch, self.reload);
        self.burner.owed = 0;
        bodies.switching(batch, |count| {
            rounds(&bodies, &mut self.burner, switch, reload, count)
        })
    }
}
