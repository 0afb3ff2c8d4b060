use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Table,
    TableComponent, Width, presets,
};
use itertools::Itertools;
use textwrap::core::display_width;

use crate::Style;
use crate::entry::{Entry, Side, Tone};

/// Gap between two columns, in characters.
const WIDE_GAP: u16 = 2;

/// Gap between two columns of a table that is too wide with the usual gap, in characters.
const NARROW_GAP: u16 = 1;

/// Length in characters of the longest word that is never broken. A longer word would leave no room
/// for other columns.
const LONGEST_WORD: usize = 32;

/// Length of the longest text that counts as a number with its unit and interval.
const LONGEST_NUMBER: usize = 25;

/// Length in characters of the longest label that is not cut off in a table with one line per row.
const LONGEST_LABEL: usize = 48;

/// No-break space: lines are not broken here.
const FIXED_SPACE: &str = "\u{a0}";

/// A table in the style of all reports: without borders, with a line under the header. Words of up
/// to [`LONGEST_WORD`] characters are never broken.
///
/// A table that is too wide for the page is split into several tables, one below the other. Each of
/// these tables begins with the key columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    keys: usize,
    is_one_line_a_row: bool,
    /// Whether labels in the key columns are never broken.
    has_whole_labels: bool,
    columns: Vec<(String, Side)>,
    rows: Vec<Vec<Entry>>,
}

impl Grid {
    /// Creates a table whose first `keys` columns identify a row.
    pub(crate) fn new(keys: usize) -> Self {
        Grid {
            keys,
            ..Grid::default()
        }
    }

    /// Creates a table with one line per row. A text that is too long for its column is cut off and
    /// ends in `…`.
    pub(crate) fn single_line_rows(keys: usize) -> Self {
        Grid {
            keys,
            is_one_line_a_row: true,
            ..Grid::default()
        }
    }

    /// Adds left-aligned columns at the right end of the table.
    pub(crate) fn left<T: Into<String>>(self, names: impl IntoIterator<Item = T>) -> Self {
        self.columns(names, Side::Left)
    }

    /// Adds right-aligned columns, for numbers, at the right end of the table.
    pub(crate) fn right<T: Into<String>>(self, names: impl IntoIterator<Item = T>) -> Self {
        self.columns(names, Side::Right)
    }

    /// Creates a table of facts: the name of each fact and its value.
    pub(crate) fn facts<T: Into<Entry>>(
        title: &str,
        facts: impl IntoIterator<Item = (T, String)>,
    ) -> Self {
        let rows = facts
            .into_iter()
            .map(|(name, value)| [name.into(), value.into()]);
        Grid::new(1).left([title, ""]).with_rows::<[Entry; 2]>(rows)
    }

