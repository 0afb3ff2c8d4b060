//! The built-in designs, whose files are in `designs/`.

use crate::{Design, read_design};

const FILES: [(&str, &str); 10] = [
    ("mogul-1a", include_str!("../designs/mogul-1a.toml")),
    ("mogul-1b", include_str!("../designs/mogul-1b.toml")),
    ("mogul-2a", include_str!("../designs/mogul-2a.toml")),
    ("mogul-2b", include_str!("../designs/mogul-2b.toml")),
    ("li2007-xeon", include_str!("../designs/li2007-xeon.toml")),
    (
        "michigan-xeon-d1541",
        include_str!("../designs/michigan-xeon-d1541.toml"),
    ),
    (
        "blog-i7-9850h",
        include_str!("../designs/blog-i7-9850h.toml"),
    ),
    (
        "zen4-epyc-9004",
        include_str!("../designs/zen4-epyc-9004.toml"),
    ),
    (
        "xeon-sapphire-rapids",
        include_str!("../designs/xeon-sapphire-rapids.toml"),
    ),
    ("plain-lru", include_str!("../designs/plain-lru.toml")),
];

/// Returns the names of all built-in designs, in the order in which the documentation lists them.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Returns the text of a built-in design's file with its comments; `None` if no design has this
/// name.
pub fn text(name: &str) -> Option<&'static str> {
    FILES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Returns the built-in design with this name; `None` if there is none.
pub fn find(name: &str) -> Option<Design> {
    Some(read_design(text(name)?, name).expect("the tests read every shipped design"))
}

#[cfg(test)]
mod tests;
