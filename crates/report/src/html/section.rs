use maud::{Markup, html};

use super::{method, table};
use crate::Tone;
use crate::figure::Figure;
use crate::page::{self, Block};
use crate::plain::plain;
use crate::slug::slug;

/// A part of a page under one heading.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    rest: String,
    pub(super) blocks: Vec<Block>,
}

impl Section {
    /// Creates the section at index `place` of a page.
    pub(super) fn new(prefix: &str, place: usize, section: page::Section) -> Self {
        let title = plain(&section.title).into_owned();
        Section {
            id: format!("{prefix}-{}-{}", place + 1, slug(&title)),
            title,
            rest: plain(&section.rest).into_owned(),
            blocks: section.blocks,
        }
    }

    pub(super) fn markup(&self, prefix: &str) -> Markup {
        html! {
            // The section gets no `aria-label`, so it is no landmark: several sections may have the
            // same title.
            section id=(self.id) {
                h3 { (self.title) }
                @if !self.rest.is_empty() { p class="conditions" { (self.rest) } }
                (blocks(&self.blocks, prefix, &self.title))
            }
        }
    }
}

/// Returns the `id` of the element that contains a figure.
pub(super) fn figure_id(prefix: &str, figure: &Figure) -> String {
    format!("figure-{prefix}-{}", figure.name)
}

/// Returns the blocks in order. Consecutive items form one list.
pub(super) fn blocks(blocks: &[Block], prefix: &str, about: &str) -> Markup {
    let runs = blocks.chunk_by(|a, b| matches!((a, b), (Block::Item(_), Block::Item(_))));
    html! {
        @for run in runs {
            @if let Block::Item(_) = run[0] {
                ul { @for item in run { @if let Block::Item(text) = item { li { (plain(text)) } } } }
            } @else { @for one in run { (block(one, prefix, about)) } }
        }
    }
}

fn block(block: &Block, prefix: &str, about: &str) -> Markup {
    match block {
        Block::Gap | Block::Item(_) => html! {},
        Block::Paragraph(text) => html! { p { (plain(text)) } },
        Block::Prose(text) => html! { p { (plain(text)) } },
        Block::Line(text, tone) => {
            html! { p class=[(*tone == Tone::Suspect).then_some("suspect")] { (plain(text)) } }
        }
        Block::Grid(grid) if grid.is_empty() => html! {},
        Block::Grid(grid) => table::markup(grid, about),
        Block::Figure(figure) => self::figure(figure, prefix),
        Block::Method(pages) => method::links(pages),
    }
}

fn figure(figure: &Figure, prefix: &str) -> Markup {
    html! {
        figure {
            div id=(figure_id(prefix, figure)) class="drawing" { (figure.svg) }
            figcaption { strong { (plain(&figure.title)) "." } " " (plain(&figure.caption)) }
            @if let Some(grid) = figure.table.as_ref().filter(|grid| !grid.is_empty()) {
                details { summary { "The numbers of this figure" } (table::markup(grid, &figure.title)) }
            }
        }
    }
}
