//! Traces the system calls of a few observed processes, and the user code between the calls, in
//! slices of the window (docs/method/matched-intervals.md). A separate BPF program does this, and
//! is attached only during the slices.

mod kept;
mod layout;

use std::collections::BTreeSet;

use aya::maps::{Array, MapData, RingBuf};
use aya::programs::tp_btf::BtfTracePointLink;
use aya::programs::{BtfTracePoint, ProgramFd};
use aya::{Btf, Ebpf, EbpfLoader};
use switchcost_facts::Root;
use switchcost_host::clock::monotonic;
use switchcost_host::signals::block_signals;
use switchcost_record::observation::{CALL_COST, TracedCalls};
use switchcost_units::Nanos;
use zerocopy::FromBytes;

use crate::kernel::{NoBpf, btf_error, refused, refused_program};
use crate::options::CallTracing;
use kept::{Kept, MOST, SLICE};
use layout::{Call, Control, PROCESSES};

pub(crate) static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/calls.bpf.o"));

/// Start of the first slice, after the start of the observation. [`LENGTH`] is the length of a
/// slice, [`EACH`] the time from one slice to the next.
const FIRST: Nanos = Nanos::seconds(1);
const LENGTH: Nanos = Nanos::seconds(1);
const EACH: Nanos = Nanos::seconds(10);

/// Divisor of the observed tasks' CPU time that gives the largest cost of tracing.
const SHARE: u64 = 50;

/// Functions of the BPF program with their tracepoints, in the order of attachment.
const HOOKS: [(&str, &str); 5] = [
    ("on_switch", "sched_switch"),
    ("on_end", "sched_process_exit"),
    ("on_waking", "sched_waking"),
    ("on_exit", "sys_exit"),
    ("on_entry", "sys_enter"),
];

/// Kinds of interrupts that have a tracepoint at entry and at exit. If a kernel lacks one of the
/// tracepoints, the time of that kind counts as user time.
#[cfg(target_arch = "x86_64")]
const INTERRUPTS: [&str; 7] = [
    "irq_handler",
    "softirq",
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
];
#[cfg(not(target_arch = "x86_64"))]
const INTERRUPTS: [&str; 3] = ["irq_handler", "softirq", "ipi"];

/// Tracer of the system calls of observed processes, in short slices of the observation.
#[derive(Default)]
pub(crate) struct Calls {
    tracing: CallTracing,
    began: Nanos,
    /// Start of the next slice; `each` is the time from one slice to the next.
    next: Nanos,
    each: Nanos,
    tracer: Option<Tracer>,
    kept: Kept,
    /// Why no more calls are traced; `None` while they are.
    refused: Option<String>,
}

/// State of the observed tasks when a slice may begin.
pub(crate) trait Observed {
    /// Returns the CPU time of the observed tasks so far.
    fn cpu_time(&self) -> Nanos;

    /// Returns the observed processes that have switched since their observation began.
    fn processes(&self) -> BTreeSet<u32>;
}

impl Calls {
    pub(crate) fn new(tracing: CallTracing, now: Nanos) -> Calls {
        Calls {
            tracing,
            began: now,
            next: now + FIRST,
            each: EACH,
            tracer: None,
            kept: Kept::default(),
            refused: None,
        }
    }

    /// Begins and ends slices, and collects the traced calls. Must be called several times per
    /// second.
    pub(crate) fn tick(&mut self, now: Nanos, observed: &impl Observed) {
        let Some(tracer) = &mut self.tracer else {
            if self.is_due(now) {
                self.begin_first(now, &observed.processes());
            }
            return;
        };
        if let Some(until) = tracer.until {
            tracer.take(&mut self.kept);
            if now >= until || self.kept.is_full() || !self.is_cheap(now, observed) {
                self.end_slice(now);
            }
        } else if now >= self.next && self.is_cheap(now, observed) {
            self.begin_slice(now);
        }
    }

    fn is_due(&self, now: Nanos) -> bool {
        self.tracing != CallTracing::Never && self.refused.is_none() && now >= self.next
    }

    /// Whether the calls traced so far have cost at most 1/[`SHARE`] of the CPU time that the
    /// observed tasks will have used at the end of the observation. Always true unless slices are
    /// sampled.
    fn is_cheap(&self, now: Nanos, observed: &impl Observed) -> bool {
        let CallTracing::Sampled { duration } = self.tracing else {
            return true;
        };
        let elapsed = now.saturating_sub(self.began).0.max(1);
        let whole = duration.map_or(elapsed, |duration| duration.0.max(elapsed));
        let used = u128::from(observed.cpu_time().0) * u128::from(whole) / u128::from(elapsed);
        u128::from(self.kept.traced() * CALL_COST.0) <= used / u128::from(SHARE)
    }

