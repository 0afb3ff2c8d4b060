use maud::{Markup, html};

use crate::entry::Side;
use crate::for_programs::csv;
use crate::plain::plain;
use crate::{Entry, Grid, Tone};

/// Returns an HTML table of the columns that are not empty. A table that is too wide can be
/// scrolled, also by keyboard.
pub(super) fn markup(grid: &Grid, about: &str) -> Markup {
    let columns = grid.shown_columns();
    html! {
        div class="table" tabindex="0" role="group" aria-label=(about) {
            table {
                thead { tr { @for (_, name, side) in &columns { (heading(name, *side)) } } }
                tbody {
                    @for row in grid.rows() {
                        tr {
                            @for (number, _, side) in &columns { (cell(&row[*number], *side, *number < grid.keys())) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the heading of a column. An empty heading is an ordinary cell, because screen readers
/// would announce an empty heading.
fn heading(name: &str, side: Side) -> Markup {
    html! {
        @if name.is_empty() { td {} } @else { th scope="col" class=[class(side)] { (plain(name)) } }
    }
}

fn class(side: Side) -> Option<&'static str> {
    (side == Side::Right).then_some("number")
}

fn cell(entry: &Entry, side: Side, is_key: bool) -> Markup {
    let tone = match entry.tone {
        Tone::Usual => "",
        Tone::Strong => "strong",
        Tone::Good => "good",
        Tone::Suspect => "suspect",
        Tone::Bad => "bad",
    };
    let classes = [class(side).unwrap_or_default(), tone].join(" ");
    let classes = Some(classes.trim()).filter(|classes| !classes.is_empty());
    let lines: Vec<&str> = entry.text.split('\n').map(str::trim).collect();
    let text = html! { @for (i, line) in lines.iter().enumerate() { @if i > 0 { br; } (line) } };
    html! {
        @if is_key && !entry.text.is_empty() { th scope="row" class=[classes] { (text) } } @else { td class=[classes] { (text) } }
    }
}

/// Returns the table as CSV: a line of column names, then the rows.
pub(super) fn as_csv(grid: &Grid) -> String {
    let columns = grid.shown_columns();
    let names = columns
        .iter()
        .map(|(_, name, _)| (*name).to_owned())
        .collect();
    let row = |row: &Vec<Entry>| {
        columns
            .iter()
            .map(|(number, ..)| row[*number].text.replace('\n', " "))
            .collect()
    };
    csv(std::iter::once(names).chain(grid.rows().iter().map(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{has_all, lacks};

    fn grid() -> Grid {
        let mut grid = Grid::new(1).left(["<i>name</i>"]).right(["cost"]);
        grid.row(entries![
            "<script>alert(1)</script>",
            Entry::stacked("1", "us", Tone::Suspect)
        ]);
        grid
    }

    #[test]
    fn markup_in_a_cell_stays_text() {
        let page = markup(&grid(), "\"quoted\"").into_string();
        has_all(
            &page,
            [
                "&lt;script&gt;alert(1)&lt;/script&gt;",
                "&lt;i&gt;name",
                "aria-label=\"&quot;quoted&quot;\"",
                "<td class=\"number suspect\">1<br>us</td>",
            ],
        );
        for markup in ["<i>", "<script"] {
            lacks(&page, markup);
        }
    }

    #[test]
    fn a_spreadsheet_gets_one_line_a_row() {
        assert_eq!(
            as_csv(&grid()),
            "<i>name</i>,cost\n<script>alert(1)</script>,1 us\n"
        );
    }
}
