#!/usr/bin/env bash
# Makes a site of all pages with mdBook, with search, and checks every link. Pages and the files to
# which they link are copied unchanged into the same folders as here, so that links out of docs/
# also work.
#
# Usage: scripts/site.sh      leaves target/site/index.html
#
# Exit codes: 0 made and checked, 1 a page, the target of a link, or mdBook (scripts/setup.sh site)
# is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
tools=$target/site-tools
book=$target/site-book
site=$target/site

mdbook=$(command -v "$tools/bin/mdbook" || command -v mdbook) ||
    { echo 'site: found no mdbook, need it to make the site: scripts/setup.sh site' >&2; exit 1; }

rm -rf "$book" "$site"
mkdir -p "$book/src"
cp site/book.toml site/figures.css "$book/"
# Copies the pages, and all files to which they link. Uncommitted files are included.
git ls-files --cached --others --exclude-standard -z -- '*.md' 'LICENSE-*' capture/valgrind/COPYING docs results/figures results/*.json results/runtimes.txt published designs crates/reproduce/claims |
    while IFS= read -r -d '' file; do [ -e "$file" ] && printf '%s\0' "$file"; done |
    tar --create --null --files-from=- | tar --extract --directory "$book/src"
# mdBook turns a README into index.html of its folder.
find "$book/src" -name '*.md' -exec sed -i 's#\](\([^)]*\)README\.md#](\1index.html#g' {} +
# The table of contents is docs/SUMMARY.md, with paths from the root, and notebooks as Markdown
# pages.
sed -e 's#](\.\./#](/#; s#](\([^/]\)#](docs/\1#; s#](/#](#; s#\.ipynb)#.ipynb.md)#' docs/SUMMARY.md > "$book/src/SUMMARY.md"
rm "$book/src/docs/SUMMARY.md"
for notebook in "$book"/src/docs/notebooks/*.ipynb; do python3 scripts/notebook-page.py "$notebook" > "$notebook.md"; done
# A link to a folder leads to its page; these folders get a page that lists their files.
for folder in designs crates/reproduce/claims; do
    (cd "$book/src/$folder" && printf '# %s\n\n' "$folder" && for file in *; do printf -- '- [%s](%s)\n' "$file" "$file"; done) > "$book/list"
    mv "$book/list" "$book/src/$folder/README.md"
    printf -- '- [%s](%s)\n' "$folder" "$folder/README.md" >> "$book/src/SUMMARY.md"
done

"$mdbook" build "$book" --dest-dir "$(realpath -m "$site")"

if lychee=$(command -v "$tools/lychee/bin/lychee" || command -v lychee); then
    "$lychee" --offline --include-fragments --index-files index.html,. --no-progress --root-dir "$(realpath "$site")" "$site/**/*.html"
else
    echo 'site: found no lychee, links in the site are not checked (scripts/setup.sh site)' >&2
fi
echo "site: $site/index.html"
