#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Agents when something goes wrong around them: wrong worlds, other builds, killed agents and runners, signals, newer attempts, a full
# disk. Each has its own exit code and text, and no cell is lost or recorded twice.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

launch=$build/libexec/pkb-launch-local
agent=$build/libexec/pkb-agent
run_dir=$tmp/run
attempt=100

# ---- a run directory with work for two ranks: quick candidates, and one that hangs until its limit ----------------------------

prepare() { # folder, seconds of the limit, candidate names...
    local folder=$1 limit=$2 name
    shift 2
    rm -rf "$tmp/store"
    for name in "$@"; do
        mkdir -p "$tmp/store/$name/01_allreduce"
        cp "$top/tests/candidates/$name.c" "$tmp/store/$name/01_allreduce/1.c"
    done
    cat >"$tmp/sweep.lua" <<LUA
return sweep {
    candidates = "$tmp/store", models = models.all, problems = { 1 }, samples = { 1 }, gpus = { 2 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 2, timed = 5 }, limits = { seconds = $limit, memory_mb = 4096 },
}
LUA
    # Without a compiler the controller leaves a planned run with no result; the agents below build for themselves.
    PKB_CC=/bin/false run "$pkb" run --quiet --run "$folder" "$tmp/sweep.lua"
    check "prepared $(basename "$folder")" test -f "$folder/run.json"
}

# world RANKS OPTION...: agents of shard 0 in the foreground, as the next attempt.
world() {
    local ranks=$1
    shift
    attempt=$((attempt + 1))
    run "$launch" --ranks "$ranks" -- "$agent" --run "$run_dir" --shard 0 --attempt "$attempt" "$@"
}

# begin: the same in the background; waits until both runners of the candidate that hangs are there.
begin() {
    attempt=$((attempt + 1))
    start "$launch" --ranks 2 -- "$agent" --run "$run_dir" --shard 0 --attempt "$attempt" "$@"
    wait_for 60 hanging "$pid"
    mapfile -t everything < <(descendants "$pid")
}

agents() { children "$1" | tr ' ' '\n' | grep .; }          # of a launcher, in the order of their ranks
runners() { agents "$1" | while read -r a; do children "$a"; done | tr ' ' '\n' | grep .; }
hanging() { [ "$(runners "$1" | wc -l)" -ge 4 ]; } # two of the reference, two of the candidate

# end_of: waits for the background world; $code.
end_of() {
    code=0
    wait "$pid" || code=$?
    out=
    err=$(cat "$tmp/background")
    cp "$tmp/background" "$tmp/stderr"
    : >"$tmp/stdout"
}

none_left() {
    local p
    for p in "${everything[@]}"; do
        gone "$p" || return 1
    done
}

# ---- worlds that cannot begin ------------------------------------------------------------------------------------------------

prepare "$run_dir" 4 correct deadlock_spin
run "$agent" --shard 0 --attempt 1
expect "no run directory given" 2 "--run, --shard and --attempt are needed"
run "$agent" --run "$run_dir" --shard 0 --attempt 0
expect "attempt 0" 2 "--attempt: expected a number"
run "$agent" --run "$tmp/none" --shard 0 --attempt 1
expect "a run directory that is missing" 3 "run.json"
run "$agent" --run "$run_dir" --shard 7 --attempt 1
expect "a shard that is missing" 3 "shard"
run "$agent" --run "$run_dir" --shard 0 --attempt 100
expect "no launcher" 3 "this shard needs 2 ranks, but there is no PMIx server here"
world 3
expect "too many ranks" 3 "this shard needs 2 ranks, PMIx says 3"
world 1
expect "too few ranks" 3 "this shard needs 2 ranks, PMIx says 1"
run "$launch" --ranks 4 -- "$build/tests/support/agent_join" 4
expect "a world that joins" 0 "world 4, 1 nodes, last on node 0"
run "$launch" --ranks 4 -- "$build/tests/support/agent_join" 4 2
expect "an agent of another build" 1 "the agent of rank 2"
says "an agent of another build: what next" "install one build on all nodes"
run "$build/tests/support/agent_join" 1
expect "alone without a launcher" 0 "world 1, 1 nodes"

# ---- cells -------------------------------------------------------------------------------------------------------------------

world 2 --cells 9
expect "a cell that is not in the shard" 2 "not within this shard's cells 0-1"
world 2 --cells 0x
expect "a list of cells that is malformed" 2 "expected a comma"
world 2 --cells 0
expect "one cell" 0 '"outcome":"correct"'
check "only this cell" test "$(cells "$run_dir" | wc -l)" -eq 1
world 2
expect "the other cell" 0 '"outcome":"deadlock"'
cells "$run_dir" >"$tmp/expected"
check "both, once" test "$(wc -l <"$tmp/expected")" -eq 2
world 2
check "nothing is left to do" test "$code-$(grep -c outcome <<<"$out")" = "0-0"

