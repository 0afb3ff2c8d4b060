use plotly::Trace;
use serde::Serialize;

use super::drawing::{Drawing, outline};
use super::label::label;

/// A tile of a treemap.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    /// Number of the tile that it lies in; `None` for the outermost.
    pub(crate) within: Option<usize>,
    /// Its name; hostile text.
    pub(crate) name: String,
    /// Its size, that of all tiles within it included.
    pub(crate) value: f64,
    /// What a pointer on it shows; hostile text.
    pub(crate) hover: String,
}

/// Tiles within tiles, as a drawing.
pub(crate) fn tiles(tiles: &[Tile]) -> Drawing {
    Drawing::new(vec![Treemap::new(tiles)], outline())
}

/// The trace of that name of plotly.js, which the plotly crate lacks.
#[derive(Clone, Debug, Serialize)]
struct Treemap {
    r#type: &'static str,
    branchvalues: &'static str,
    ids: Vec<String>,
    labels: Vec<String>,
    parents: Vec<String>,
    values: Vec<f64>,
    text: Vec<String>,
    textinfo: &'static str,
    hovertemplate: &'static str,
}

impl Treemap {
    /// Tiles with their numbers as names to the script: two tiles may be called the same.
    fn new(tiles: &[Tile]) -> Box<Self> {
        Box::new(Treemap {
            r#type: "treemap",
            branchvalues: "total",
            ids: (0..tiles.len()).map(|number| number.to_string()).collect(),
            labels: tiles.iter().map(|tile| label(&tile.name)).collect(),
            parents: tiles
                .iter()
                .map(|tile| tile.within.map(|n| n.to_string()).unwrap_or_default())
                .collect(),
            values: tiles.iter().map(|tile| tile.value).collect(),
            text: tiles.iter().map(|tile| label(&tile.hover)).collect(),
            textinfo: "label+percent root",
            hovertemplate: "%{label}<br>%{text}<extra></extra>",
        })
    }
}

impl Trace for Treemap {
    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("every key of every map is text")
    }
}
