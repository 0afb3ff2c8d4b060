//! Text for terminals that show only ASCII.

/// Replaces lines, bars, dots, ellipses and ` ±` by ASCII characters of the same width, so that
/// columns stay aligned. All other non-ASCII characters become question marks.
pub fn ascii(text: &str) -> String {
    // `±` becomes two letters, so the blank before the sign is dropped.
    text.replace(" ±", "+-").chars().map(letter).collect()
}

fn letter(letter: char) -> char {
    match letter {
        '─' => '-',
        '…' => '~',
        '·' => '.',
        '▁' => '_',
        '▂' => ',',
        '▃' | '▏' | '▎' | '▍' => '-',
        '▄' => ':',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '█' | '▉' | '▊' | '▋' | '▌' => '#',
        letter if letter.is_ascii() => letter,
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_bars_keep_their_width() {
        let table = "direct  ±  costs\n────────────────\nlong na…  ▁▃█·  ██▌ 工\n";
        assert_eq!(
            ascii(table),
            "direct +-  costs\n----------------\nlong na~  _-#.  ### ?\n"
        );
        assert!(ascii(table).is_ascii());
        assert_eq!(ascii("plain"), "plain");
    }

    #[test]
    fn the_heights_of_a_curve_stay_apart() {
        let heights: std::collections::BTreeSet<char> = ascii("·▁▂▃▄▅▆▇█").chars().collect();
        assert_eq!(heights.len(), 9);
    }
}
