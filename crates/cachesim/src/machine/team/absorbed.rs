//! Lines whose stores end with the write buffers of all members, as long as nothing happens behind these.

const LINES: usize = 1024;
const LINE_BITS: u32 = 48;

#[derive(Debug)]
pub(super) struct Absorbed {
    /// Line and generation.
    lines: [u64; LINES],
    generation: u64,
}

impl Absorbed {
    pub(super) fn new() -> Absorbed {
        Absorbed { lines: [0; LINES], generation: 1 << LINE_BITS }
    }

    #[inline(always)]
    pub(super) fn knows(&self, line: u64) -> bool {
        self.lines[line as usize % LINES] == line | self.generation
    }

    pub(super) fn keep(&mut self, line: u64) {
        self.lines[line as usize % LINES] = line | self.generation;
    }

    /// Nothing is known any more.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1 << LINE_BITS);
        if self.generation == 0 {
            *self = Absorbed::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_stays_forgotten_however_often() {
        let mut absorbed = Absorbed::new();
        absorbed.keep(7);
        assert!(absorbed.knows(7) && !absorbed.knows(7 + LINES as u64));
        for _ in 0..3 << (u64::BITS - LINE_BITS) {
            absorbed.forget();
            assert!(!absorbed.knows(7));
        }
        absorbed.keep(7 + LINES as u64);
        assert!(absorbed.knows(7 + LINES as u64) && !absorbed.knows(7));
    }
}
