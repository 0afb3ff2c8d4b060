//! Switches and wake-ups as a Perfetto trace for ui.perfetto.dev and its trace processor. The trace
//! consists of the kernel's own events, so that the tables of the scheduler and of thread states
//! work.

mod messages;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use prost::Message;
use switchcost_analysis::observation::DirectCosts;
use switchcost_record::observation::{Event, EventKind, Thread};
use switchcost_units::{CpuId, Nanos};

use messages::{
    COUNTER, Clock, ClockSnapshot, CounterDescriptor, FtraceEvent, FtraceEventBundle, Packet,
    Process, ProcessTree, SchedSwitch, SchedWaking, ThreadName, Trace, TrackDescriptor, TrackEvent,
    clock,
};

/// Largest number of threads whose names are stored; further threads are shown by their IDs.
const MOST_THREADS: usize = 1 << 16;

/// Sequence ID that all packets of a trace share (`trusted_packet_sequence_id`).
const SEQUENCE: u32 = 1;

/// One moment on three clocks of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Time by CLOCK_MONOTONIC, the clock of events.
    pub monotonic: Nanos,
    /// Time by CLOCK_BOOTTIME, the clock of the kernel's own traces.
    pub boot: Nanos,
    /// Time by CLOCK_REALTIME, the clock of dates.
    pub real: Nanos,
}

/// Length of the window over which the cost of switches is added up for one value of a CPU's
/// counter.
const WINDOW: Nanos = Nanos(10_000_000);

/// Cost of the switches on one CPU within a window, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    begins: u64,
    cost: f64,
}

/// Writer of a Perfetto trace, which is written while events occur.
pub struct Perfetto<W> {
    into: W,
    /// Boot time minus monotonic time. The difference grows only while the machine sleeps, so it is
    /// constant during an observation.
    asleep: u64,
    threads: HashMap<u32, Thread>,
    costs: Option<DirectCosts>,
    windows: BTreeMap<CpuId, Window>,
}

