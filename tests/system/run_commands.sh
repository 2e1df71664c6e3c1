#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every subcommand prints and returns when nothing is wrong, and what Ctrl-C does.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

store=$top/examples/candidates
hang=$store/careless/01_allreduce/2.c

# ---- help, version, problems ---------------------------------------------------------------------------------------------

run "$pkb" --help
expect "pkb --help" 0 "Commands:"
commands=$(sed -n 's/^  \([a-z]*\)  *.*/\1/p' "$tmp/stdout")
check "there are commands" test "$(wc -w <<<"$commands")" -ge 8
for command in $commands; do
    run "$pkb" "$command" --help
    expect "pkb $command --help" 0 "Exit status: 0"
    run "$pkb" "$command" --no-such-option
    expect "pkb $command with an unknown option" 2 "pkb $command"
done
run "$pkb" version --json
expect "version as JSON" 0 '"build":"'
run "$pkb" --version
expect "version" 0 "sqlite"
run sh -c '"$1" version >/dev/full' sh "$pkb"
expect "standard output that is full" 3 "cannot write to standard output"
run "$pkb" doctor --dir "$tmp"
expect "doctor" 0 "2 ranks by local"
says "the folder is seen by all ranks" "every rank writes there"
run env PKB_CC=/no/such/compiler "$pkb" doctor --dir "$tmp" --json
expect "doctor without a compiler" 1 '"state": "BAD"'
run "$pkb" doctor --dir /proc
expect "doctor in a folder that cannot be written" 1 "name another folder with --dir"
run "$pkb" doctor --dir "$tmp/nowhere"
expect "doctor in no folder" 2 "No such file"
run "$pkb" problems
expect "problems" 0 "13_gemm_allreduce"
check "problems names every family once" test -z "$(grep '^[a-z]' "$tmp/stdout" | sort | uniq -d)"
run "$pkb" problems --family collective --json
expect "a family as JSON" 0 '"name": "01_allreduce"'
check "and no other family" test "$(grep -c '"family"' "$tmp/stdout")" = "$(grep -c '"family": "collective"' "$tmp/stdout")"
shown() {
    local n
    for n in $("$pkb" problems --json | sed -n 's/.*"id": *\([0-9]*\).*/\1/p'); do
        "$pkb" problems show "$n" >/dev/null || return
    done
}
check "every problem is shown with the headers that it refers to" shown
run "$pkb" problems show 43 --gpus 4
expect "a header that a problem refers to" 0 "notes (problems/fsdp_zero/adam.h)"
run "$pkb" problems show 67 --gpus 4
expect "a shape that is another one on other ranks" 0 "[48], differs between ranks"
run "$pkb" problems show gemm_allreduce --gpus 4
expect "show a problem" 0 "struct problem"
says "its tensors" "A_local"
run "$pkb" problems show 16 --gpus 5
expect "show a problem at an impossible world size" 0 "cannot run: "
run "$pkb" problems show 27 --gpus 2
expect "show a problem with marked tensors" 0 "rows counted by n_y"
says "what the host reads" "read by the host"
run "$pkb" problems show 30 --json
expect "show updates in place as JSON" 0 '"in_place": "dA1"'
run "$pkb" problems show 13 --json
expect "show a problem as JSON" 0 '"hbm_bytes"'

# ---- a run from plan to report -------------------------------------------------------------------------------------------

