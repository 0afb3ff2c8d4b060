//! A headless Chromium: what it makes of a page, within a bound of time.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchcost_host::browser::Browser;

const PROBE: &str = include_str!("probe.js");

/// Set up before anything else on the page.
const LISTEN: &str = "<script>window.probeErrors = [];\
    addEventListener('error', (e) => probeErrors.push('error: ' + e.message));\
    addEventListener('securitypolicyviolation', (e) => probeErrors.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI));\
    addEventListener('unhandledrejection', (e) => probeErrors.push('rejection: ' + e.reason));\
    for (const kind of ['error', 'warn']) { const old = console[kind];\
    console[kind] = (...words) => { probeErrors.push(kind + ': ' + words.join(' ')); old(...words); }; }</script>";

/// A browser, or nothing if there is none; then it says so.
pub(crate) fn find() -> Option<Browser> {
    let found = Browser::find();
    if found.is_none() {
        eprintln!("skipped: no Chromium is installed; scripts/setup.sh test installs it");
    }
    found
}

/// Where a test leaves what it made, to be looked at.
pub(crate) fn artefacts(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("pages")
        .join(name);
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
}

/// axe-core, which looks for what keeps readers out, or nothing if there is none; then it says so.
pub(crate) fn axe() -> Option<String> {
    let place =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("../axe/node_modules/axe-core/axe.min.js");
    let found = fs::read_to_string(place).ok();
    if found.is_none() {
        eprintln!(
            "skipped: no axe-core is there; scripts/setup.sh test fetches it where npm is installed"
        );
    }
    found
}

/// A picture of a page as it is when its figures are drawn, kept among the artefacts: its path.
pub(crate) fn picture(browser: &Browser, page: &str, name: &str, flags: &[&str]) -> PathBuf {
    let place = artefacts(name).join("page.png");
    let _ = fs::remove_file(&place);
    let picture = format!("--screenshot={}", place.display());
    let flags = [
        flags,
        &["--hide-scrollbars", "--virtual-time-budget=10000", &picture],
    ]
    .concat();
    launch(browser, page, name, &flags);
    place
}

/// A page as a printer gets it, kept among the artefacts: its path.
pub(crate) fn paper(browser: &Browser, page: &str, name: &str) -> PathBuf {
    let place = artefacts(name).join("page.pdf");
    let _ = fs::remove_file(&place);
    launch(
        browser,
        page,
        name,
        &[
            "--virtual-time-budget=20000",
            &format!("--print-to-pdf={}", place.display()),
        ],
    );
    place
}

/// The elements of a page as they are when its scripts have run, and what the browser said.
pub(crate) fn open(browser: &Browser, page: &str, name: &str, flags: &[&str]) -> (String, String) {
    launch(
        browser,
        page,
        name,
        &[flags, &["--window-size=1200,900", "--dump-dom"]].concat(),
    )
}

/// What the browser writes on stdout and stderr, which is also kept among the artefacts.
fn launch(browser: &Browser, page: &str, name: &str, flags: &[&str]) -> (String, String) {
    let folder = artefacts(name);
    let html = folder.join("page.html");
    fs::write(&html, page).expect("written");
    let own = tempfile::tempdir().expect("a folder");
    // In a container there may be no sandbox; the pages are ours.
    let flags = [&["--no-sandbox", "--enable-logging=stderr"], flags].concat();
    let opened = browser
        .open(&html, &flags, own.path())
        .unwrap_or_else(|error| {
            let log = fs::read_to_string(own.path().join("stderr")).unwrap_or_default();
            panic!(
                "{} with {}: {error}; all that it said: {log}",
                browser.path().display(),
                html.display()
            )
        });
    fs::write(folder.join("dom.html"), &opened.elements).expect("written");
    fs::write(folder.join("log.txt"), &opened.log).expect("written");
    (opened.elements, opened.log)
}

/// Opens a page, reads it as a reader with a mouse does, and says what came of it.
pub(crate) fn probe(browser: &Browser, page: &str, name: &str) -> Value {
    assert!(
        page.contains("<head>") && page.contains("</body>"),
        "a page with a head and a body"
    );
    let page = page.replacen("<head>", &format!("<head>{LISTEN}"), 1);
    let page = page.replacen("</body>", &format!("<script>{PROBE}</script></body>"), 1);
    let (dom, log) = open(browser, &page, name, &[]);
    outcome(&dom, &log)
}

/// What a script of ours wrote down on a page.
pub(crate) fn outcome(dom: &str, log: &str) -> Value {
    let Some((_, rest)) = dom.split_once("<pre id=\"outcome\">") else {
        panic!("the probe did not come to its end; the browser said: {log}")
    };
    let text = rest.split("</pre>").next().unwrap_or_default();
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&");
    serde_json::from_str(&text).expect("JSON")
}