impl<W: Write> Perfetto<W> {
    /// Begins a trace. If the costs of switches are known, the trace has a counter for each CPU:
    /// the share of the CPU's time that switches take, in percent.
    ///
    /// # Errors
    ///
    /// If the trace cannot be written.
    pub fn begin(into: W, clocks: Clocks, costs: Option<DirectCosts>) -> io::Result<Perfetto<W>> {
        let asleep = clocks.boot.0.saturating_sub(clocks.monotonic.0);
        let mut trace = Perfetto {
            into,
            asleep,
            threads: HashMap::new(),
            costs,
            windows: BTreeMap::new(),
        };
        let clock = |clock_id, time: Nanos| Clock {
            clock_id,
            timestamp: time.0,
        };
        trace.put(Packet {
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock(clock::REALTIME, clocks.real),
                    clock(clock::MONOTONIC, clocks.monotonic),
                    clock(clock::BOOTTIME, clocks.boot),
                ],
                primary_trace_clock: clock::BOOTTIME as i32,
            }),
            timestamp: clocks.boot.0,
            ..Packet::default()
        })?;
        Ok(trace)
    }

    /// Writes events to the trace. Events of one CPU must be in order of time, within one call and
    /// from call to call.
    ///
    /// # Errors
    ///
    /// If the events cannot be written.
    pub fn add(&mut self, events: &[Event]) -> io::Result<()> {
        let mut by_cpu: BTreeMap<CpuId, Vec<FtraceEvent>> = BTreeMap::new();
        for event in events {
            self.remember(&event.from);
            self.remember(&event.to);
            by_cpu.entry(event.cpu).or_default().push(self.event(event));
            self.add_cost(event)?;
        }
        for (cpu, event) in by_cpu {
            let bundle = FtraceEventBundle { cpu: cpu.0, event };
            self.put(Packet {
                ftrace_events: Some(bundle),
                ..Packet::default()
            })?;
        }
        Ok(())
    }

    /// Adds the direct cost of a switch to the window of its CPU, in nanoseconds. A switch away
    /// from the idle thread has no cost.
    fn add_cost(&mut self, event: &Event) -> io::Result<()> {
        let (Some(costs), EventKind::Switch { state }) = (self.costs, event.kind) else {
            return Ok(());
        };
        if event.from.thread == 0 {
            return Ok(());
        }
        let begins = event.at.0 - event.at.0 % WINDOW.0;
        let last = match self.windows.get(&event.cpu) {
            Some(last) => *last,
            None => {
                self.describe(event.cpu)?;
                Window { begins, cost: 0.0 }
            }
        };
        let mut window = last;
        if last.begins != begins {
            self.count(event.cpu, last.begins, last.cost)?;
            // Without this value of 0, a viewer would show the last cost until the next switch.
            if last.begins + WINDOW.0 < begins {
                self.count(event.cpu, last.begins + WINDOW.0, 0.0)?;
            }
            window = Window { begins, cost: 0.0 };
        }
        // State 0 is TASK_RUNNING: the task was preempted.
        window.cost += if state == 0 {
            costs.involuntary_ns
        } else {
            costs.voluntary_ns
        };
        self.windows.insert(event.cpu, window);
        Ok(())
    }

    fn describe(&mut self, cpu: CpuId) -> io::Result<()> {
        let track_descriptor = Some(TrackDescriptor {
            uuid: track(cpu),
            name: format!("Direct cost of switches, CPU {}", cpu.0),
            counter: Some(CounterDescriptor {
                unit_name: "% of the CPU".to_owned(),
            }),
        });
        self.put(Packet {
            track_descriptor,
            ..Packet::default()
        })
    }

    /// Writes one value of a CPU's counter, in percent of [`WINDOW`]. `at` is the start of the
    /// window in monotonic nanoseconds, and `cost` the cost of its switches in nanoseconds.
    fn count(&mut self, cpu: CpuId, at: u64, cost: f64) -> io::Result<()> {
        let share = cost / WINDOW.0 as f64;
        let track_event = TrackEvent {
            kind: COUNTER,
            track_uuid: track(cpu),
            double_counter_value: Some(share * 100.0),
        };
        let timestamp = at.saturating_add(self.asleep);
        self.put(Packet {
            track_event: Some(track_event),
            timestamp,
            ..Packet::default()
        })
    }

    /// Writes the last values of the counters and the names of threads; returns the underlying
    /// writer.
    ///
    /// # Errors
    ///
    /// If the end of the trace cannot be written.
    pub fn end(mut self, now: Clocks) -> io::Result<W> {
        for (cpu, last) in std::mem::take(&mut self.windows) {
            self.count(cpu, last.begins, last.cost)?;
        }
        let mut threads: Vec<Thread> = std::mem::take(&mut self.threads).into_values().collect();
        threads.sort_by_key(|thread| (thread.process, thread.thread));
        let mut tree = ProcessTree::default();
        for of_process in threads.chunk_by(|a, b| a.process == b.process) {
            // A process has the name of its main thread, if that thread was seen.
            let main = of_process
                .iter()
                .find(|thread| thread.thread == thread.process);
            let cmdline = main
                .iter()
                .map(|thread| thread.name().into_owned())
                .collect();
            tree.processes.push(Process {
                pid: of_process[0].process as i32,
                cmdline,
                cmdline_is_comm: true,
            });
            let thread = |thread: &Thread| ThreadName {
                tid: thread.thread as i32,
                name: thread.name().into_owned(),
                tgid: thread.process as i32,
            };
            tree.threads.extend(of_process.iter().map(thread));
        }
        self.put(Packet {
            process_tree: Some(tree),
            timestamp: now.boot.0,
            ..Packet::default()
        })?;
        Ok(self.into)
    }

    fn remember(&mut self, thread: &Thread) {
        // The idle threads of all CPUs share the number 0, but each has its own name.
        if thread.thread != 0
            && (self.threads.len() < MOST_THREADS || self.threads.contains_key(&thread.thread))
        {
            self.threads.insert(thread.thread, *thread);
        }
    }

    fn event(&self, event: &Event) -> FtraceEvent {
        let (from, to) = (&event.from, &event.to);
        let mut reported = FtraceEvent {
            timestamp: event.at.0.saturating_add(self.asleep),
            pid: from.thread,
            ..FtraceEvent::default()
        };
        match event.kind {
            EventKind::Switch { state } => {
                reported.sched_switch = Some(SchedSwitch {
                    prev_comm: from.name().into_owned(),
                    prev_pid: from.thread as i32,
                    prev_prio: from.priority,
                    prev_state: i64::from(state),
                    next_comm: to.name().into_owned(),
                    next_pid: to.thread as i32,
                    next_prio: to.priority,
                });
            }
            EventKind::Wakeup => {
                reported.sched_waking = Some(SchedWaking {
                    comm: to.name().into_owned(),
                    pid: to.thread as i32,
                    prio: to.priority,
                    success: 1,
                });
            }
        }
        reported
    }

    /// Writes one packet. A trace is a protobuf message that consists of packets only, so
    /// concatenated traces form a single trace.
    fn put(&mut self, packet: Packet) -> io::Result<()> {
        let packet = Packet {
            trusted_packet_sequence_id: SEQUENCE,
            ..packet
        };
        self.into.write_all(
            &Trace {
                packet: vec![packet],
            }
            .encode_to_vec(),
        )
    }
}