cat >"$tmp/small.lua" <<EOF
return sweep {
    candidates = "$store", models = { "direct", "careless" }, problems = { 1, 2 }, samples = { 1, 3 }, gpus = { 1, 2 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 1, timed = 4 }, limits = { seconds = 20, memory_mb = 4096 },
}
EOF
run "$pkb" plan "$tmp/small.lua"
expect "plan" 0 "16"
cd "$tmp" || exit 1
run "$pkb" run --build-cache "$tmp/cache" "$tmp/small.lua"
expect "run" 0 "pass@k"
says "progress" "16 of 16 cells (100 %)"
run_dir=$(echo runs/small-*Z)
check "the default run directory" test -e "$run_dir/run.json"
check "every cell once" test "$(cells "$run_dir" | sort -u | wc -l)-$(cells "$run_dir" | wc -l)" = 16-16
run "$pkb" status "$run_dir"
expect "status" 0 "16 of 16 done"
run "$pkb" status --json "$run_dir"
expect "status as JSON" 0 '"running": false'
run "$pkb" merge "$run_dir"
expect "merge" 0 ""
run "$pkb" report "$run_dir"
expect "report" 0 "direct"
run "$pkb" watch "$run_dir"
expect "watch what is done" 0 "16 of 16 done"
run "$pkb" watch --interval=0 "$run_dir"
expect "watch without a pause" 2 "expected a number from 0.1"
run "$pkb" explain "$run_dir" "careless/01/1@2"
expect "explain a wrong candidate" 0 "value_mismatch (counts), attempt 1"
says "whose fault it is" "the candidate's"
run "$pkb" explain --json "$run_dir" "direct/*/1"
expect "explain as JSON" 0 '"outcome": "correct"'
check "each cell of the pattern" test "$(grep -c '"digest"\|"cell"' "$tmp/stdout")" = 4
run "$pkb" explain "$run_dir" "direct/99/1"
expect "explain what is not in the run" 2 "no cell of the run is called 'direct/99/1'"
run "$pkb" explain "$run_dir" "direct"
expect "explain what is no name" 2 "expected MODEL/PROBLEM/SAMPLE"
run "$pkb" plan "$tmp/small.lua"
expect "plan says where its times come from" 0 "time: by the cost model; --learn RUN"
run "$pkb" plan --learn "$run_dir" "$tmp/small.lua"
expect "plan by what a run took" 0 "time: 4 of 4 settings as measured (16 cells of 1 run)"
run "$pkb" plan --json --learn "$run_dir" "$tmp/small.lua"
expect "the same as JSON" 0 '"source": "learned"'
run "$pkb" run --learn "$tmp/nothing" --run "$tmp/none" "$tmp/small.lua"
expect "run by what is no run" 2 "--learn: $tmp/nothing"
check "before anything is written" test ! -e "$tmp/none"
run "$pkb" run --json --quiet --build-cache "$tmp/cache" --run "$tmp/json" "$tmp/small.lua"
expect "a summary as JSON" 0 '"missing":0'
check "quiet is quiet" test ! -s "$tmp/stderr"

# ---- Ctrl-C --------------------------------------------------------------------------------------------------------------

cat >"$tmp/slow.lua" <<EOF
return sweep {
    candidates = "$store", models = { "careless" }, problems = { 1 }, samples = { 1, 2, 3 }, gpus = { 2 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 1, timed = 4 }, limits = { seconds = 60, memory_mb = 4096 },
}
EOF

has_descendants() { [ -n "$(descendants "$1")" ]; }

has_cells() { [ "$(cells "$1" | wc -l)" -ge "$2" ]; }

interrupted() { # name, signal...
    local name=$1 dir=$tmp/$1 below p signal
    shift
    start "$pkb" run --build-cache "$tmp/cache" --run "$dir" "$tmp/slow.lua"
    check "$name: it gets to the candidate that hangs" wait_for 60 has_cells "$dir" 1
    below=$(descendants "$pid")
    check "$name: it has processes" test -n "$below"
    for signal in "$@"; do
        kill -"$signal" "$pid"
    done
    check "$name: it ends" wait_for 30 gone "$pid"
    wait "$pid"
    code=$?
    check "$name: exit code" test "$code" -eq 130
    check "$name: how to go on" grep -q "pkb resume $dir" "$tmp/background"
    for p in $below; do
        wait_for 10 gone "$p" || not_ok "$name: process $p is left" "$(tr '\0' ' ' <"/proc/$p/cmdline")"
    done
    check "$name: what was finished stays" has_cells "$dir" 1
}
interrupted once INT
interrupted twice INT INT
interrupted terminated TERM
run "$pkb" watch "$tmp/once"
expect "watch what nobody drives" 1 "running    no"
start "$pkb" resume --quiet "$tmp/once"
check "a resumed run hangs at the same candidate" wait_for 60 has_descendants "$pid"
run timeout --signal=INT 1 "$pkb" watch --interval=0.1 "$tmp/once"
check "watching goes on while it is driven, until Ctrl-C" grep -q "running    process $pid" "$tmp/stdout"
check "and leaves it alone" has_descendants "$pid"
kill -INT "$pid"
wait "$pid"
check "and can be interrupted again" test $? -eq 130

# ---- eval ----------------------------------------------------------------------------------------------------------------

run "$pkb" eval -p 1 -c "$store/direct/01_allreduce/1.c" --trials 2
expect "eval: correct" 0 "01_allreduce, 2 GPUs, tiny, bf16, host: correct"
run "$pkb" eval -p 1 -c "$store/careless/01_allreduce/1.c" --trials 2
expect "eval: wrong" 1 "value_mismatch"
run "$pkb" eval -p 1 -c "$hang" --trials 2 --limit-seconds 1
expect "eval: hangs" 1 "deadlock"
run "$pkb" eval -p 1 -c "$hang" --trials 2 --limit-seconds 1 --json
expect "eval: hangs, as JSON" 1 '"outcome": "deadlock"'

finish