    fn length(&self) -> Nanos {
        match self.tracing {
            CallTracing::Once(length) => length,
            CallTracing::Never | CallTracing::Sampled { .. } => LENGTH,
        }
    }

    fn room(&self) -> usize {
        match self.tracing {
            CallTracing::Once(_) => MOST,
            CallTracing::Never | CallTracing::Sampled { .. } => SLICE,
        }
    }

    fn begin_first(&mut self, now: Nanos, processes: &BTreeSet<u32>) {
        match processes.len() {
            0 => return,
            1..=PROCESSES => {}
            count => {
                let why = format!("at most {PROCESSES} of {count} processes can be traced");
                self.refused = Some(why);
                return;
            }
        }
        match Tracer::load(processes) {
            Ok(tracer) => {
                self.tracer = Some(tracer);
                self.kept.name_processes(&Root::system(), processes);
                self.begin_slice(now);
            }
            Err(why) => self.refused = Some(why.to_string()),
        }
    }

    fn begin_slice(&mut self, now: Nanos) {
        let (length, room) = (self.length(), self.room());
        let Some(tracer) = &mut self.tracer else {
            return;
        };
        match tracer.begin(length) {
            Ok(began) => self.kept.begin(began, room),
            Err(why) => self.refused = Some(why.to_string()),
        }
        self.next = match self.tracing {
            CallTracing::Sampled { .. } => now + self.each,
            CallTracing::Never | CallTracing::Once(_) => Nanos(u64::MAX),
        };
    }

    fn end_slice(&mut self, now: Nanos) {
        let Some(tracer) = &mut self.tracer else {
            return;
        };
        tracer.end();
        tracer.take(&mut self.kept);
        if self.kept.end(now) {
            self.each = Nanos(self.each.0 * 2);
        }
    }

    /// Returns the loaded BPF programs. The run time of these programs is a cost of the
    /// observation.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &ProgramFd> {
        self.tracer.iter().flat_map(Tracer::programs)
    }

    /// Returns why no call was traced; `None` if calls were. `is_over` tells whether the
    /// observation has ended.
    pub(crate) fn missing_because(&self, is_over: bool) -> Option<String> {
        let why = match self.tracing {
            _ if self.kept.traced() > 0 => return None,
            CallTracing::Never => "--no-calls, --counts-only and --all trace no system calls",
            _ if !is_over => "no system call has been traced yet",
            _ if self.tracer.is_some() => "no system call was made while calls were traced",
            _ => "the observation ended before system calls were traced",
        };
        Some(self.refused.clone().unwrap_or_else(|| why.to_owned()))
    }

    /// Returns the calls of finished slices; `None` if no slice has begun.
    pub(crate) fn clone_ended(&self) -> Option<TracedCalls> {
        let lost = self.tracer.as_ref()?.lost();
        Some(self.kept.clone_calls(lost))
    }

    /// Ends the tracing. Returns all traced calls (`None` if no slice has begun), and why there are
    /// none.
    pub(crate) fn finish(mut self, now: Nanos) -> (Option<TracedCalls>, Option<String>) {
        self.end_slice(now);
        let missing_because = self.missing_because(true);
        let lost = self.tracer.as_ref().map(Tracer::lost);
        let calls = lost.map(|lost| self.kept.into_calls(lost));
        (calls, missing_because)
    }
}

/// The loaded BPF program that traces system calls.
struct Tracer {
    ebpf: Ebpf,
    control: Array<MapData, Control>,
    calls: RingBuf<MapData>,
    /// Links that keep the program attached to its tracepoints.
    links: Vec<BtfTracePointLink>,
    until: Option<Nanos>,
}

impl Tracer {
    fn load(processes: &BTreeSet<u32>) -> Result<Tracer, NoBpf> {
        if OBJECT.is_empty() {
            return Err(NoBpf::NotBuilt);
        }
        let btf = Btf::from_sys_fs().map_err(|error| btf_error(&error))?;
        let mut traced = [0u32; PROCESSES];
        for (slot, process) in traced.iter_mut().zip(processes) {
            *slot = *process;
        }
        let mut loader = EbpfLoader::new();
        loader
            .btf(Some(&btf))
            .allow_unsupported_maps()
            .override_global("processes", &traced[..], true);
        let mut ebpf = loader
            .load(OBJECT)
            .map_err(|error| refused("the tables of calls", &error))?;
        let tables = |error: aya::maps::MapError| refused("the tables of calls", &error.into());
        let control = Array::try_from(ebpf.take_map("control").expect("the program has it"))
            .map_err(tables)?;
        let calls = RingBuf::try_from(ebpf.take_map("calls").expect("the program has it"))
            .map_err(tables)?;
        for (function, tracepoint) in HOOKS {
            load(&mut ebpf, function, tracepoint, &btf)
                .map_err(|error| refused_program("to trace calls", &error))?;
        }
        for name in INTERRUPTS {
            for end in ["entry", "exit"] {
                let tracepoint = format!("{name}_{end}");
                let _ = load(&mut ebpf, &format!("on_{tracepoint}"), &tracepoint, &btf);
            }
        }
        Ok(Tracer {
            ebpf,
            control,
            calls,
            links: Vec::new(),
            until: None,
        })
    }

