# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Shared by the system tests: a folder of their own, bounded waits, `ok`/`not ok` lines. To be sourced by a script that runs in the
# top folder of a build tree (or with PKB_BUILD naming one) and ends with `finish`.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${PKB_BUILD:-$PWD}
pkb=$build/orchestrator/pkb
[ -x "$pkb" ] || { echo "$build is not the top of a build tree: $pkb is missing" >&2; exit 1; }

tmp=$(mktemp -d "${TMPDIR:-/tmp}/pkb-system.XXXXXX")
passed=0
failed=0
started_pids=()
export NO_COLOR=1 PKB_LAUNCHER=local

# Kills only what start() started, mounts and files go with it.
clean_up() {
    local pid
    for pid in "${started_pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    if mountpoint -q "$tmp/disk" 2>/dev/null; then
        umount "$tmp/disk" || umount -l "$tmp/disk"
    fi
    rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

ok() {
    passed=$((passed + 1))
    echo "ok - $1"
}

not_ok() { # name, detail
    failed=$((failed + 1))
    echo "not ok - $1"
    printf '%s\n' "${2:-}" | sed 's/^/    /' | tail -n 40
}

# check NAME COMMAND...: ok when the command succeeds.
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        ok "$name"
    else
        not_ok "$name" "$*: $output"
    fi
}

# run COMMAND...: at most two minutes; leaves $code, $out and $err (standard output and error) behind.
run() {
    code=0
    timeout -k 5 120 "$@" >"$tmp/stdout" 2>"$tmp/stderr" </dev/null || code=$?
    out=$(cat "$tmp/stdout")
    err=$(cat "$tmp/stderr")
}

# expect NAME CODE TEXT: what the last `run` must have returned, and said on either stream (a fixed string; "" for anything).
expect() {
    if [ "$code" -ne "$2" ]; then
        not_ok "$1" "exit code $code instead of $2: $err"
    elif [ -n "$3" ] && ! grep -qF -- "$3" "$tmp/stdout" "$tmp/stderr"; then
        not_ok "$1" "'$3' is not said: $out $err"
    else
        ok "$1"
    fi
}

# says NAME TEXT: another thing that the last `run` must have said.
says() { expect "$1" "$code" "$2"; }

# start COMMAND...: in the background, as a group of its own; $pid.
start() {
    set -m
    "$@" >"$tmp/background" 2>&1 </dev/null &
    pid=$!
    set +m
    started_pids+=("$pid")
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt "$end" ] || return 1
        read -r -t 0.02 <> <(:) || true
    done
}

# A process that is gone; a zombie is.
gone() {
    local state
    state=$(sed 's/^.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null) || return 0
    [ -z "$state" ] || [ "$state" = Z ]
}

# children PID: of all its threads.
children() { cat /proc/"$1"/task/*/children 2>/dev/null || true; }

# descendants PID: all of them.
descendants() {
    local child
    for child in $(children "$1"); do
        echo "$child"
        descendants "$child"
    done
}

# cells RUN: "MODEL PROBLEM SAMPLE WORLD SHAPE OUTCOME" of every final record, sorted; twice recorded cells come twice.
cells() {
    find "$1/records" -name '*.jsonl' -exec awk '
        function member(name,  text) {
            if (!match($0, "\"" name "\": *(\"[^\"]*\"|-?[0-9]+)"))
                return ""
            text = substr($0, RSTART, RLENGTH)
            sub(/^"[^"]*": */, "", text)
            gsub(/"/, "", text)
            return text
        }
        /^\{.*\}$/ && member("kind") == "cell" && member("model") != "" {
            outcome = member("outcome")
            if (outcome != "infra_error" && outcome != "not_run")
                print member("model"), member("problem"), member("sample"), member("world"), member("shape"), outcome
        }' /dev/null {} + | LC_ALL=C sort
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