/// Returns the track ID of a CPU's counter. Track IDs must be unique within a trace.
fn track(cpu: CpuId) -> u64 {
    0x5343_0000_0000 + u64::from(cpu.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: u32, name: &str) -> Thread {
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Thread {
            thread: number,
            process: number,
            priority: 120,
            name: bytes,
        }
    }

    /// Expected bytes of the next test's trace, as Perfetto's Python classes write them (package
    /// perfetto 0.59.1).
    const THEIRS: &str = "0a1e32170a05080110a8460a05080310d00f0a05080610b410100640b41050010a400a3c0800122208be101007221b0a0461223c62\
                          1007187820012a09737761707065722f3030003878121408c8101000a2010c0a0461223c6210071878200150010a1f12180a0a08\
                          071a0461223c624801120a0807120461223c6218074098115001";

    #[test]
    fn a_trace_is_byte_for_byte_what_perfetto_writes() {
        let clocks = |boot| Clocks {
            monotonic: Nanos(2000),
            boot: Nanos(boot),
            real: Nanos(9000),
        };
        let mut trace = Perfetto::begin(Vec::new(), clocks(2100), None).expect("memory");
        let (own, idle) = (thread(7, "a\"<b"), thread(0, "swapper/0"));
        let event = |at, kind, from, to| Event {
            at: Nanos(at),
            cpu: CpuId(0),
            kind,
            from,
            to,
        };
        let away = event(2010, EventKind::Switch { state: 1 }, own, idle);
        trace
            .add(&[away, event(2020, EventKind::Wakeup, idle, own)])
            .expect("memory");
        let bytes = trace.end(clocks(2200)).expect("memory");
        let own: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(own, THEIRS);
    }

    #[test]
    fn costs_are_counters_of_each_cpu() {
        let clocks = Clocks {
            monotonic: Nanos(0),
            boot: Nanos(0),
            real: Nanos(0),
        };
        let costs = DirectCosts {
            voluntary_ns: 2000.0,
            involuntary_ns: 1000.0,
        };
        let mut trace = Perfetto::begin(Vec::new(), clocks, Some(costs)).expect("memory");
        let (own, idle) = (thread(7, "a"), thread(0, "swapper/0"));
        let switch = |at_ms: u64, state, from, to| Event {
            at: Nanos(at_ms * 1_000_000),
            cpu: CpuId(1),
            kind: EventKind::Switch { state },
            from,
            to,
        };
        // One waits, and comes back from the idle thread; is preempted; and waits in a later window.
        let events = [
            switch(11, 1, own, idle),
            switch(12, 0, idle, own),
            switch(19, 0, own, own),
            switch(45, 1, own, idle),
        ];
        events
            .iter()
            .try_for_each(|event| trace.add(&[*event]))
            .expect("memory");
        let bytes = trace.end(clocks).expect("memory");
        let packets = Trace::decode(&bytes[..]).expect("our own").packet;
        let tracks: Vec<_> = packets
            .iter()
            .filter_map(|packet| packet.track_descriptor.as_ref())
            .collect();
        assert_eq!((tracks.len(), tracks[0].uuid), (1, track(CpuId(1))));
        let values = packets
            .iter()
            .filter_map(|packet| Some((packet.timestamp, packet.track_event.as_ref()?)));
        let share = |event: &TrackEvent| {
            (event.double_counter_value.expect("a value") * 1000.0).round() / 1000.0
        };
        let values: Vec<(u64, f64)> = values
            .map(|(at, event)| (at / 1_000_000, share(event)))
            .collect();
        assert_eq!(
            values,
            [(10, 0.03), (20, 0.0), (40, 0.02)],
            "ms, and percent of 10 ms"
        );
    }

    #[test]
    fn a_process_whose_main_thread_was_not_seen_has_no_name() {
        let clocks = Clocks {
            monotonic: Nanos(0),
            boot: Nanos(0),
            real: Nanos(0),
        };
        let mut trace = Perfetto::begin(Vec::new(), clocks, None).expect("memory");
        let worker = Thread {
            process: 6,
            ..thread(7, "worker")
        };
        trace
            .add(&[Event {
                at: Nanos(1),
                cpu: CpuId(1),
                kind: EventKind::Wakeup,
                from: worker,
                to: worker,
            }])
            .expect("memory");
        let bytes = trace.end(clocks).expect("memory");
        let packets = Trace::decode(&bytes[..]).expect("our own").packet;
        let tree = packets
            .last()
            .and_then(|packet| packet.process_tree.clone())
            .expect("the names");
        assert_eq!(
            (
                tree.processes[0].cmdline.len(),
                tree.threads[0].name.as_str()
            ),
            (0, "worker")
        );
    }
}
