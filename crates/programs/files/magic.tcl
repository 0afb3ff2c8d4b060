# Checks and extracts the layout again and again.
load layout
select top cell
while {1} {
    drc on
    drc check
    drc catchup
    drc list count total
    extract all
}
