# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder: folders, messages, steps. To be sourced.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
me=$(basename "$0")
start_seconds=$SECONDS

say() { printf '%s: %s\n' "$me" "$*"; }
die() { printf '%s: %s\n' "$me" "$*" >&2; exit 1; }

# Seconds since a value of $SECONDS.
since() { echo $((SECONDS - $1)); }

jobs_of_machine() { nproc 2>/dev/null || echo 2; }

# An out-of-tree build needs sources that are not configured themselves.
require_clean_source() {
    [ ! -e "$top/config.status" ] || die "$top is configured in place, which hides out-of-tree builds; run: make -C $top distclean"
}

# configure_tree DIR OPTION...: makes configure and configures DIR, each only when needed. Later changes of the
# build rules are noticed by make.
configure_tree() {
    local dir=$1
    shift
    if [ ! -x "$top/configure" ]; then
        (cd "$top" && autoreconf -i) || return 1
    fi
    mkdir -p "$dir"
    if [ ! -e "$dir/Makefile" ] || [ "$(cat "$dir/.configured-with" 2>/dev/null)" != "$*" ]; then
        (cd "$dir" && "$top/configure" -q "$@") || return 1
        printf '%s\n' "$*" >"$dir/.configured-with"
    fi
}

# build_tree DIR: everything that `make` builds.
build_tree() { make -s -C "$1" -j"$(jobs_of_machine)" all; }

# run_logged LOG COMMAND...: runs it with all output in LOG.
run_logged() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null
}

# The end of a log, for a failed step.
show_log() {
    printf -- '---- last lines of %s\n' "$1" >&2
    tail -n "${2:-40}" "$1" >&2
    printf -- '----\n' >&2
}
