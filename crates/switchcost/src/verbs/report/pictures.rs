//! Figures as files of their own. They are drawn by a browser from the very page that people read: a second way to draw
//! them would sooner or later draw something else.

mod browser;

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use switchcost_report::html::Html;

use crate::exit::Failure;
use crate::output::Output;

/// Writes each table as CSV and each figure as SVG and PNG. Tables first: they need no browser.
pub(in crate::verbs) fn write(html: &Html, folder: &Path) -> Result<(), Failure> {
    let failed = Failure::output(folder);
    fs::create_dir_all(folder).map_err(failed)?;
    for (name, csv) in &html.tables {
        keep(folder, name, "csv", csv.as_bytes())?;
    }
    if html.figures.is_empty() {
        return Ok(());
    }
    let dom = browser::run(&html.to_be_pictured(), folder)?;
    for figure in &html.figures {
        for format in ["svg", "png"] {
            let picture = picture(&dom, figure, format).ok_or_else(|| {
                let found = format!("no {format} of {figure} in what Chromium wrote");
                browser::no_pictures(&found, "one of each figure")
            })?;
            keep(folder, figure, format, &picture)?;
        }
    }
    Ok(())
}

fn keep(folder: &Path, name: &str, ending: &str, bytes: &[u8]) -> Result<(), Failure> {
    Output::in_folder(&folder.join(format!("{name}.{ending}")))?.write_bytes(bytes)
}

/// A picture out of its data URL.
fn picture(dom: &str, figure: &str, format: &str) -> Option<Vec<u8>> {
    let (_, rest) = dom.split_once(&format!("<pre id=\"{figure}.{format}\">"))?;
    let (url, _) = rest.split_once("</pre>")?;
    if let Some(text) = url.strip_prefix("data:image/svg+xml,") {
        let bytes: Vec<u8> = percent_decode_str(text).collect();
        return bytes.starts_with(b"<svg").then_some(bytes);
    }
    let bytes = STANDARD
        .decode(url.strip_prefix("data:image/png;base64,")?)
        .ok()?;
    bytes.starts_with(b"\x89PNG").then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_found_by_its_figure_and_format() {
        let dom = "<pre id=\"a.svg\">data:image/svg+xml,%3Csvg%3E%3C%2Fsvg%3E</pre><pre id=\"a.png\">data:image/png;base64,\
                   iVBORw==</pre><pre id=\"b.svg\">data:,</pre>";
        assert_eq!(
            picture(dom, "a", "svg").as_deref(),
            Some(&b"<svg></svg>"[..])
        );
        assert_eq!(picture(dom, "a", "png").as_deref(), Some(&b"\x89PNG"[..]));
        assert_eq!(picture(dom, "b", "svg"), None, "no picture");
        assert_eq!(picture(dom, "c", "svg"), None, "no figure");
    }
}
