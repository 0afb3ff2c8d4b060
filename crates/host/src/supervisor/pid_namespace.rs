//! Makes the supervisor the first process of a new PID namespace with its own /proc, without any
//! additional rights. After the fork, this code makes only system calls.

use std::ffi::CStr;
use std::io;

use libc::c_int;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Step of making a PID namespace that the kernel may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Step {
    /// Forking into new namespaces.
    Clone = 1,
    /// Mapping the user to itself in the user namespace.
    Identity,
    /// Making the mounts private to the namespace.
    Privacy,
    /// Mounting /proc.
    Processes,
    /// Giving up the capabilities that came with the user namespace.
    Rights,
    /// Leaving the parent's terminal and signals.
    Leave,
    /// Opening files by which the tasks are seen from outside the namespace.
    Show,
}

impl Step {
    const ALL: [Step; 7] = [
        Step::Clone,
        Step::Identity,
        Step::Privacy,
        Step::Processes,
        Step::Rights,
        Step::Leave,
        Step::Show,
    ];

    pub(super) fn decode(number: u32) -> Step {
        Step::ALL
            .into_iter()
            .find(|&step| step as u32 == number)
            .unwrap_or(Step::Leave)
    }

    fn name(self) -> &'static str {
        match self {
            Step::Clone => "a new PID namespace",
            Step::Identity => "the same user in a new namespace",
            Step::Privacy => "private mounts",
            Step::Processes => "a new /proc",
            Step::Rights => "fewer rights in a new namespace",
            Step::Leave => "a new session",
            Step::Show => "the /proc of a new namespace",
        }
    }

    pub(super) fn refused(self, error: impl Into<io::Error>) -> io::Error {
        let error = error.into();
        io::Error::new(error.kind(), format!("{}: {error}", self.name()))
    }
}

/// A PID namespace that is to be made, with all data that this takes.
pub(crate) struct PidNamespace {
    /// The user; `None` for root, which needs no user namespace.
    user: Option<User>,
}

/// A user and a group that are the same inside the namespace as outside.
struct User {
    /// Lines for the maps of users and of groups.
    maps: [String; 2],
    /// Capabilities that are not in this process's bounding set, one bit each.
    never: u64,
}

impl User {
    fn new(user: Uid, group: Gid) -> User {
        let is_never =
            |&right: &u64| matches!(capability_is_in_bounding_set(one(right)), Ok(false));
        User {
            maps: [user.as_raw(), group.as_raw()].map(|own| format!("{own} {own} 1\n")),
            never: (0..u64::BITS.into())
                .filter(is_never)
                .map(|right| 1 << right)
                .sum(),
        }
    }
}

/// Returns the capability set that has one capability, given by its number.
fn one(right: u64) -> CapabilitySet {
    CapabilitySet::from_bits_retain(1 << right)
}

impl PidNamespace {
    pub(crate) fn find() -> PidNamespace {
        let (user, group) = (geteuid(), getegid());
        PidNamespace {
            user: (!user.is_root()).then(|| User::new(user, group)),
        }
    }

    /// Returns the flags for clone(2) and unshare(2).
    pub(crate) fn flags(&self) -> c_int {
        let user = if self.user.is_some() {
            libc::CLONE_NEWUSER
        } else {
            0
        };
        libc::CLONE_NEWPID | libc::CLONE_NEWNS | user
    }

    /// Returns an error that says that the kernel refused a new PID namespace.
    pub(crate) fn refused(&self, error: Errno) -> io::Error {
        Step::Clone.refused(error)
    }

    /// Calls [`PidNamespace::enter`], and explains a refusal in the error.
    pub(crate) fn settle(&self) -> io::Result<()> {
        self.enter().map_err(|(step, error)| step.refused(error))
    }

    /// Sets up the namespaces. Called in the first process of the namespaces. Returns the step that
    /// was refused, and the error.
    pub(super) fn enter(&self) -> Result<(), (Step, Errno)> {
        let at = |step| move |error| (step, error);
        if let Some(user) = &self.user {
            stay_the_same(&user.maps).map_err(at(Step::Identity))?;
        }
        mount_change(
            c"/",
            MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
        )
        .map_err(at(Step::Privacy))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount(c"proc", c"/proc", c"proc", flags, None).map_err(at(Step::Processes))?;
        if let Some(user) = &self.user {
            give_up_rights(user.never).map_err(at(Step::Rights))?;
        }
        Ok(())
    }
}

/// Maps the user and the group to themselves, and no others.
fn stay_the_same([user, group]: &[String; 2]) -> rustix::io::Result<()> {
    write(c"/proc/self/setgroups", "deny")?;
    write(c"/proc/self/uid_map", user)?;
    write(c"/proc/self/gid_map", group)
}

fn write(path: &CStr, text: &str) -> rustix::io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

/// Gives up all capabilities. The process that makes a user namespace has all capabilities in it.
/// Afterwards a program has the rights of an ordinary user, and gets none by executing another
/// program.
fn give_up_rights(never: u64) -> rustix::io::Result<()> {
    let none = CapabilitySet::empty();
    for right in (0..u64::BITS.into()).filter(|right| never >> right & 1 != 0) {
        remove_capability_from_bounding_set(one(right))?;
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_was_refused_and_why() {
        let texts = Step::ALL.map(|step| {
            assert_eq!(Step::decode(step as u32), step);
            step.refused(Errno::PERM).to_string()
        });
        let expected = [
            "a new PID namespace: Operation not permitted (os error 1)",
            "the same user in a new namespace: Operation not permitted (os error 1)",
            "private mounts: Operation not permitted (os error 1)",
            "a new /proc: Operation not permitted (os error 1)",
            "fewer rights in a new namespace: Operation not permitted (os error 1)",
            "a new session: Operation not permitted (os error 1)",
            "the /proc of a new namespace: Operation not permitted (os error 1)",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn who_is_not_root_needs_a_namespace_of_users() {
        let root = PidNamespace { user: None }.flags();
        assert_eq!(
            root & (libc::CLONE_NEWUSER | libc::CLONE_NEWPID),
            libc::CLONE_NEWPID
        );
        let user = PidNamespace {
            user: Some(User::new(Uid::from_raw(7), Gid::from_raw(8))),
        };
        assert_eq!(
            user.user.as_ref().map(|user| &user.maps),
            Some(&["7 7 1\n".to_owned(), "8 8 1\n".to_owned()])
        );
        let user = user.flags();
        assert_eq!(user, root | libc::CLONE_NEWUSER);
    }
}
