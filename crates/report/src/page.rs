use anstyle::{AnsiColor, Color};

use crate::Style;
use crate::entry::Tone;
use crate::grid::Grid;
use crate::plain::plain;

/// A report under construction. Whatever is added is made safe to print here.
pub(crate) struct Page {
    style: Style,
    text: String,
}

impl Page {
    pub(crate) fn new(style: Style) -> Self {
        Page { style, text: String::new() }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// An empty line, a title in bold, and what stands behind it, wrapped.
    pub(crate) fn heading(&mut self, title: &str, rest: &str) {
        self.gap();
        let space = if rest.is_empty() { "" } else { ": " };
        let start = self.text.len();
        self.wrap(&format!("{title}{space}{rest}"), "", "  ");
        if self.text[start..].starts_with(title) {
            let painted = self.painted(title, Tone::Strong);
            self.text.replace_range(start..start + title.len(), &painted);
        }
    }

    /// An empty line, except at the top.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A paragraph, wrapped.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.wrap(text, "", "");
    }

    /// A line, wrapped so that its beginning still stands out.
    pub(crate) fn prose(&mut self, text: &str) {
        self.wrap(text, "", "  ");
    }

    /// An entry of a list, wrapped.
    pub(crate) fn item(&mut self, text: &str) {
        self.wrap(text, "  ", "    ");
    }

    /// A line that is never wrapped, so that a command in it can be copied.
    pub(crate) fn line(&mut self, text: &str, tone: Tone) {
        let line = self.painted(&plain(text), tone);
        self.push(&line);
    }

    pub(crate) fn grid(&mut self, grid: &Grid) {
        self.text.push_str(&grid.render(self.style));
    }

    fn wrap(&mut self, text: &str, first: &str, rest: &str) {
        let options = textwrap::Options::new(usize::from(self.style.columns()))
            .initial_indent(first)
            .subsequent_indent(rest)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        let text = plain(text);
        for line in textwrap::wrap(&text, options) {
            self.push(&line);
        }
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn painted(&self, text: &str, tone: Tone) -> String {
        if !self.style.is_coloured {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Usual => return text.to_owned(),
            Tone::Strong => anstyle::Style::new().bold(),
            Tone::Good => foreground(AnsiColor::Green),
            Tone::Suspect => foreground(AnsiColor::Yellow),
            Tone::Bad => foreground(AnsiColor::Red),
        };
        format!("{style}{text}{style:#}")
    }
}

fn foreground(color: AnsiColor) -> anstyle::Style {
    anstyle::Style::new().fg_color(Some(Color::Ansi(color)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_added_is_safe_to_print() {
        let mut page = Page::new(Style::default());
        page.heading("a\u{1b}", "b\u{9b}");
        page.prose("c\nd\u{7}");
        page.item("e\u{1b}");
        page.line("f\u{1b}", Tone::Bad);
        assert_eq!(page.finish(), "a: b\nc d\n  e\nf\n");
    }

    #[test]
    fn prose_is_wrapped_and_lines_are_not() {
        let mut page = Page::new(Style { is_coloured: false, width: Some(60) });
        let words = "word ".repeat(15);
        page.item(&words);
        page.line(&words, Tone::Usual);
        let text = page.finish();
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths, [56, 23, 74]);
    }
}
