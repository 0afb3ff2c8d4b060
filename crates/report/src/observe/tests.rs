//! On an observation made by hand.
