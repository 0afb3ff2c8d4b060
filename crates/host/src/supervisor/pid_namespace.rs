//! How the supervisor becomes the first process of a PID namespace of its own, with a /proc of its own, and gains no right by it.
//! System calls only, once it is forked.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sched::CloneFlags;
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, remove_capability_from_bounding_set, set_capabilities,
};

/// What may be refused on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Step {
    /// To fork into new namespaces.
    Clone = 1,
    /// To be the same user in it.
    Identity,
    /// To keep what is mounted from everybody else.
    Privacy,
    /// To mount /proc.
    Processes,
    /// To give up the rights that came with it.
    Rights,
    /// To leave the terminal and the signals of the parent.
    Leave,
    /// To see the tasks from outside.
    Show,
}

impl Step {
    const ALL: [Step; 7] =
        [Step::Clone, Step::Identity, Step::Privacy, Step::Processes, Step::Rights, Step::Leave, Step::Show];

    pub(super) fn from_number(number: u32) -> Step {
        Step::ALL.into_iter().find(|&step| step as u32 == number).unwrap_or(Step::Leave)
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

/// A PID namespace to be made: what the kernel has to know for it.
pub(super) struct PidNamespace {
    /// Of whoever is not root: root needs no namespace of users.
    user: Option<User>,
}

/// Who is to be the same inside as outside.
struct User {
    /// Lines of the maps of users and groups.
    maps: [String; 2],
    /// Rights that no program of this user can get, whatever its file says.
    never: u64,
}

impl User {
    fn new(user: Uid, group: Gid) -> User {
        let is_never = |&right: &u64| matches!(capability_is_in_bounding_set(one(right)), Ok(false));
        User {
            maps: [format!("{user} {user} 1\n"), format!("{group} {group} 1\n")],
            never: (0..u64::BITS.into()).filter(is_never).map(|right| 1 << right).sum(),
        }
    }
}

/// One right, by its number.
fn one(right: u64) -> CapabilitySet {
    CapabilitySet::from_bits_retain(1 << right)
}

impl PidNamespace {
    pub(super) fn of_this_user() -> PidNamespace {
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        PidNamespace { user: (!user.is_root()).then(|| User::new(user, group)) }
    }

    pub(super) fn flags(&self) -> CloneFlags {
        let user = if self.user.is_some() { CloneFlags::CLONE_NEWUSER } else { CloneFlags::empty() };
        CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS | user
    }

    /// In the first process of the new namespaces.
    pub(super) fn enter(&self) -> Result<(), (Step, nix::Error)> {
        let at = |step| move |error| (step, error);
        if let Some(user) = &self.user {
            stay_the_same(&user.maps).map_err(at(Step::Identity))?;
        }
        let nothing = None::<&CStr>;
        mount(nothing, c"/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).map_err(at(Step::Privacy))?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some(c"proc"), c"/proc", Some(c"proc"), flags, nothing).map_err(at(Step::Processes))?;
        if let Some(user) = &self.user {
            give_up_rights(user.never).map_err(at(Step::Rights))?;
        }
        Ok(())
    }
}

/// The same user and group inside as outside, and no others.
fn stay_the_same([user, group]: &[String; 2]) -> nix::Result<()> {
    write(c"/proc/self/setgroups", "deny")?;
    write(c"/proc/self/uid_map", user)?;
    write(c"/proc/self/gid_map", group)
}

fn write(path: &CStr, text: &str) -> nix::Result<()> {
    let file: OwnedFd = open(path, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    nix::unistd::write(&file, text.as_bytes()).map(drop)
}

/// Whoever makes a namespace of users has all rights in it. Without them a program has those of any user who is not root, and
/// gets none by starting another.
fn give_up_rights(never: u64) -> nix::Result<()> {
    let none = CapabilitySet::empty();
    let of_kernel = |error: rustix::io::Errno| nix::Error::from_raw(error.raw_os_error());
    for right in (0..u64::BITS.into()).filter(|right| never >> right & 1 != 0) {
        remove_capability_from_bounding_set(one(right)).map_err(of_kernel)?;
    }
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).map_err(of_kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_was_refused_and_why() {
        let texts = Step::ALL.map(|step| {
            assert_eq!(Step::from_number(step as u32), step);
            step.refused(nix::Error::EPERM).to_string()
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
        assert!(!root.contains(CloneFlags::CLONE_NEWUSER) && root.contains(CloneFlags::CLONE_NEWPID));
        let user = PidNamespace { user: Some(User::new(Uid::from_raw(7), Gid::from_raw(8))) };
        assert_eq!(user.user.as_ref().map(|user| &user.maps), Some(&["7 7 1\n".to_owned(), "8 8 1\n".to_owned()]));
        let user = user.flags();
        assert_eq!(user, root | CloneFlags::CLONE_NEWUSER);
    }
}
