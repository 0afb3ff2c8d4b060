#!/usr/bin/env bash
# Makes a site of all pages with mdBook, with search, and checks that every link in it leads somewhere. The pages are taken as they are, with
# what they link to, in the folders that they lie in here: so links out of docs/ hold, too.
#
# Usage: scripts/site.sh      leaves target/site/index.html
#
# Exit codes: 0 made and checked, 1 a page or a link is missing, or a tool (scripts/setup.sh site).
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
# What pages link to, beside pages. Files that are not yet committed belong to them.
git ls-files --cached --others --exclude-standard -z -- '*.md' 'LICENSE-*' capture/valgrind/COPYING docs results/figures results/*.json results/runtimes.txt published designs crates/reproduce/claims |
    while IFS= read -r -d '' file; do [ -e "$file" ] && printf '%s\0' "$file"; done |
    tar --create --null --files-from=- | tar --extract --directory "$book/src"
# mdBook makes a README the page of its folder.
find "$book/src" -name '*.md' -exec sed -i 's#\](\([^)]*\)README\.md#](\1index.html#g' {} +
# The table of contents is that of docs/, whose notebooks are made pages, and which begins with what lies above it.
sed -e 's#](\.\./#](/#; s#](\([^/]\)#](docs/\1#; s#](/#](#; s#\.ipynb)#.ipynb.md)#' docs/SUMMARY.md > "$book/src/SUMMARY.md"
rm "$book/src/docs/SUMMARY.md"
for notebook in "$book"/src/docs/notebooks/*.ipynb; do python3 scripts/notebook-page.py "$notebook" > "$notebook.md"; done
# A link to a folder leads to the page that is in it, or to a list of its files.
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
