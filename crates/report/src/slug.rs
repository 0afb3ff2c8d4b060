//! Makes names for HTML elements and files.

/// Converts a title to a name for an element or a file, from its letters and digits, with dashes in
/// between. Only the first 60 characters count.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().take(60) {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => (),
        }
    }
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_safe_whatever_the_title() {
        assert_eq!(
            slug("Cost of a hand-off: <b>x</b>, \"CPUs\""),
            "cost-of-a-hand-off-b-x-b-cpus"
        );
        assert_eq!(slug("工"), "");
    }
}
