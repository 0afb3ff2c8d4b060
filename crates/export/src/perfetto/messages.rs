//! Messages of `perfetto_trace.proto` that this crate writes, with their field numbers.

use prost::Message;

/// Kind of a track event with a counter's value (`TrackEvent.Type.TYPE_COUNTER`).
pub(super) const COUNTER: i32 = 4;

/// Clock IDs of Perfetto (`BuiltinClock`).
pub(super) mod clock {
    pub(in crate::perfetto) const REALTIME: u32 = 1;
    pub(in crate::perfetto) const MONOTONIC: u32 = 3;
    pub(in crate::perfetto) const BOOTTIME: u32 = 6;
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub(super) packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Packet {
    #[prost(message, optional, tag = "1")]
    pub(super) ftrace_events: Option<FtraceEventBundle>,
    #[prost(message, optional, tag = "2")]
    pub(super) process_tree: Option<ProcessTree>,
    #[prost(message, optional, tag = "6")]
    pub(super) clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, tag = "8")]
    pub(super) timestamp: u64,
    #[prost(uint32, tag = "10")]
    pub(super) trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(int32, tag = "9")]
    pub(super) kind: i32,
    #[prost(uint64, tag = "11")]
    pub(super) track_uuid: u64,
    // Optional, because protobuf omits a plain field with the value 0.
    #[prost(double, optional, tag = "44")]
    pub(super) double_counter_value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub(super) uuid: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(string, tag = "6")]
    pub(super) unit_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceEventBundle {
    // Required, because protobuf omits a plain field with the value 0, which is CPU 0.
    #[prost(uint32, required, tag = "1")]
    pub(super) cpu: u32,
    #[prost(message, repeated, tag = "2")]
    pub(super) event: Vec<FtraceEvent>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceEvent {
    #[prost(uint64, tag = "1")]
    pub(super) timestamp: u64,
    // Required, because protobuf omits a plain field with the value 0, which is the idle thread.
    #[prost(uint32, required, tag = "2")]
    pub(super) pid: u32,
    #[prost(message, optional, tag = "4")]
    pub(super) sched_switch: Option<SchedSwitch>,
    #[prost(message, optional, tag = "20")]
    pub(super) sched_waking: Option<SchedWaking>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedSwitch {
    #[prost(string, tag = "1")]
    pub(super) prev_comm: String,
    #[prost(int32, required, tag = "2")]
    pub(super) prev_pid: i32,
    #[prost(int32, required, tag = "3")]
    pub(super) prev_prio: i32,
    #[prost(int64, required, tag = "4")]
    pub(super) prev_state: i64,
    #[prost(string, tag = "5")]
    pub(super) next_comm: String,
    #[prost(int32, required, tag = "6")]
    pub(super) next_pid: i32,
    #[prost(int32, required, tag = "7")]
    pub(super) next_prio: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedWaking {
    #[prost(string, tag = "1")]
    pub(super) comm: String,
    #[prost(int32, required, tag = "2")]
    pub(super) pid: i32,
    #[prost(int32, required, tag = "3")]
    pub(super) prio: i32,
    #[prost(int32, tag = "4")]
    pub(super) success: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub(super) processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    pub(super) threads: Vec<ThreadName>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Process {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(string, repeated, tag = "3")]
    pub(super) cmdline: Vec<String>,
    #[prost(bool, tag = "9")]
    pub(super) cmdline_is_comm: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadName {
    #[prost(int32, tag = "1")]
    pub(super) tid: i32,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(int32, tag = "3")]
    pub(super) tgid: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(super) clocks: Vec<Clock>,
    #[prost(int32, tag = "2")]
    pub(super) primary_trace_clock: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, tag = "1")]
    pub(super) clock_id: u32,
    #[prost(uint64, tag = "2")]
    pub(super) timestamp: u64,
}
