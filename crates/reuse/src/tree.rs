//! A tree that counts the marked positions after a position (P. M. Fenwick, "A new data structure
//! for cumulative frequency tables", 1994).

#[derive(Debug)]
pub(crate) struct Tree {
    sums: Vec<u32>,
    marks: u32,
}

impl Tree {
    /// Makes a tree with `places` positions, of which the first `marked` are marked.
    pub(crate) fn new(places: usize, marked: usize) -> Tree {
        let mut sums = vec![0; places + 1];
        for at in 1..=places {
            sums[at] += u32::from(at <= marked);
            let parent = at + (at & at.wrapping_neg());
            if parent <= places {
                sums[parent] += sums[at];
            }
        }
        Tree {
            sums,
            marks: marked as u32,
        }
    }

    pub(crate) fn places(&self) -> usize {
        self.sums.len() - 1
    }

    pub(crate) fn mark(&mut self, place: usize) {
        self.change(place, 1);
        self.marks += 1;
    }

    pub(crate) fn unmark(&mut self, place: usize) {
        self.change(place, u32::MAX);
        self.marks -= 1;
    }

    fn change(&mut self, place: usize, by: u32) {
        let mut at = place + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the number of marked positions after a position.
    pub(crate) fn count_after(&self, place: usize) -> u32 {
        let (mut at, mut until) = (place + 1, 0);
        while at > 0 {
            until += self.sums[at];
            at &= at - 1;
        }
        self.marks - until
    }
}
