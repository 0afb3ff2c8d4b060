//! Records requests to levels that are also simulated elsewhere: in many sizes, or as one level
//! that several CPUs share.

use super::VIEWS;
use super::listener::{LevelRequest, Levels, Listener};

/// Requests, in an order that is correct for each view.
#[derive(Debug)]
pub(crate) struct LevelRequests(Vec<LevelRequest>);

impl LevelRequests {
    /// Passes all requests since the last call to `act`.
    pub(crate) fn take(&mut self, act: impl FnOnce(&[LevelRequest])) {
        act(&self.0);
        self.0.clear();
    }
}

impl Listener for LevelRequests {
    fn new(_: Levels) -> LevelRequests {
        LevelRequests(Vec::new())
    }

    #[inline]
    fn requested(&mut self, request: LevelRequest) {
        // Equal requests of consecutive views are stored as one request of all these views.
        if let Some(last) = self.0.last_mut() {
            let is_same = request
                == LevelRequest {
                    views: request.views,
                    ..*last
                };
            if is_same && (0..VIEWS).all(|view| !(last.views.has(view) && request.views.has(view)))
            {
                last.views = last.views.and(request.views);
                return;
            }
        }
        self.0.push(request);
    }
}