    fn columns<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>, side: Side) -> Self {
        self.columns
            .extend(names.into_iter().map(|name| (name.into(), side)));
        self
    }

    /// Adds a row. Cells that are missing at the right are empty.
    pub(crate) fn row(&mut self, row: impl IntoIterator<Item = impl Into<Entry>>) {
        let mut row: Vec<Entry> = row.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), Entry::default());
        self.rows.push(row);
    }

    /// Adds rows at the end of the table.
    pub(crate) fn with_rows<R>(mut self, rows: impl IntoIterator<Item = R>) -> Self
    where
        R: IntoIterator<Item: Into<Entry>>,
    {
        rows.into_iter().for_each(|row| self.row(row));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the index, name and alignment of each column with at least one cell that is not
    /// empty.
    pub(crate) fn shown_columns(&self) -> Vec<(usize, &str, Side)> {
        let columns = self
            .columns
            .iter()
            .enumerate()
            .filter(|(number, _)| self.has_content(*number));
        columns
            .map(|(number, (name, side))| (number, name.as_str(), *side))
            .collect()
    }

    /// Returns all rows of the table. Each row has a cell for every column.
    pub(crate) fn rows(&self) -> &[Vec<Entry>] {
        &self.rows
    }

    /// Returns the number of key columns, which identify a row, at the left of the table.
    pub(crate) fn keys(&self) -> usize {
        self.keys
    }

    /// Renders the table as text, without empty columns.
    pub(crate) fn render(&self, style: Style) -> String {
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|c| self.has_content(*c))
            .collect();
        let width = usize::from(style.columns());
        let narrowest = |table: &Grid| {
            [WIDE_GAP, NARROW_GAP]
                .into_iter()
                .find(|gap| table.least_width(&shown, *gap) <= width)
        };
        let mut whole = self.clone();
        whole.has_whole_labels = self.is_one_line_a_row;
        if self.is_one_line_a_row && !self.has_whole_labels && narrowest(&whole).is_some() {
            return whole.render(style);
        }
        // Narrow gaps leave more of a label that is cut off.
        let gap = match self.is_one_line_a_row && !self.has_whole_labels {
            true => narrowest(self).map(|_| NARROW_GAP),
            false => narrowest(self),
        };
        let blocks = if gap.is_some() {
            vec![shown]
        } else {
            self.blocks(&shown, width)
        };
        let gap = gap.unwrap_or(WIDE_GAP);
        let mut texts = blocks.iter().enumerate().map(|(i, columns)| {
            let rows = self
                .rows
                .iter()
                .filter(|row| i == 0 || columns.iter().any(|c| self.is_news(row, *c)));
            self.render_block(columns, &rows.collect::<Vec<_>>(), gap, style)
        });
        texts.join("\n")
    }

    fn has_content(&self, column: usize) -> bool {
        self.rows.iter().any(|row| !row[column].text.is_empty())
    }

    /// Returns true if a cell is not empty and not a key. The second and further parts of a split
    /// table only have rows with such a cell.
    fn is_news(&self, row: &[Entry], column: usize) -> bool {
        column >= self.keys && !row[column].text.is_empty()
    }

    /// Distributes the columns over tables, from left to right. Each table has the key columns, and
    /// others up to the width of the page.
    fn blocks(&self, shown: &[usize], width: usize) -> Vec<Vec<usize>> {
        let (keys, rest): (Vec<usize>, Vec<usize>) =
            shown.iter().partition(|column| **column < self.keys);
        let mut blocks = vec![keys.clone()];
        for column in rest {
            let last = blocks.len() - 1;
            let wider: Vec<usize> = blocks[last].iter().copied().chain([column]).collect();
            if blocks[last].len() == keys.len() || self.least_width(&wider, WIDE_GAP) <= width {
                blocks[last] = wider;
            } else {
                blocks.push(keys.iter().copied().chain([column]).collect());
            }
        }
        blocks
    }

    fn least_width(&self, columns: &[usize], gap: u16) -> usize {
        let words: usize = columns
            .iter()
            .map(|column| self.longest_word(*column))
            .sum();
        // The width of the last column includes a gap, too.
        (words + usize::from(gap) * columns.len()).saturating_sub(1)
    }

    fn longest_word(&self, column: usize) -> usize {
        let texts = self
            .rows
            .iter()
            .map(|row| self.unbreakable(column, &row[column].text));
        let texts = texts.chain([self.columns[column].0.clone()]);
        let longest = |text: String| {
            text.split([' ', '\n'])
                .map(display_width)
                .max()
                .unwrap_or(0)
        };
        let most = match self.has_whole_label(column) {
            true => LONGEST_LABEL,
            false => LONGEST_WORD,
        };
        texts.map(longest).max().unwrap_or(0).min(most)
    }

    /// Returns true if the labels of a column are never broken.
    fn has_whole_label(&self, column: usize) -> bool {
        self.has_whole_labels && column < self.keys
    }

    fn render_block(
        &self,
        columns: &[usize],
        rows: &[&Vec<Entry>],
        gap: u16,
        style: Style,
    ) -> String {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        table
            .set_style(TableComponent::HeaderLines, '─')
            .set_style(TableComponent::MiddleHeaderIntersections, '─');
        table.set_truncation_indicator("…");
        table.force_no_tty().set_width(style.columns());
        if style.is_coloured {
            table.enforce_styling();
        }
        table.set_header(columns.iter().map(|c| self.header(*c)));
        for row in rows {
            let mut cells = Row::from(
                columns
                    .iter()
                    .map(|c| self.cell(*c, &row[*c]))
                    .collect::<Vec<_>>(),
            );
            if self.is_one_line_a_row {
                cells.max_height(1);
            }
            table.add_row(cells);
        }
        for (column, shape) in columns.iter().zip(table.column_iter_mut()) {
            // The table library puts one space between two columns.
            shape.set_padding((0, gap - 1));
            let least = u16::try_from(self.longest_word(*column)).unwrap_or(u16::MAX);
            shape.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
                least + gap - 1,
            )));
        }
        table.trim_fmt().replace(FIXED_SPACE, " ") + "\n"
    }

    fn header(&self, column: usize) -> Cell {
        toned(Cell::new(&self.columns[column].0), Tone::Strong)
            .set_alignment(self.alignment(column))
    }

    fn cell(&self, column: usize, entry: &Entry) -> Cell {
        let text = self.unbreakable(column, &entry.text);
        toned(Cell::new(text), entry.tone).set_alignment(self.alignment(column))
    }

    fn alignment(&self, column: usize) -> CellAlignment {
        match self.columns[column].1 {
            Side::Left => CellAlignment::Left,
            Side::Right => CellAlignment::Right,
        }
    }

    /// Joins a number to its unit, and indentation to its name, by no-break spaces.
    fn unbreakable(&self, column: usize, text: &str) -> String {
        let is_number = self.columns[column].1 == Side::Right && text.len() <= LONGEST_NUMBER;
        if is_number || self.has_whole_label(column) {
            return text.replace(' ', FIXED_SPACE);
        }
        let word = text.trim_start_matches(' ');
        FIXED_SPACE.repeat(text.len() - word.len()) + word
    }
}

