use syscalls::x86_64::Sysno;

/// Returns the name of a system call of x86-64, such as `read`; `None` for an unknown number. All
/// present sources trace x86-64.
pub fn syscall_name(number: u16) -> Option<&'static str> {
    Sysno::new(number.into()).map(|sysno| sysno.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_calls_have_names() {
        // Numbers from arch/x86/entry/syscalls/syscall_64.tbl.
        assert_eq!(syscall_name(0), Some("read"));
        assert_eq!(syscall_name(202), Some("futex"));
        assert_eq!(syscall_name(1234), None);
    }
}
