# Finds circles of dependences between the files of a crate, for check-arrows.sh. Reads
# ARCHITECTURE.md and all sources, which must be formatted by rustfmt.
#
# An arrow goes from a file to the file that defines an item which a path in the first file names.
# Re-exports are followed, tests are left out. An arrow joins two sibling modules, each including
# its submodules; references between a module and its own submodules are no arrows. An arrow with a
# row `| `crate/a.rs -> b.rs` | reason |` in ARCHITECTURE.md may be part of a circle.
function complain(text) { print "check-arrows: " text > "/dev/stderr"; wrong++ }
FILENAME == "ARCHITECTURE.md" { if (match($0, /^\| `[^`]+ -> [^`]+`/)) rows[substr($0, 4, RLENGTH - 4)] = ""; next }
FNR == 1 {
    module = FILENAME; sub(/^crates\//, "", module); sub(/\/src\//, "/", module); shown = module
    sub(/(\/(lib|main|mod))?\.rs$/, "", module); gsub(/\//, "::", module)
    modules[++count] = module; file[module] = shown; skipped = ""
}
{ match($0, /^ */); indent = "x" substr($0, 1, RLENGTH) }
skipped != "" {
    if (indent != skipped || !/^ *}|;$/) next
    skipped = ""
    if (match($0, /mod [a-z_0-9]+;$/)) is_test[module "::" substr($0, RSTART + 4, RLENGTH - 5)]
    next
}
/^ *#\[cfg\((test|all\(test)/ { skipped = indent; next }
/^ *\/\// { next }
{ sub(/ \/\/ .*/, ""); gsub(/"[^"]*"/, "\"\""); text[module] = text[module] " " $0 }

function is_left_out(m) { do if (m in is_test) return 1; while (sub(/::[^:]*$/, "", m)); return 0 }

# Expands `a::{b,c::d}` to `a::b,a::c::d`.
function flat(tree,   group, pre) {
    while (match(tree, /[A-Za-z0-9_:]*::\{[^{}]*\}/)) {
        group = substr(tree, RSTART, RLENGTH - 1); pre = substr(group, 1, index(group, "{") - 1)
        group = substr(group, length(pre) + 2); gsub(/,/, "," pre, group)
        tree = substr(tree, 1, RSTART - 1) pre group substr(tree, RSTART + RLENGTH)
    }
    return tree
}

# Records the names that `use` declarations bring into a module, and replaces the declarations in
# the module's text by their paths.
function take_imports(m,   rest, left, tree, parts, n, i, name, path) {
    rest = text[m]; text[m] = ""
    while (match(rest, /[ (;}]use [A-Za-z_:][^;]*;/)) {
        tree = substr(rest, RSTART + 5, RLENGTH - 6)
        left = left substr(rest, 1, RSTART); rest = substr(rest, RSTART + RLENGTH)
        gsub(/ as /, "@", tree); gsub(/ /, "", tree); gsub(/,}/, "}", tree)
        n = split(flat(tree), parts, ",")
        for (i = 1; i <= n; i++) {
            path = name = parts[i]; sub(/@.*/, "", path); sub(/::self$/, "", path)
            sub(/::self/, "", name); sub(/.*(::|@)/, "", name)
            import[m, name] = path; left = left " " path " "
        }
    }
    text[m] = left rest
}

# Returns the module that defines the item which a path names in module m; empty if the item is in
# another crate.
function resolved(m, path, depth,   seg, n, i, at, found) {
    n = split(path, seg, "::"); at = m; i = 2
    if (depth > 8) return ""
    if (seg[1] == "crate") sub(/::.*/, "", at)
    else if (seg[1] == "super") { for (i = 1; seg[i] == "super"; i++) sub(/::[^:]*$/, "", at) }
    else if (seg[1] != "self") i = 1
    if (i == 1 && !((at "::" seg[1]) in file) && (!((at, seg[1]) in import) || import[at, seg[1]] ~ "^" seg[1] "(::|$)")) return ""
    for (; i <= n; i++) {
        if ((at "::" seg[i]) in file) { at = at "::" seg[i]; continue }
        if (!((at, seg[i]) in import)) return at
        found = resolved(at, import[at, seg[i]], depth + 1)
        if (found == "" && i == 1) return ""
        if (found != "") at = found
        if (found == "" || seg[i] ~ /^[A-Z]/) return at
    }
    return at
}

# Adds an arrow between the sibling modules that contain two modules, unless one of the two contains
# the other.
function join(m, other, path,   a, b, na, nb, i, from, to) {
    na = split(m, a, "::"); nb = split(other, b, "::"); from = to = a[1]
    for (i = 2; i <= na && i <= nb && a[i] == b[i]; i++) from = to = from "::" a[i]
    if (i > na || i > nb) return
    from = from "::" a[i]; to = to "::" b[i]
    if (((from, to) in why)) return
    why[from, to] = file[m] " has " path; targets[from, ++out[from]] = to; arrows++
}

function short(m) { m = file[m]; sub(/^[^\/]*\//, "", m); return m }

function walk(node,   i, to, at, next_one, circle, reasons) {
    state[node] = 1; way[++depth] = node
    for (i = 1; i <= out[node]; i++) {
        to = targets[node, i]
        if ((file[node] " -> " short(to)) in rows) { rows[file[node] " -> " short(to)] = "there"; continue }
        if (!(to in state)) walk(to)
        if (state[to] != 1) continue
        circle = file[to]; reasons = ""
        for (at = depth; way[at] != to; at--);
        for (; at <= depth; at++) {
            next_one = at < depth ? way[at + 1] : to
            circle = circle " -> " short(next_one); reasons = reasons ", " why[way[at], next_one]
        }
        complain("found a circle " circle " (" substr(reasons, 3) "), need one of these arrows gone, or its row with a reason in ARCHITECTURE.md")
    }
    state[node] = 2; depth--
}

END {
    for (i = 1; i <= count; i++) if (!is_left_out(modules[i])) take_imports(modules[i])
    for (i = 1; i <= count; i++) if (!is_left_out(m = modules[i])) {
        for (rest = text[m]; match(rest, /[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)+/); ) {
            path = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
            if (!((m, path) in seen) && (other = resolved(m, path, 0)) != "") join(m, other, path)
            seen[m, path]
        }
    }
    for (i = 1; i <= count; i++) if (!(modules[i] in state)) walk(modules[i])
    for (row in rows) if (rows[row] == "") complain("found a row for " row " in ARCHITECTURE.md, and no such arrow")
    if (!count || wrong) exit 1
    printf "check-arrows: %d files, %d arrows between them, no circle\n", count, arrows
}
