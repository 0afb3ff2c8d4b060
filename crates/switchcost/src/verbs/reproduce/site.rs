//! The pages: one for each paper, one that leads to them, and the same as JSON.

use ::report::reproduce::{Reproduction, render};
use ::report::{Format, Style, html};

use super::folder::Folder;
use crate::exit::Failure;
use crate::output::Output;

pub(super) fn write(reproductions: &[Reproduction<'_>], folder: &Folder) -> Result<(), Failure> {
    for reproduction in reproductions {
        let name = reproduction.paper.to_string();
        let part = html::Part::Reproduced { name: &name, reproduction: *reproduction };
        Output::claim(Some(&folder.file(&format!("{name}.html"))))?.write(&html::render(&[part]).page)?;
        let json = render(reproduction, Format::Json, Style::default());
        Output::claim(Some(&folder.file(&format!("{name}.json"))))?.write(&json)?;
    }
    Output::claim(Some(&folder.index()))?.write(&html::index(reproductions))
}
