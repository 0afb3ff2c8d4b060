use super::*;
use crate::protocol;

const HEADER: &str = include_str!("../../../../capture/valgrind/protocol.h");

/// Returns the header without comments.
fn code() -> String {
    let pieces = format!("*/{HEADER}");
    let pieces = pieces
        .split("/*")
        .map(|piece| piece.split_once("*/").expect("a comment ends").1);
    pieces.collect()
}

fn defined(name: &str) -> u64 {
    let code = code();
    let mut words = code.lines().map(str::split_whitespace);
    let value = words.find_map(|mut words| {
        (words.next()? == "#define" && words.next()? == name).then(|| words.next())?
    });
    let text = value
        .unwrap_or_else(|| panic!("{name} is not defined"))
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

/// Asserts the size of a struct of the tool and the offsets of its fields. For each field, the
/// module has a constant with the field's name.
macro_rules! assert_fields {
    ($struct:literal, $module:ident, $($field:ident)*) => {
        let (fields, size) = fields($struct);
        assert_eq!(size, $module::BYTES, "size of {}", $struct);
        for (name, offset) in [$((stringify!($field).to_lowercase(), $module::$field)),*] {
            let field = (name, offset);
            assert!(fields.contains(&field), "{}: {field:?} in {fields:?}", $struct);
        }
    };
}

#[test]
fn fields_are_where_the_tool_has_them() {
    assert_fields!("sc_header", header,
        MAGIC VERSION MODE CONTROLLER_PID SLOTS BUFFERS BUFFER_WORDS SLOTS_OFFSET INFOS_OFFSET BUFFERS_OFFSET
        TOTAL_BYTES DOORBELL CONTROLLER_SLEEPS FREED IS_CLOSING FAULT NEXT_ORDER CURRENT_BUFFER CURRENT_WORDS IS_ALONE
        IS_STOPPING FAULT_DETAIL CPU SLOTS_USED SUBMISSIONS CONSUMER_SLEEPS RESTRICTED_PID UNDECODED_PID UNDECODED
        TRACING_PID NAMESPACE_PID RIGHTS_PID);
    assert_fields!("sc_slot", slot,
        STATE GRANT PID TID PARENT WHY SYSCALL PROCESS_SLOT BUDGET OPEN_STAMP BACK IS_MAKING);
    assert_fields!("sc_info", info, STATE SLOT WORDS ORDER STAMP);
}

/// Asserts that each constant of a module equals the tool's constant with a prefix and the same
/// name.
macro_rules! assert_numbers {
    ($prefix:literal, $module:ident: $($number:ident)*) => {
        $(assert_eq!(
            defined(concat!($prefix, stringify!($number))),
            $module::$number as u64,
            "{}",
            stringify!($number)
        );)*
    };
}

#[test]
fn numbers_are_those_of_the_tool() {
    use switchcost_trace as trace;
    assert_numbers!("SC_", protocol: MAGIC VERSION SCHEDULED AS_RUN SYSTEM KERNEL_BIT WHY_QUANTUM WHY_SYSCALL WHY_SLEPT NOT_DONE);
    assert_numbers!("SC_", trace: LANES);
    assert_numbers!("SC_", state: FREE CLAIMED QUEUED GRANTED IN_SYSCALL ENDED);
    assert_numbers!("SC_", buffer: EMPTY HELD FULL);
    assert_numbers!("SC_", tag:
        BLOCK DEFINE SYSCALL_ENTER SYSCALL_EXIT KERNEL_TOUCH SWITCH BIRTH EXEC EXIT MAP UNMAP STAMP BORN LEAVE FORK);
    assert_numbers!("SC_LEFT_", left: SYSCALL PREEMPTED WAITING LOCK ENDED);
    assert_numbers!("SC_FAULT_", fault: RSEQ CPU);
    assert_numbers!("SC_", how: EXPLICIT FIXED RELATIVE GUARDED);
}
