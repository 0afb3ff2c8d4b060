use super::*;

const HEADER: &str = include_str!("../../../../capture/valgrind/protocol.h");

/// Returns the header without comments.
fn code() -> String {
    let mut code = String::new();
    for (index, piece) in HEADER.split("/*").enumerate() {
        code.push_str(if index == 0 {
            piece
        } else {
            piece.split_once("*/").expect("a comment ends").1
        });
    }
    code
}

fn defined(name: &str) -> u64 {
    let code = code();
    let line = code
        .lines()
        .find(|line| line.split_whitespace().take(2).eq(["#define", name]))
        .unwrap_or_else(|| panic!("{name} is not defined"));
    let text = line
        .split_whitespace()
        .nth(2)
        .expect("a value")
        .trim_end_matches("ULL");
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).expect("hexadecimal"),
        None => text.parse().expect("decimal"),
    }
}

/// Returns the names and offsets of the fields of a struct of naturally aligned numbers, and its
/// size.
fn fields(of: &str) -> (Vec<(String, usize)>, usize) {
    let code = code();
    let body = code
        .split_once(&format!("struct {of} {{"))
        .expect("the struct")
        .1
        .split_once("};")
        .expect("its end")
        .0;
    let (mut fields, mut at) = (Vec::new(), 0_usize);
    for declaration in body
        .split(';')
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        let (kind, name) = declaration
            .split_once(char::is_whitespace)
            .expect("a type and a name");
        let size = if kind == "UInt" { 4 } else { 8 };
        assert!(["UInt", "ULong", "Long"].contains(&kind), "{kind}");
        let (name, count) = match name.trim().split_once('[') {
            Some((name, count)) => (name, count.trim_end_matches(']').parse().expect("a length")),
            None => (name.trim(), 1),
        };
        assert_eq!(at % size, 0, "{name} is aligned without padding");
        fields.push((name.to_owned(), at));
        at += size * count;
    }
    (fields, at)
}

fn check_fields(of: &str, bytes: usize, expected: &[(&str, usize)]) {
    let (fields, size) = fields(of);
    assert_eq!(size, bytes, "size of {of}");
    for &(name, offset) in expected {
        assert!(
            fields.contains(&(name.to_owned(), offset)),
            "{of}.{name} at {offset} in {fields:?}"
        );
    }
}

#[test]
fn header_fields_are_where_the_tool_has_them() {
    use super::header::*;
    check_fields(
        "sc_header",
        BYTES,
        &[
            ("magic", MAGIC),
            ("version", VERSION),
            ("mode", MODE),
            ("controller_pid", CONTROLLER_PID),
            ("slots", SLOTS),
            ("buffers", BUFFERS),
            ("buffer_words", BUFFER_WORDS),
            ("slots_offset", SLOTS_OFFSET),
            ("infos_offset", INFOS_OFFSET),
            ("buffers_offset", BUFFERS_OFFSET),
            ("total_bytes", TOTAL_BYTES),
            ("doorbell", DOORBELL),
            ("controller_sleeps", CONTROLLER_SLEEPS),
            ("freed", FREED),
            ("is_closing", IS_CLOSING),
            ("fault", FAULT),
            ("next_order", NEXT_ORDER),
            ("current_buffer", CURRENT_BUFFER),
            ("current_words", CURRENT_WORDS),
            ("is_alone", IS_ALONE),
            ("is_stopping", IS_STOPPING),
            ("fault_detail", FAULT_DETAIL),
            ("cpu", CPU),
            ("slots_used", SLOTS_USED),
            ("submissions", SUBMISSIONS),
            ("consumer_sleeps", CONSUMER_SLEEPS),
            ("restricted_pid", RESTRICTED_PID),
            ("undecoded_pid", UNDECODED_PID),
            ("undecoded", UNDECODED),
            ("tracing_pid", TRACING_PID),
            ("namespace_pid", NAMESPACE_PID),
            ("rights_pid", RIGHTS_PID),
        ],
    );
}

