//! Requests to levels that do not answer in the machine: one stands for levels of many sizes, or is shared by several CPUs.

use super::VIEWS;
use super::listener::{Levels, Listener};
use super::plan::Kind;
use crate::address::Address;

/// A request to such a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeferredRequest {
    pub(crate) level: usize,
    pub(crate) key: u64,
    /// None where a modified line is given to the level.
    pub(crate) kind: Option<Kind>,
    pub(crate) is_demand: bool,
    pub(crate) address: Address,
}

/// Those of each view; of private views, that of the running process.
#[derive(Debug)]
pub(crate) struct DeferredRequests([Vec<DeferredRequest>; VIEWS]);

impl DeferredRequests {
    /// All since the last time.
    pub(crate) fn take(&mut self, mut act: impl FnMut(usize, &[DeferredRequest])) {
        for (view, requests) in self.0.iter_mut().enumerate() {
            act(view, requests);
            requests.clear();
        }
    }
}

impl Listener for DeferredRequests {
    fn of(_: Levels) -> DeferredRequests {
        DeferredRequests(Default::default())
    }

    #[inline]
    fn deferred(&mut self, view: usize, request: DeferredRequest) {
        self.0[view].push(request);
    }
}
