//! Tests which line leaves, on sequences worked out by hand.

use switchcost_design::{Level, Replacement, Ways};

use super::build::{LINE, Program, behind_free_fetches, data_cache, level, run, simulated};

/// Returns which letters miss in one set of this many ways.
fn misses(replacement: Replacement, ways: u64, letters: &str) -> String {
    let cache = Level {
        replacement,
        ..data_cache(ways, Ways::Full)
    };
    let design = behind_free_fetches(vec![cache]);
    let missed_after = |count: usize| {
        let mut program = Program::new(1);
        letters
            .bytes()
            .take(count)
            .for_each(|letter| program.load(u64::from(letter) * LINE));
        level(&simulated(&design, &program), "D").load_misses
    };
    let is_miss = |&(index, _): &(usize, char)| missed_after(index + 1) > missed_after(index);
    letters
        .chars()
        .enumerate()
        .filter(is_miss)
        .map(|(_, letter)| letter)
        .collect()
}

#[test]
fn each_policy_evicts_the_expected_line() {
    for (replacement, ways, letters, missed) in [
        // C evicts B (A was used since), B evicts A.
        (Replacement::Lru, 2, "ABACBA", "ABCBA"),
        // C evicts A, though A was used last; A evicts B.
        (Replacement::Fifo, 2, "ABACA", "ABCA"),
        (Replacement::Lru, 2, "ABACA", "ABC"),
        // Ways hold ABCD. D turned the root to the lower half, B turned that half's bit to A: E
        // drives out A. Now the root points to the upper half, where D turned the bit to C: A
        // drives out C. B is found, the root points up again, the bit there to D: C drives out D.
        (Replacement::TreePlru, 4, "ABCDEABC", "ABCDEAC"),
        (Replacement::Lru, 4, "ABCDEABC", "ABCDEABC"),
        // A 2, B 2; A found: 0. C: A 1, B 3: B leaves, C 2. B: A 2, C 3: C leaves. A is found.
        (Replacement::Srrip, 2, "ABACBA", "ABCB"),
    ] {
        assert_eq!(misses(replacement, ways, letters), missed, "{replacement}");
    }
}

/// Uses a cache of two ways and eight sets, of which set 0 leads for SRRIP and set 1 for BRRIP.
#[test]
fn drrip_follows_whichever_misses_less() {
    let misses = |replacement, leading_set: u64| {
        let cache = Level {
            replacement,
            ..data_cache(16, Ways::Count(2))
        };
        let mut program = Program::new(1);
        let load =
            |program: &mut Program, set: u64, line: u64| program.load((line * 8 + set) * LINE);
        load(&mut program, leading_set, 0);
        [0, 1, 2, 0, 1]
            .into_iter()
            .for_each(|line| load(&mut program, 2, line));
        level(&run(cache, &program), "D").load_misses - 1
    };
    // A 2, B 2. C: both 3, A leaves, B stays at 3: B leaves for A. B is missed.
    assert_eq!(
        (misses(Replacement::Srrip, 0), misses(Replacement::Drrip, 1)),
        (5, 5)
    );
    // A 3, B 3: A leaves for C, and C, 3 again, for A. B is found.
    assert_eq!(misses(Replacement::Drrip, 0), 4);
}

#[test]
fn ship_lets_go_what_an_instruction_brings_in_in_vain() {
    let misses = |replacement| {
        let cache = Level {
            replacement,
            ..data_cache(2, Ways::Full)
        };
        let mut program = Program::new(1);
        let scans = 0x40_0140;
        for letter in "RaRbcdefR".bytes() {
            let address = u64::from(letter) * LINE;
            if letter == b'R' {
                program.load(address)
            } else {
                program.load_by(scans, address)
            }
        }
        level(&run(cache, &program), "D").load_misses
    };
    // R 0, a 2. b: R 1, a 3: a leaves. c: R 2, b 3: b leaves. d: R 3, c 3: R leaves.
    assert_eq!(misses(Replacement::Srrip), 8);
    // a leaves without a hit: b and the lines after it come in with 3 and leave immediately.
    assert_eq!(misses(Replacement::Ship), 7);
}

#[test]
fn random_draws_a_way_for_each_line_that_leaves() {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};
    let mut generator = ChaCha8Rng::seed_from_u64(0);
    let letters = "ABCDEABCDEEDCBAABCDE";
    let (mut ways, mut missed) = (Vec::new(), String::new());
    for letter in letters.chars() {
        if ways.contains(&letter) {
            continue;
        }
        missed.push(letter);
        if ways.len() < 3 {
            ways.push(letter);
        } else {
            ways[generator.next_u32() as usize % 3] = letter;
        }
    }
    assert_eq!(misses(Replacement::Random, 3, letters), missed);
}