#[test]
fn slot_and_buffer_fields_are_where_the_tool_has_them() {
    check_fields(
        "sc_slot",
        slot::BYTES,
        &[
            ("state", slot::STATE),
            ("grant", slot::GRANT),
            ("pid", slot::PID),
            ("tid", slot::TID),
            ("parent", slot::PARENT),
            ("why", slot::WHY),
            ("syscall", slot::SYSCALL),
            ("process_slot", slot::PROCESS_SLOT),
            ("budget", slot::BUDGET),
            ("open_stamp", slot::OPEN_STAMP),
            ("back", slot::BACK),
            ("is_making", slot::IS_MAKING),
        ],
    );
    let infos = [
        ("state", info::STATE),
        ("slot", info::SLOT),
        ("words", info::WORDS),
        ("order", info::ORDER),
        ("stamp", info::STAMP),
    ];
    check_fields("sc_info", info::BYTES, &infos);
}

#[test]
fn numbers_are_those_of_the_tool() {
    let expected = [
        ("SC_MAGIC", MAGIC),
        ("SC_VERSION", VERSION.into()),
        ("SC_SCHEDULED", SCHEDULED.into()),
        ("SC_AS_RUN", AS_RUN.into()),
        ("SC_SYSTEM", SYSTEM.into()),
        ("SC_KERNEL_BIT", KERNEL_BIT.into()),
        ("SC_FREE", state::FREE.into()),
        ("SC_CLAIMED", state::CLAIMED.into()),
        ("SC_QUEUED", state::QUEUED.into()),
        ("SC_GRANTED", state::GRANTED.into()),
        ("SC_IN_SYSCALL", state::IN_SYSCALL.into()),
        ("SC_ENDED", state::ENDED.into()),
        ("SC_WHY_QUANTUM", WHY_QUANTUM.into()),
        ("SC_WHY_SYSCALL", WHY_SYSCALL.into()),
        ("SC_WHY_SLEPT", WHY_SLEPT.into()),
        ("SC_EMPTY", buffer::EMPTY.into()),
        ("SC_HELD", buffer::HELD.into()),
        ("SC_FULL", buffer::FULL.into()),
        ("SC_BLOCK", tag::BLOCK),
        ("SC_DEFINE", tag::DEFINE),
        ("SC_SYSCALL_ENTER", tag::SYSCALL_ENTER),
        ("SC_SYSCALL_EXIT", tag::SYSCALL_EXIT),
        ("SC_KERNEL_TOUCH", tag::KERNEL_TOUCH),
        ("SC_SWITCH", tag::SWITCH),
        ("SC_BIRTH", tag::BIRTH),
        ("SC_EXEC", tag::EXEC),
        ("SC_EXIT", tag::EXIT),
        ("SC_MAP", tag::MAP),
        ("SC_UNMAP", tag::UNMAP),
        ("SC_STAMP", tag::STAMP),
        ("SC_BORN", tag::BORN),
        ("SC_LEAVE", tag::LEAVE),
        ("SC_FORK", tag::FORK),
        ("SC_LEFT_SYSCALL", left::SYSCALL),
        ("SC_LEFT_PREEMPTED", left::PREEMPTED),
        ("SC_LEFT_WAITING", left::WAITING),
        ("SC_LEFT_LOCK", left::LOCK),
        ("SC_LEFT_ENDED", left::ENDED),
        ("SC_FAULT_RSEQ", fault::RSEQ.into()),
        ("SC_FAULT_CPU", fault::CPU.into()),
        ("SC_NOT_DONE", NOT_DONE),
        ("SC_LANES", switchcost_trace::LANES as u64),
        ("SC_EXPLICIT", how::EXPLICIT),
        ("SC_FIXED", how::FIXED),
        ("SC_RELATIVE", how::RELATIVE),
        ("SC_GUARDED", how::GUARDED),
    ];
    for (name, value) in expected {
        assert_eq!(defined(name), value, "{name}");
    }
}
