# Designs that differ in the sets and ways of one level, as second/BITS-WAYS.toml and between/...: a second level below fixed first ones, the
# same above a third.
level() {
    printf '\n[[level]]\nname = "%s"\nholds = "%s"\nsize = "%dB"\nline = "64B"\nways = %d\nmiss_cycles = %d\n' "$@"
}
first() {
    level L1I instructions "$1" "$2" 10
    level L1D data "$1" "$2" 10
}
design() {
    size=$(((64 << $2) * $3))
    printf 'schema = "switchcost.design/1"\nname = "%s-%d-%d"\n' "$1" "$2" "$3"
    case $1 in
        second) first 32768 8; level L2 both $size "$3" 100 ;;
        between) first 32768 8; level L2 both $size "$3" 100; level L3 both 16777216 16 200 ;;
    esac
}
family() {
    mkdir -p "$1"
    for bits in $2; do
        for ways in $3; do design "$1" "$bits" "$ways" > "$1/$bits-$ways.toml"; done
    done
}
family second "7 8 9 10 11 12 13 14 15 16" "1 2 3 4 5 6 7 8 12 16"
family between "9 10 11 12 13" "4 8 12 16"