# ---- fencing -----------------------------------------------------------------------------------------------------------------

run "$launch" --ranks 2 -- "$agent" --run "$run_dir" --shard 0 --attempt "$attempt"
expect "an attempt that has begun already" 7 "use a new attempt number"

# ---- losses ------------------------------------------------------------------------------------------------------------------

# Shorter than the limit of the candidate that hangs, so that it is alive when things happen.
run_dir=$tmp/lost
prepare "$run_dir" 40 deadlock_spin
begin
check "the candidate hangs" hanging "$pid"
kill -KILL "$(agents "$pid" | tail -n 1)"
end_of
check "agent 1 was killed: the world ends" test "$code" -eq 137 -o "$code" -eq 4
says "agent 1 was killed: the others say so" "lost the agent of rank 1"
check "its cell is an infra_error" grep -q '"outcome":"infra_error".*lost the agent of rank 1' "$run_dir/records/$(printf 'shard-000000.%03d.jsonl' "$attempt")"
check "no process is left" wait_for 10 none_left

begin
kill -KILL "$(agents "$pid" | head -n 1)"
end_of
check "agent 0 was killed: the world ends" test "$code" -eq 137 -o "$code" -eq 4
says "agent 0 was killed: the others say so" "lost agent 0"
check "no process is left" wait_for 10 none_left

begin
kill -TERM "$pid"
end_of
check "SIGTERM stops" test "$code" -eq 143 -o "$code" -eq 5
says "SIGTERM: why" "stopped by signal 15"
check "no process is left" wait_for 10 none_left

# One runner of the candidate is killed from outside: the cell is tried again; all others go on.
begin
victim=$(runners "$pid" | sort -n | tail -n 1)
kill -KILL "$victim"
check "it is gone" wait_for 10 gone "$victim"
check "a killed runner: its cell is tried again" wait_for 30 hanging "$pid"

# SIGUSR1 to one agent: when the cell has ended (a runner is killed once more), all stop.
kill -USR1 "$(agents "$pid" | tail -n 1)"
again=$(runners "$pid" | sort -n | tail -n 1)
kill -KILL "$again"
end_of
expect "SIGUSR1: stops between cells" 6 "stopped between two cells"
check "each cell once" test "$(cells "$run_dir" | sort -u | wc -l)-$(cells "$run_dir" | wc -l)" = 1-1
check "a runner that is killed twice has crashed" grep -q 'SIGKILL' "$run_dir/records/$(printf 'shard-000000.%03d.jsonl' "$attempt")"

# A newer attempt appears while this one works.
run_dir=$tmp/fenced
prepare "$run_dir" 3 correct deadlock_spin zeros
begin
touch "$run_dir/records/$(printf 'shard-000000.%03d.jsonl' $((attempt + 1)))"
end_of
expect "a newer attempt" 7 "has a newer attempt"
attempt=$((attempt + 1))
world 2
expect "what it left" 0 '"outcome":"value_mismatch"'
check "each cell once" test "$(cells "$run_dir" | sort -u | wc -l)-$(cells "$run_dir" | wc -l)" = 3-3

# ---- a full disk -------------------------------------------------------------------------------------------------------------

mkdir -p "$tmp/disk"
if mount -t tmpfs -o size=8m pkb-test "$tmp/disk" 2>/dev/null; then
    run_dir=$tmp/disk/run
    prepare "$run_dir" 4 correct zeros
    world 2 --cells 0
    expect "a first cell" 0 '"outcome":"correct"'
    mv "$run_dir/builds" "$tmp/builds" && ln -s "$tmp/builds" "$run_dir/builds"
    mv "$run_dir/logs" "$tmp/logs" && ln -s "$tmp/logs" "$run_dir/logs"
    dd if=/dev/zero of="$tmp/disk/fill" bs=4k 2>/dev/null
    PKB_RECORD_RETRY_SECONDS=0.3 world 2
    expect "a full disk" 8 "No space left"
    says "a full disk: it is tried again" "trying again"
    (sleep 0.5 && rm "$tmp/disk/fill") &
    world 2
    expect "a disk that gets room meanwhile" 0 '"outcome":"value_mismatch"'
    check "each cell once" test "$(cells "$run_dir" | sort -u | wc -l)-$(cells "$run_dir" | wc -l)" = 2-2
else
    echo "# no file system of its own is allowed here: a full disk is not tested"
fi

finish
