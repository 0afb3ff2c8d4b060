//! Chains of cache lines in which each line is needed for the address of the next, so that a core
//! cannot request them at the same time.

use switchcost_trace::CHAIN_WINDOW;

use crate::streams::HOT;

/// A chain of lines that are requested in the same window of [`CHAIN_WINDOW`] instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chain {
    /// Number of the window, from 1; 0 for an empty chain.
    window: u32,
    /// Twice the number of lines that no first level holds; plus 1 if a line that a first level
    /// holds ends the chain.
    length: u32,
}

impl Chain {
    /// Returns the chain with one more line of age `age`, which is requested after `at`
    /// instructions.
    pub(crate) fn extended(self, at: u64, age: u32) -> Chain {
        let in_window = Chain {
            window: window_of(at),
            length: 0,
        };
        let with_young = self.max(in_window).length | 1;
        Chain {
            length: with_young + u32::from(age >= HOT),
            ..in_window
        }
    }

    /// Whether instruction number `at` is in the window of the chain.
    pub(crate) fn is_at(self, at: u64) -> bool {
        self.window == window_of(at)
    }
}

fn window_of(at: u64) -> u32 {
    (1 + at / CHAIN_WINDOW) as u32
}
