//! Sums over intervals, the parts into which the instructions after a switch are divided. The costs
//! of switches are computed from these sums.

use switchcost_design::result::{Interval, OfOthers};

/// Function that returns one kind of cycles of a sum: [`Sum::excess`], [`Sum::lost`],
/// [`Sum::gained`], or [`Sum::state`].
pub(crate) type Cycles = fn(&Sum) -> f64;

/// Sums over all intervals that are equally far from their switch: segments, instructions, and
/// cycles in each hierarchy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) segments: u64,
    pub(crate) instructions: u64,
    pub(crate) shared: u64,
    pub(crate) private: u64,
    pub(crate) flushed: u64,
    /// Cycles that lookups took longer, or saved, because of other processes; 0 if unknown.
    pub(crate) of_others: OfOthers,
}

impl Sum {
    pub(crate) fn new(interval: &Interval) -> Self {
        Sum {
            segments: interval.segments.into(),
            instructions: interval.instructions,
            shared: interval.cycles.shared,
            private: interval.cycles.private,
            flushed: interval.cycles.flushed,
            of_others: interval.of_others.unwrap_or_default(),
        }
    }

    pub(crate) fn add(&mut self, other: &Sum) {
        self.segments = self.segments.saturating_add(other.segments);
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.shared = self.shared.saturating_add(other.shared);
        self.private = self.private.saturating_add(other.private);
        self.flushed = self.flushed.saturating_add(other.flushed);
        self.of_others = self.of_others.plus(other.of_others);
    }

    pub(crate) fn less(&self, other: &Sum) -> Sum {
        Sum {
            segments: self.segments.saturating_sub(other.segments),
            instructions: self.instructions.saturating_sub(other.instructions),
            shared: self.shared.saturating_sub(other.shared),
            private: self.private.saturating_sub(other.private),
            flushed: self.flushed.saturating_sub(other.flushed),
            of_others: self.of_others.less(other.of_others),
        }
    }

    /// Returns the shared minus the private cycles, without the savings of first touches. The
    /// result is negative if the shared hierarchy was faster.
    pub(crate) fn excess(&self) -> f64 {
        difference(
            self.shared.saturating_add(self.of_others.first_touches),
            self.private,
        )
    }

    /// Returns the cycles lost to other processes.
    pub(crate) fn lost(&self) -> f64 {
        self.of_others.lost as f64
    }

    /// Returns the cycles gained from other processes, without first touches.
    pub(crate) fn gained(&self) -> f64 {
        self.of_others.gained as f64
    }

    /// Returns the excess cycles that no other process caused: excess minus lost plus gained.
    pub(crate) fn state(&self) -> f64 {
        self.excess() - self.lost() + self.gained()
    }

    /// Returns the cycles of one kind per instruction; `None` without instructions.
    pub(crate) fn cpi(&self, cycles: Cycles) -> Option<f64> {
        (self.instructions > 0).then(|| cycles(self) / self.instructions as f64)
    }

    pub(crate) fn private_cpi(&self) -> Option<f64> {
        (self.instructions > 0).then(|| self.private as f64 / self.instructions as f64)
    }
}

/// Returns `a` minus `b`, computed exactly before rounding to a float.
pub(crate) fn difference(a: u64, b: u64) -> f64 {
    (i128::from(a) - i128::from(b)) as f64
}

/// Adds the sums of `from` to those of `to`, interval by interval.
pub(crate) fn add_all(to: &mut [Sum], from: &[Sum]) {
    to.iter_mut().zip(from).for_each(|(to, from)| to.add(from));
}

/// Sums over all intervals that are equally far from their switch, and the spread between segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) sum: Sum,
    /// Sums of the squared CPI, weighted by instructions: shared, private and excess.
    pub(crate) squares: [f64; 3],
    /// Largest CPI of any segment; `-inf` if no segment ran half of the interval.
    pub(crate) largest: Largest,
    /// Whether the cell contains intervals that are sums over several segments.
    pub(crate) is_mixed: bool,
}

/// Largest shared, private and excess CPI of any segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Largest(pub(crate) [f64; 3]);

impl Default for Largest {
    fn default() -> Self {
        Largest([f64::NEG_INFINITY; 3])
    }
}

impl Cell {
    /// Adds an interval. `length` is the number of instructions of a complete interval.
    pub(crate) fn add_interval(&mut self, interval: &Interval, length: u64) {
        let sum = Sum::new(interval);
        self.sum.add(&sum);
        self.is_mixed |= interval.segments != 1;
        if interval.instructions == 0 {
            return;
        }
        let instructions = interval.instructions as f64;
        let cycles = [sum.shared as f64, sum.private as f64, sum.excess()];
        for (i, cycles) in cycles.into_iter().enumerate() {
            self.squares[i] += cycles * cycles / instructions;
            if interval.instructions >= length.div_ceil(2) {
                self.largest.0[i] = self.largest.0[i].max(cycles / instructions);
            }
        }
    }

    pub(crate) fn add(&mut self, other: &Cell) {
        self.sum.add(&other.sum);
        self.is_mixed |= other.is_mixed;
        for i in 0..3 {
            self.squares[i] += other.squares[i];
            self.largest.0[i] = self.largest.0[i].max(other.largest.0[i]);
        }
    }
}
