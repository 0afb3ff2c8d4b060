//! Lists in sentences: items in groups, or the first few items and the number of the others.

/// Groups values by key. The groups are in the order in which their keys first appear.
pub(crate) fn grouped<K: PartialEq, V>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Joins the first `most` names, and counts the others: `a, b and 3 more`, `a; b; and 3 more`.
pub(crate) fn first_few<T: AsRef<str>>(names: &[T], most: usize, separator: &str) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(separator);
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!(
            "{shown}{} and {more} more",
            separator.trim_matches([',', ' '])
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_first_are_counted() {
        let names = ["a", "b", "c"];
        let few = [3, 2, 1].map(|most| first_few(&names, most, ", "));
        assert_eq!(few, ["a, b, c", "a, b and 1 more", "a and 2 more"]);
        assert_eq!(first_few(&names, 1, "; "), "a; and 2 more");
        assert_eq!(first_few(&names[..0], 1, ", "), "");
    }

    #[test]
    fn groups_keep_their_order() {
        let pairs = [("b", 1), ("a", 2), ("b", 3)];
        assert_eq!(grouped(pairs), [("b", vec![1, 3]), ("a", vec![2])]);
    }
}
