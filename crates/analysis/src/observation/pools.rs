//! Pools of threads whose names differ only by a number: `pool-1-thread-7` is one of
//! `pool-1-thread-*`.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_record::observation::{Observation, Tasks};

/// Number of bytes of a thread name that the kernel stores. A longer name is truncated, perhaps
/// within its number.
const KEPT: usize = 15;

/// Number of bytes of a name after its number that are not truncated if the number has at most four
/// digits.
const COMMON: usize = 11;

/// Names under which tasks are reported: the name of their pool, or else their own name.
pub(super) struct Names<'a> {
    labels: BTreeMap<(&'a str, bool), String>,
}

impl<'a> Names<'a> {
    /// Finds the pools of an observation. A pool has at least two names that differ only by their
    /// number, or a name that is truncated before its number.
    pub(super) fn new(observation: &'a Observation) -> Names<'a> {
        let of_both = |tasks: &'a Tasks| [key(tasks), key_of_process(tasks)];
        let names: BTreeSet<(&str, bool)> = observation.tasks.iter().flat_map(of_both).collect();
        let mut sizes: BTreeMap<(String, bool), usize> = BTreeMap::new();
        for &(name, is_kernel) in &names {
            *sizes.entry((pool(name, is_kernel), is_kernel)).or_default() += 1;
        }
        let label = |(name, is_kernel): (&'a str, bool)| {
            let pool = (pool(name, is_kernel), is_kernel);
            let is_pool = sizes[&pool] > 1 || is_cut_before_its_number(name);
            (
                (name, is_kernel),
                if is_pool { pool.0 } else { name.to_owned() },
            )
        };
        Names {
            labels: names.iter().copied().map(label).collect(),
        }
    }

    /// Returns the name under which these tasks are reported.
    pub(super) fn label<'b>(&'b self, tasks: &'b Tasks) -> &'b str {
        self.labels.get(&key(tasks)).map_or("", String::as_str)
    }

    /// Returns the name under which the process of these tasks is reported, together with other
    /// processes of the pool.
    pub(super) fn process_label<'b>(&'b self, tasks: &'b Tasks) -> &'b str {
        self.labels
            .get(&key_of_process(tasks))
            .map_or("", String::as_str)
    }
}

fn key(tasks: &Tasks) -> (&str, bool) {
    (&tasks.name, tasks.is_kernel)
}

fn key_of_process(tasks: &Tasks) -> (&str, bool) {
    (tasks.process_name(), tasks.is_kernel)
}

/// Returns a name with its number replaced, which is the name of the pool.
fn pool(name: &str, is_kernel: bool) -> String {
    if is_kernel {
        return remove_cpu_numbers(name);
    }
    if is_cut_before_its_number(name) {
        return format!("{name}*");
    }
    if let Some(pool) = pool_numbered_inside(name) {
        return pool;
    }
    // QEMU's virtual CPUs have the number before the end of the name: CPU 3/KVM.
    let (body, end) = match name.strip_suffix("/KVM") {
        Some(body) => (body, "/KVM"),
        None => (name, ""),
    };
    let rest = body.trim_end_matches(|c: char| c.is_ascii_digit());
    if rest.len() == body.len() || rest.is_empty() {
        name.to_owned()
    } else {
        format!("{rest}*{end}")
    }
}

/// Returns the pool of a name whose number is at the beginning (Erlang's `12_scheduler`) or inside
/// (Python's `Thread-12 (work)`); `None` for other names. Of a truncated name, only the first
/// [`COMMON`] characters after the number are compared, because the truncated length depends on the
/// number.
fn pool_numbered_inside(name: &str) -> Option<String> {
    let (begin, rest) = match name.split_once('-') {
        Some((begin, rest)) if rest.contains(" (") => (&name[..=begin.len()], rest),
        _ => ("", name),
    };
    let behind = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered =
        behind.len() < rest.len() && behind.starts_with(if begin.is_empty() { "_" } else { " (" });
    let kept = behind
        .char_indices()
        .nth(COMMON)
        .map_or(behind, |(end, _)| &behind[..end]);
    is_numbered.then(|| match name.len() >= KEPT {
        true => format!("{begin}*{kept}*"),
        false => format!("{begin}*{behind}"),
    })
}

fn is_cut_before_its_number(name: &str) -> bool {
    name.len() >= KEPT && name.ends_with(['-', '_', '#', ':', '/', ' '])
}

/// Replaces the CPU number after a slash in the name of a kernel thread by `*`, and the worker's
/// number after that: `kworker/3:1H` becomes `kworker/*:*H`. A number that is part of a word, as in
/// `kworker/u8:1`, is kept.
fn remove_cpu_numbers(name: &str) -> String {
    let Some(slash) = name.find('/') else {
        return name.to_owned();
    };
    let mut label = name[..slash].to_owned();
    let mut before = '\0';
    for letter in name[slash..].chars() {
        let is_number = letter.is_ascii_digit() && !before.is_ascii_alphabetic();
        match (is_number, before) {
            (true, '*') => continue,
            (true, _) => label.push('*'),
            (false, _) => label.push(letter),
        }
        before = match letter {
            _ if is_number => '*',
            // A digit after a letter is part of a word, and so are the digits after it.
            digit if digit.is_ascii_digit() => before,
            other => other,
        };
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_called_after_what_its_threads_have_in_common() {
        let cases = [
            ("pool-1-thread-7", "pool-1-thread-*"),
            ("pool-12-thread-", "pool-12-thread-*"),
            ("ForkJoinPool-1-", "ForkJoinPool-1-*"),
            ("ForkJoinPool.co", "ForkJoinPool.co"),
            ("GC Thread#0", "GC Thread#*"),
            ("CPU 0/KVM", "CPU */KVM"),
            ("worker12", "worker*"),
            ("1_scheduler", "*_scheduler"),
            ("1_dirty_cpu_sch", "*_dirty_cpu_*"),
            ("128_dirty_cpu_s", "*_dirty_cpu_*"),
            ("Thread-7 (run)", "Thread-* (run)"),
            ("2_", "*_"),
            ("redis-server", "redis-server"),
            ("io-", "io-"),
            ("123", "123"),
            ("", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(pool(name, false), expected, "{name}");
        }
    }

    #[test]
    fn threads_of_the_kernel_are_reported_without_the_numbers_of_their_cpus() {
        let cases = [
            ("kworker/u8:1", "kworker/u8:*"),
            ("kworker/0:1", "kworker/*:*"),
            ("kworker/13:2H", "kworker/*:*H"),
            ("ksoftirqd/11", "ksoftirqd/*"),
            ("jbd2/vda1-8", "jbd2/vda1-*"),
            ("irq/24-ahci", "irq/*-ahci"),
            ("kthreadd", "kthreadd"),
            ("kcompactd0", "kcompactd0"),
        ];
        for (name, expected) in cases {
            assert_eq!(pool(name, true), expected, "{name}");
        }
    }
}
