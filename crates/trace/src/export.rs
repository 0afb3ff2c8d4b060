//! Traces for other tools, so that they can check us.

mod din;
mod lackey;
mod selection;

pub use din::{DinExporter, UnfitPiece};
pub use lackey::LackeyExporter;
