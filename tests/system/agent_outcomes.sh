#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every candidate of tests/candidates has the outcome that its README says, under real agents on four ranks; the agents survive all.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A store in which every candidate is a model.
candidates=$top/tests/candidates
awk '/^[a-z][a-z0-9_]* [a-z_]+$/' "$candidates/README" >"$tmp/expected"
while read -r name _; do
    mkdir -p "$tmp/store/$name/01_allreduce"
    cp "$candidates/$name.c" "$tmp/store/$name/01_allreduce/1.c"
done <"$tmp/expected"
cat >"$tmp/outcomes.lua" <<LUA
return sweep {
    candidates = "$tmp/store", models = models.all, problems = { 1 }, samples = { 1 }, gpus = { 4 }, shapes = { "tiny" },
    trials = 3, iterations = { warmup = 40, timed = 20 }, limits = { seconds = 5, memory_mb = 4096 },
}
LUA

# A build with sanitizers sets no limits on memory.
if grep -q '#define PKB_SANITIZERS 1' "$build/config.h"; then
    sed -i '/out_of_memory/d' "$tmp/expected"
fi

run "$pkb" run --quiet --run "$tmp/run" "$tmp/outcomes.lua"
check "the run is complete" test "$code" -eq 0
cells "$tmp/run" >"$tmp/cells"
while read -r name outcome; do
    found=$(awk -v name="$name" '$1 == name { print $NF }' "$tmp/cells")
    if [ "$found" = "$outcome" ]; then
        ok "$name: $outcome"
    else
        not_ok "$name: $outcome" "$found: $(grep -F "\"model\":\"$name\"" "$tmp"/run/records/*.jsonl | cut -c 1-900)"
    fi
done <"$tmp/expected"

# detail NAME TEXT: what the record of a candidate says.
detail() {
    if grep -F "\"model\":\"$1\"" "$tmp"/run/records/*.jsonl | grep -qF -- "$2"; then
        ok "$1 says: $2"
    else
        not_ok "$1 says: $2" "$(grep -F "\"model\":\"$1\"" "$tmp"/run/records/*.jsonl | grep -o '"detail":"[^"]*"')"
    fi
}
check "one attempt was enough" test "$(ls "$tmp"/run/records | wc -l)" -eq 1
detail exit0 "exited with code 0 inside pkb_solution, trial"
detail crash "SIGSEGV"
detail deadlock_one_rank "in a barrier, trial"
detail deadlock_one_rank "after 5.0 s"
detail deadlock_spin "in pkb_solution, trial"
detail deadlock_alloc "waiting in symm_alloc"
detail compile_error "error:"

# One that reached out knew where, unless nothing keeps candidates from it here.
if run "$pkb" doctor && grep -q 'confined by Landlock' "$tmp/stdout"; then
    check "reaches_out: it found the records" grep -qrF "tried $tmp/run/records" "$tmp/run/logs"
    check "reaches_out: it left nothing" test -z "$(find "$tmp/run" "$HOME" /tmp -maxdepth 2 -name 'forged*' 2>/dev/null)"
fi

# A lone rank has no peers whose messages would wake its agent up.
run "$pkb" eval -p 1 -c "$candidates/deadlock_spin.c" -g 1 --limit-seconds 2 --trials 1
expect "a lone rank that hangs is noticed" 1 "deadlock"

# A flood of output is cut, and no agent is left.
check "logs are bounded" test "$(du -sk "$tmp/run/logs" | cut -f 1)" -lt 4096
check "no agent is left" test -z "$(pgrep -f -- "--run $tmp/run")"

finish
