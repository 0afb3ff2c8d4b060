use anstyle::{AnsiColor, Color};

use crate::Style;
use crate::entry::Tone;
use crate::figure::Figure;
use crate::grid::Grid;
use crate::plain::plain;

/// A block of a report.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// An empty line between blocks.
    Gap,
    /// Title of a new section, with the text after the title.
    Heading { title: String, rest: String },
    /// A paragraph of wrapped sentences.
    Paragraph(String),
    /// Wrapped sentences with an emphasized beginning.
    Prose(String),
    /// Item of a list.
    Item(String),

    /// A line that is never wrapped, so that a command in it can be copied.
    Line(String, Tone),
    /// A table of rows and columns.
    Grid(Grid),
    /// A figure, for formats that can show one.
    Figure(Box<Figure>),
    /// Pages of `docs/method`, by name, for formats with links.
    Method(Vec<&'static str>),
}

/// A report under construction, which becomes text by [`Page::finish`] or HTML by `html`.
pub(crate) struct Page {
    style: Style,
    has_figures: bool,
    blocks: Vec<Block>,
}

impl Page {
    /// Creates a report for the terminal.
    pub(crate) fn new(style: Style) -> Self {
        Page {
            style,
            has_figures: false,
            blocks: Vec::new(),
        }
    }

    /// Creates a report with figures.
    pub(crate) fn with_figures() -> Self {
        Page {
            style: Style::default(),
            has_figures: true,
            blocks: Vec::new(),
        }
    }

    /// Whether the page shows figures, and content that is too long for a terminal.
    pub(crate) fn has_figures(&self) -> bool {
        self.has_figures
    }

    /// Returns the report as text that is safe to print.
    pub(crate) fn finish(self) -> String {
        self.text()
    }

    /// Adds items of a list: the first one, and further ones while the report has at most `most` lines.
    /// Returns the number of added items.
    pub(crate) fn items_up_to(&mut self, most: usize, items: &[String]) -> usize {
        let mut added = 0;
        for (place, item) in items.iter().enumerate() {
            self.item(item);
            added += 1;
            if place > 0 && self.lines() > most {
                self.blocks.pop();
                added -= 1;
            }
        }
        added
    }

    /// Returns the number of lines so far.
    pub(crate) fn lines(&self) -> usize {
        self.text().lines().count()
    }

    fn text(&self) -> String {
        let mut text = Text {
            style: self.style,
            text: String::new(),
        };
        self.blocks.iter().for_each(|block| text.block(block));
        text.text
    }

    /// Returns the blocks of the page, in order.
    pub(crate) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// Adds an empty line, a title in bold, and the text after it, wrapped.
    pub(crate) fn heading(&mut self, title: &str, rest: &str) {
        self.blocks.push(Block::Heading {
            title: title.to_owned(),
            rest: rest.to_owned(),
        });
    }

    /// Adds an empty line, except at the top.
    pub(crate) fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// Adds a wrapped paragraph.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.blocks.push(Block::Paragraph(text.to_owned()));
    }

    /// Adds a paragraph, wrapped so that its beginning stands out.
    pub(crate) fn prose(&mut self, text: &str) {
        self.blocks.push(Block::Prose(text.to_owned()));
    }

    /// Adds a wrapped item of a list.
    pub(crate) fn item(&mut self, text: &str) {
        self.blocks.push(Block::Item(text.to_owned()));
    }

    /// Adds a line that is never wrapped, so that a command in it can be copied.
    pub(crate) fn line(&mut self, text: &str, tone: Tone) {
        self.blocks.push(Block::Line(text.to_owned(), tone));
    }

    pub(crate) fn grid(&mut self, grid: &Grid) {
        self.blocks.push(Block::Grid(grid.clone()));
    }

    /// Adds the pages of `docs/method` that describe the method of the preceding content.
    pub(crate) fn method(&mut self, pages: &[&'static str]) {
        self.blocks.push(Block::Method(pages.to_vec()));
    }

    /// Adds a figure, which is drawn only for a format that can show it.
    pub(crate) fn figure(&mut self, draw: impl FnOnce() -> Option<Figure>) {
        if self.has_figures {
            self.blocks
                .extend(draw().map(|figure| Block::Figure(Box::new(figure))));
        }
    }
}

/// Text under construction. All added text is made safe to print.
struct Text {
    style: Style,
    text: String,
}

impl Text {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Gap => self.gap(),
            Block::Heading { title, rest } => self.heading(title, rest),
            Block::Paragraph(text) => self.wrap(text, "", ""),
            Block::Prose(text) => self.wrap(text, "", "  "),
            Block::Item(text) => self.wrap(text, "  ", "    "),
            Block::Line(text, tone) => {
                let line = self.painted(&plain(text), *tone);
                self.push(&line);
            }
            Block::Grid(grid) => self.text.push_str(&grid.render(self.style)),
            Block::Figure(_) | Block::Method(_) => (),
        }
    }

    fn heading(&mut self, title: &str, rest: &str) {
        self.gap();
        let space = if rest.is_empty() { "" } else { ": " };
        let start = self.text.len();
        self.wrap(&format!("{title}{space}{rest}"), "", "  ");
        if self.text[start..].starts_with(title) {
            let painted = self.painted(title, Tone::Strong);
            self.text
                .replace_range(start..start + title.len(), &painted);
        }
    }

    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
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
        let mut page = Page::new(Style {
            is_coloured: false,
            width: Some(60),
            is_detailed: false,
        });
        let words = "word ".repeat(15);
        page.item(&words);
        page.line(&words, Tone::Usual);
        let text = page.finish();
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths, [56, 23, 74]);
    }
}