    /// Begins a slice of this length. Returns its start: loading and attaching take up to a second
    /// on a busy machine, and are not part of the slice.
    fn begin(&mut self, length: Nanos) -> Result<Nanos, NoBpf> {
        let mut control = self.control.get(&0, 0).unwrap_or_default();
        control[0] += 1;
        self.control
            .set(0, control, 0)
            .map_err(|error| refused("to begin a slice", &error.into()))?;
        // Exits are attached first: an interrupt between the two attachments would otherwise never
        // end.
        let mut names: Vec<String> = ["exit", "entry"]
            .iter()
            .flat_map(|end| INTERRUPTS.map(|name| format!("on_{name}_{end}")))
            .collect();
        let is_needed = names.len();
        names.extend(HOOKS.map(|(function, _)| function.to_owned()));
        for (at, name) in names.iter().enumerate() {
            let program = function(&mut self.ebpf, name);
            let link = program.attach().and_then(|link| program.take_link(link));
            match link {
                Ok(link) => self.links.push(link),
                Err(error) if at >= is_needed => {
                    self.links.clear();
                    return Err(refused_program("to trace calls", &error));
                }
                Err(_) => {}
            }
        }
        let began = monotonic();
        self.until = Some(Nanos(began.0.saturating_add(length.0)));
        Ok(began)
    }

    fn end(&mut self) {
        self.until = None;
        // The calls are detached first, then the tracepoints that they depend on.
        while self.links.pop().is_some() {}
    }

    fn take(&mut self, kept: &mut Kept) {
        let root = Root::system();
        while let Some(item) = self.calls.next() {
            if let Ok(call) = Call::read_from_bytes(&item) {
                kept.add(&root, &call);
            }
        }
    }

    fn programs(&self) -> impl Iterator<Item = &ProgramFd> {
        self.ebpf
            .programs()
            .filter_map(|(_, program)| program.fd().ok())
    }

    fn lost(&self) -> u64 {
        self.control.get(&0, 0).unwrap_or_default()[1]
    }
}

fn function<'a>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut BtfTracePoint {
    let program = ebpf.program_mut(name).expect("the program has it");
    program.try_into().expect("a function at a tracepoint")
}

fn load(
    ebpf: &mut Ebpf,
    name: &str,
    tracepoint: &str,
    btf: &Btf,
) -> Result<(), aya::programs::ProgramError> {
    // The verifier aborts when a signal is pending.
    let blocked = block_signals().ok();
    let loaded = function(ebpf, name).load(tracepoint, btf);
    drop(blocked);
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Busy(Nanos);

    impl Observed for Busy {
        fn cpu_time(&self) -> Nanos {
            self.0
        }

        fn processes(&self) -> BTreeSet<u32> {
            BTreeSet::new()
        }
    }

    /// Whether tracing counts as cheap after 1,000 traced calls, 400 us in all. In the second since
    /// the start, the observed tasks used `used` of CPU time.
    fn is_cheap(tracing: CallTracing, used: Nanos) -> bool {
        let began = Nanos::seconds(9);
        let mut calls = Calls::new(tracing, began);
        calls.kept.begin(began, SLICE);
        let root = Root::new("/nowhere");
        (0..1_000).for_each(|_| calls.kept.add(&root, &Call::default()));
        calls.is_cheap(began + Nanos::seconds(1), &Busy(used))
    }

    #[test]
    fn an_observation_says_why_no_call_was_traced_as_long_as_none_was() {
        let why = |is_over| {
            let tracing = CallTracing::Sampled { duration: None };
            let calls = Calls::new(tracing, Nanos(0));
            calls.missing_because(is_over).expect("no call was traced")
        };
        assert_eq!(why(false), "no system call has been traced yet");
        assert_eq!(
            why(true),
            "the observation ended before system calls were traced"
        );
    }

    #[test]
    fn tracing_takes_at_most_a_fiftieth_of_what_the_observed_use() {
        let sampled = |duration| CallTracing::Sampled { duration };
        assert!(is_cheap(sampled(None), Nanos::millis(21)));
        assert!(!is_cheap(sampled(None), Nanos::millis(19)));
        // At that rate the observed will have used 190 ms at the end.
        let ten = Some(Nanos::seconds(10));
        assert!(is_cheap(sampled(ten), Nanos::millis(19)));
        assert!(!is_cheap(sampled(ten), Nanos::micros(1_900)));
        assert!(is_cheap(CallTracing::Once(Nanos::seconds(3)), Nanos(0)));
    }
}
