use anstyle::{AnsiColor, Color};

use crate::Style;
use crate::entry::Tone;
use crate::figure::{Chart, Figure};
use crate::grid::Grid;
use crate::plain::plain;

/// A block of a page.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// An empty line between blocks.
    Gap,
    /// A paragraph of wrapped sentences.
    Paragraph(String),
    /// Wrapped sentences whose lines are indented, except the first.
    Prose(String),
    /// An item of a list.
    Item(String),
    /// A line that is never wrapped, so that a command in it can be copied.
    Line(String, Tone),
    /// A table of rows and columns.
    Grid(Grid),
    /// A figure, for formats that can show one.
    Figure(Box<Figure>),
    /// Links to pages of `docs/method`, given by name. A terminal shows no links.
    Method(Vec<&'static str>),
}

/// A part of a report under one heading. The part before the first heading has an empty title.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) title: String,
    /// Text printed after the title; empty if there is none.
    pub(crate) rest: String,
    pub(crate) blocks: Vec<Block>,
}

/// A report under construction. [`Page::finish`] renders it for a terminal, and `html` as an HTML
/// page.
pub(crate) struct Page {
    style: Style,
    has_figures: bool,
    intro: Section,
    sections: Vec<Section>,
}

impl Page {
    /// Creates a report for the terminal.
    pub(crate) fn new(style: Style) -> Self {
        Page {
            style,
            has_figures: false,
            intro: Section::default(),
            sections: Vec::new(),
        }
    }

    /// Creates a report with all details and figures, for an HTML page.
    pub(crate) fn with_figures() -> Self {
        let style = Style {
            is_detailed: true,
            ..Style::default()
        };
        Page {
            has_figures: true,
            ..Page::new(style)
        }
    }

    /// Returns true if the report shows figures, and content that is too long for a terminal.
    pub(crate) fn has_figures(&self) -> bool {
        self.has_figures
    }

    /// Returns true if the report has all details, and false if it must fit on one screen.
    pub(crate) fn is_detailed(&self) -> bool {
        self.style.is_detailed
    }

    /// Returns the maximum number of rows of a table: `on_one_screen` for a screen, unlimited for a
    /// detailed report.
    pub(crate) fn row_limit(&self, on_one_screen: usize) -> usize {
        if self.style.is_detailed {
            usize::MAX
        } else {
            on_one_screen
        }
    }

    /// Adds a line with the number of entries left out, if only `shown` of `all` entries are shown.
    pub(crate) fn more(&mut self, all: usize, shown: usize) {
        if all > shown {
            self.prose(format!("and {} more: --details", all - shown));
        }
    }

    /// Returns the report as text without control characters.
    pub(crate) fn finish(self) -> String {
        self.text()
    }

    /// Returns the number of lines that the report has so far.
    pub(crate) fn lines(&self) -> usize {
        self.text().lines().count()
    }

    fn text(&self) -> String {
        let mut text = Text {
            style: self.style,
            text: String::new(),
        };
        text.blocks(&self.intro);
        for section in &self.sections {
            text.heading(&section.title, &section.rest);
            text.blocks(section);
        }
        text.text
    }

    /// Returns the part before the first heading, and the sections with headings.
    pub(crate) fn into_sections(self) -> (Section, Vec<Section>) {
        (self.intro, self.sections)
    }

    fn blocks(&mut self) -> &mut Vec<Block> {
        &mut self.sections.last_mut().unwrap_or(&mut self.intro).blocks
    }

    /// Begins a section with a title in bold, and `rest` as text next to the title.
    pub(crate) fn heading(&mut self, title: impl Into<String>, rest: impl Into<String>) {
        self.sections.push(Section {
            title: title.into(),
            rest: rest.into(),
            blocks: Vec::new(),
        });
    }

    /// Adds an empty line, except at the beginning of the report.
    pub(crate) fn gap(&mut self) {
        self.blocks().push(Block::Gap);
    }

    /// Adds a wrapped paragraph.
    pub(crate) fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks().push(Block::Paragraph(text.into()));
    }

    /// Adds a wrapped paragraph whose lines are indented, except the first.
    pub(crate) fn prose(&mut self, text: impl Into<String>) {
        self.blocks().push(Block::Prose(text.into()));
    }

    /// Adds a wrapped item of a list.
    pub(crate) fn item(&mut self, text: impl Into<String>) {
        self.blocks().push(Block::Item(text.into()));
    }

    /// Adds the items of a list.
    pub(crate) fn items(&mut self, items: impl IntoIterator<Item = String>) {
        self.blocks().extend(items.into_iter().map(Block::Item));
    }

    /// Adds a section with notes; nothing if `notes` is empty.
    pub(crate) fn notes(&mut self, notes: Vec<String>) {
        if !notes.is_empty() {
            self.heading("Notes", "");
            self.items(notes);
        }
    }

    /// Adds the first item of a list, and further items while the report has at most `most` lines.
    /// Returns the number of items added.
    pub(crate) fn items_up_to(&mut self, most: usize, items: &[String]) -> usize {
        let mut added = 0;
        for (place, item) in items.iter().enumerate() {
            self.item(item);
            added += 1;
            if place > 0 && self.lines() > most {
                self.blocks().pop();
                added -= 1;
            }
        }
        added
    }

    /// Adds paragraphs, each with an indented explanation, while the report has at most `most` lines.
    /// Returns the number of paragraphs added.
    pub(crate) fn explained_up_to(&mut self, most: usize, pairs: &[(String, String)]) -> usize {
        for (place, (text, explanation)) in pairs.iter().enumerate() {
            self.prose(text);
            self.item(explanation);
            if self.lines() > most {
                let rest = self.blocks().len() - 2;
                self.blocks().truncate(rest);
                return place;
            }
        }
        pairs.len()
    }

    /// Adds a line that is never wrapped, so that a command in it can be copied.
    pub(crate) fn line(&mut self, text: impl Into<String>) {
        self.toned_line(text, Tone::Usual);
    }

    /// Adds a line in the emphasis `tone` that is never wrapped.
    pub(crate) fn toned_line(&mut self, text: impl Into<String>, tone: Tone) {
        self.blocks().push(Block::Line(text.into(), tone));
    }

    pub(crate) fn grid(&mut self, grid: Grid) {
        self.blocks().push(Block::Grid(grid));
    }

    /// Adds a section with a table; nothing if the table has no rows.
    pub(crate) fn table(&mut self, title: impl Into<String>, rest: impl Into<String>, grid: Grid) {
        if !grid.is_empty() {
            self.heading(title, rest);
            self.grid(grid);
        }
    }

    /// Adds links to the pages of `docs/method` that describe how the preceding numbers are
    /// obtained.
    pub(crate) fn method(&mut self, pages: impl Into<Vec<&'static str>>) {
        self.blocks().push(Block::Method(pages.into()));
    }

    /// Adds a chart, if the report shows figures and the chart has anything to draw.
    pub(crate) fn figure<C: Into<Option<Chart>>>(&mut self, draw: impl FnOnce() -> C) {
        if self.has_figures {
            let figure = draw().into().and_then(Chart::figure);
            self.blocks()
                .extend(figure.map(|figure| Block::Figure(Box::new(figure))));
        }
    }
}

/// Text under construction for a terminal, without control characters.
struct Text {
    style: Style,
    text: String,
}

impl Text {
    fn blocks(&mut self, section: &Section) {
        section.blocks.iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Gap => self.gap(),
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
        page.toned_line("f\u{1b}", Tone::Bad);
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
        page.line(&words);
        let text = page.finish();
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths, [56, 23, 74]);
    }
}
