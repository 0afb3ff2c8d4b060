use std::fs;
use std::io;
use std::path::Path;

use switchcost_host::browser::{Browser, NAMES};
use switchcost_host::temporary::TemporaryFolder;

use crate::exit::Failure;

/// Time on the page's own clock, which runs ahead whenever the page waits.
const BUDGET: &str = "--virtual-time-budget=120000";

/// The elements of a page when its scripts have run. The browser asks nothing of the network.
pub(super) fn run(page: &str, folder: &Path) -> Result<String, Failure> {
    let browser = Browser::find().ok_or_else(|| {
        Failure::broken(format!(
            "failed to draw the figures: found no Chromium in PATH ({}), need one to make PNG and SVG; install it (sudo apt-get install \
             chromium). The tables are in {}",
            NAMES.join(", "),
            folder.display()
        ))
    })?;
    dump(&browser, page).map_err(|error| {
        let found = format!("{} to end with: {error}", browser.path().display());
        no_pictures(&found, "it to draw the page")
    })
}

/// Why there are none.
pub(super) fn no_pictures(found: &str, needed: &str) -> Failure {
    Failure::broken(format!(
        "failed to draw the figures: found {found}, need {needed}; try it again, or open the page of -o in a browser"
    ))
}

/// What the browser leaves behind is removed when we are gone.
fn dump(browser: &Browser, page: &str) -> io::Result<String> {
    let place = TemporaryFolder::create_in(&std::env::temp_dir())?;
    let html = place.path().join("page.html");
    fs::write(&html, page)?;
    Ok(browser
        .open(&html, &[BUDGET, "--dump-dom"], place.path())?
        .elements)
}