fn toned(cell: Cell, tone: Tone) -> Cell {
    match tone {
        Tone::Usual => cell,
        Tone::Strong => cell.add_attribute(Attribute::Bold),
        Tone::Good => cell.fg(Color::Green),
        Tone::Suspect => cell.fg(Color::Yellow),
        Tone::Bad => cell.fg(Color::Red),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{begins, has};

    fn narrow(width: u16) -> Style {
        Style {
            width: Some(width),
            ..Style::default()
        }
    }

    fn grid() -> Grid {
        let mut grid = Grid::new(1).left(["name"]).right(["empty", "cost"]);
        grid.row(entries!["pipe", "", Entry::new("1.74 us", Tone::Suspect)]);
        grid.row(entries!["\u{1b}[2Jtcp"]);
        grid
    }

    #[test]
    fn columns_without_content_are_left_out() {
        assert_eq!(
            grid().render(Style::default()),
            "name       cost\n────────────────\npipe    1.74 us\n[2Jtcp\n"
        );
    }

    #[test]
    fn a_table_too_wide_is_cut_and_its_keys_repeated() {
        let mut grid = Grid::new(1).right(["name", "first", "second"]);
        let long = "x".repeat(28);
        grid.row(entries!["a", &long, &long]);
        let style = narrow(60);
        let text = grid.render(style);
        let [first, second] = text.split("\n\n").collect::<Vec<_>>()[..] else {
            panic!("two blocks: {text}")
        };
        for block in [first, second] {
            begins(block, "name ");
            has(block, &long);
        }
    }

    #[test]
    fn a_number_stays_with_its_unit_and_a_sentence_is_wrapped_between_words() {
        let mut grid = Grid::new(1).left(["name"]).right(["cost"]);
        grid.row(entries!["word ".repeat(20), "1.74 us"]);
        let text = grid.render(narrow(60));
        let mut words = text.lines().skip(2).flat_map(str::split_whitespace);
        assert!(
            words.all(|word| ["word", "1.74", "us"].contains(&word)),
            "{text}"
        );
        has(&text, "1.74 us\n");
    }

    #[test]
    fn labels_are_cut_off_only_if_there_is_no_room() {
        let table = |label: &str| {
            let mut grid = Grid::single_line_rows(1).left(["name"]);
            grid = grid.right((0..6).map(|number| format!("column {number}")));
            grid.row(std::iter::once(label.to_owned()).chain((0..6).map(|_| "1.74 us".to_owned())));
            grid.render(narrow(80))
        };
        let label = "after an involuntary wait";
        has(&table(label), label);
        let long = "a label that is much longer than the room that is left for it";
        has(&table(long), "…");
    }
}
