# Which other release of this distribution to take a package from; sourced with the arguments of a script, in the folder of the project.
#
# Leaves `release`, this one's name in `this`, `origin`, and `give_up WHY`, which ends the script with 3: it cannot be had here.

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
