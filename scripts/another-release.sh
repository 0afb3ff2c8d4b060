# Chooses another release of this distribution from which to take a package. Sourced by a script,
# with the script's arguments, in the folder of the project.
#
# Sets `release` (the other release), `this` (the installed one) and `origin` (Debian or Ubuntu),
# and defines `give_up WHY`, which ends the script with exit code 3.

[ $# -le 1 ] || { echo "usage: $0 [RELEASE]" >&2; exit 2; }

give_up() { echo "$*" >&2; exit 3; }

this=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2> /dev/null || true)
case $this in
    bookworm) other=trixie origin=Debian ;;
    trixie | forky | sid) other=bookworm origin=Debian ;;
    noble) other=jammy origin=Ubuntu ;;
    jammy | plucky | questing) other=noble origin=Ubuntu ;;
    *) give_up "found ${this:-no release} in /etc/os-release, need one of Debian or Ubuntu whose neighbours are known" ;;
esac
release=${1:-$other}
case $release in *[!a-z0-9-]*) echo "usage: $0 [RELEASE]" >&2; exit 2 ;; esac
