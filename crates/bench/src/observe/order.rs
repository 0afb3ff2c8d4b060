//! Orders in which a program may touch its memory.

use std::hint::black_box;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Words of a cache line, and of a page.
const LINE: usize = 8;
const PAGE: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each word, one after the other.
    Sequential,
    /// One word of each line, each leads to the next, in random order.
    Chase,
    /// One word of each line, one after the other.
    WordALine,
    /// One word of one line of each page, one after the other.
    LineAPage,
}

impl Order {
    pub(crate) const ALL: [Order; 4] = [
        Order::Sequential,
        Order::Chase,
        Order::WordALine,
        Order::LineAPage,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Order::Sequential => "in-order",
            Order::Chase => "chase",
            Order::WordALine => "word-a-line",
            Order::LineAPage => "line-a-page",
        }
    }

    /// About what one walk takes, in nanoseconds.
    pub(crate) fn walk_ns(self, bytes: usize) -> f64 {
        let each = match self {
            Order::Sequential => 0.5,
            Order::WordALine => 2.0,
            Order::LineAPage => 20.0,
            Order::Chase if bytes > 2 << 20 => 200.0,
            Order::Chase => 8.0,
        };
        (bytes / 8 / self.step()) as f64 * each
    }

    fn step(self) -> usize {
        match self {
            Order::Sequential => 1,
            Order::Chase | Order::WordALine => LINE,
            Order::LineAPage => PAGE,
        }
    }

    /// An array of so many bytes to be walked.
    pub(crate) fn array(self, bytes: usize) -> Vec<u64> {
        let mut array = vec![1u64; bytes / 8];
        if self == Order::Chase {
            let mut lines: Vec<usize> = (0..array.len() / LINE).map(|line| line * LINE).collect();
            lines.shuffle(&mut ChaCha8Rng::seed_from_u64(bytes as u64));
            for (here, next) in lines.iter().zip(lines.iter().cycle().skip(1)) {
                array[*here] = *next as u64;
            }
        }
        array
    }

    pub(crate) fn walk(self, array: &mut [u64]) {
        match self {
            Order::Chase => chase(array),
            // The lines of pages differ, or all would fall on a few sets of the caches.
            Order::LineAPage => (0..array.len() / PAGE)
                .for_each(|page| touch(&mut array[page * PAGE + page * LINE % PAGE])),
            Order::WordALine => array.iter_mut().step_by(LINE).for_each(touch),
            Order::Sequential => black_box(array)
                .iter_mut()
                .for_each(|word| *word = word.wrapping_mul(3)),
        }
    }
}

fn touch(word: &mut u64) {
    *word = black_box(word.wrapping_mul(3));
}

fn chase(array: &[u64]) {
    let mut at = 0;
    for _ in 0..array.len() / LINE {
        at = array[at] as usize;
    }
    black_box(at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_touches_what_it_says_once() {
        let touched = |order: Order| {
            let mut array = order.array(64 << 10);
            order.walk(&mut array);
            array.iter().filter(|word| **word == 3).count()
        };
        assert_eq!(
            [Order::Sequential, Order::WordALine, Order::LineAPage].map(touched),
            [8_192, 1_024, 16]
        );
    }

    #[test]
    fn a_chase_comes_by_every_line_before_it_is_back() {
        let array = Order::Chase.array(64 << 10);
        let (mut at, mut steps) = (0, 0);
        while steps == 0 || at != 0 {
            at = array[at] as usize;
            steps += 1;
        }
        assert_eq!(steps, 1_024);
    }
}
