#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input of every kind: a clear error (what, where, what next), the right exit code, the rest goes on, nothing lost or twice.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

store=$top/examples/candidates
cache=$tmp/cache
export PKB_RECORD_RETRY_SECONDS=0.5 # how long agents wait for room on a full disk

# sweep NAME FIELD...: a small sweep file; later fields replace earlier ones.
sweep() {
    local file=$tmp/$1.lua field
    shift
    {
        echo 'local s = {'
        echo "candidates = '$store', models = { 'direct', 'plain' }, problems = { 1 }, samples = { 1 }, gpus = { 2 }, shapes = { 'tiny' },"
        echo 'trials = 2, iterations = { warmup = 1, timed = 4 }, limits = { seconds = 20, memory_mb = 4096 } }'
        for field in "$@"; do
            echo "s.$field"
        done
        echo 'return sweep(s)'
    } >"$file"
    echo "$file"
}

# ---- usage ---------------------------------------------------------------------------------------------------------------

run "$pkb"
expect "no command" 2 "Usage"
run "$pkb" rnu
expect "unknown command" 2 "did you mean 'run'?"
run "$pkb" run
expect "run without a sweep" 2 "which sweep?"
run "$pkb" run --shard-seconds soon x.lua
expect "an option that is no number" 2 "--shard-seconds: expected a number"
run "$pkb" run --launcher slrum x.lua
expect "unknown launcher" 2 "no launcher 'slrum'"

# ---- sweeps --------------------------------------------------------------------------------------------------------------

run "$pkb" run --run "$tmp/r" "$tmp/none.lua"
expect "a sweep that is missing" 2 "none.lua"
run "$pkb" run --run "$tmp/r" "$(sweep unknown 'problems = { "01_alreduce" }')"
expect "unknown problem" 2 "01_allreduce"
says "unknown problem: the place" "unknown.lua"
printf 'return sweep {\n  models = { "direct"\n' >"$tmp/syntax.lua"
run "$pkb" run --run "$tmp/r" "$tmp/syntax.lua"
expect "malformed Lua" 2 "syntax.lua"
run "$pkb" run --run "$tmp/r" "$(sweep key 'modles = { "direct" }')"
expect "unknown key" 2 "models"
run "$pkb" run --run "$tmp/r" "$(sweep ghost 'models = { "ghost" }')"
expect "model without candidates" 2 "ghost"
mkdir -p "$tmp/store/m/16_gemm_reducescatter"
echo 'int x;' >"$tmp/store/m/16_gemm_reducescatter/1.c"
run "$pkb" run --run "$tmp/r" "$(sweep world "candidates = '$tmp/store'" 'models = { "m" }' 'gpus = { 5 }' 'problems = { 16 }')"
expect "impossible world size" 2 "divisible by 5"
check "nothing was created" test ! -e "$tmp/r"

# ---- run directories -----------------------------------------------------------------------------------------------------

good=$(sweep good)
run "$pkb" run --quiet --build-cache "$cache" --run "$tmp/good" "$good"
expect "a good run" 0 ""
cells "$tmp/good" >"$tmp/expected"
check "its cells" test "$(wc -l <"$tmp/expected")" -eq 2
run "$pkb" run --quiet --run "$tmp/good" "$good"
expect "a run that exists" 3 "pkb resume"
run "$pkb" run --quiet --run /proc/pkb "$good"
expect "a directory that cannot be made" 3 "/proc/pkb"
run "$pkb" resume "$tmp/goood"
expect "a run that is misspelled" 2 "did you mean"
run "$pkb" status "$tmp"
expect "a folder that is no run" 2 "run.json is missing"

broken() { # name: a copy of the good run
    rm -rf "$tmp/broken"
    cp -r "$tmp/good" "$tmp/broken"
}
broken
printf '{"format":1,"na' >"$tmp/broken/run.json"
run "$pkb" resume "$tmp/broken"
expect "torn run.json" 2 "run.json"
broken
sed -i 's/"format": *1/"format": 99/' "$tmp/broken/run.json"
run "$pkb" resume "$tmp/broken"
expect "a run of a newer format" 2 "newer pkb"
broken
sed -i 's/"build": *"[^"]*"/"build": "another"/' "$tmp/broken/run.json"
run "$pkb" resume "$tmp/broken"
expect "a run of another build" 2 "--force-build"
run "$pkb" resume --quiet --force-build "$tmp/broken"
expect "a run of another build, by force" 0 ""
broken
truncate -s 20 "$tmp/broken/plan/plan.json"
run "$pkb" resume "$tmp/broken"
expect "torn plan" 2 "plan.json"
broken
truncate -s 5 "$tmp/broken/plan/cells"
run "$pkb" resume "$tmp/broken"
expect "torn list of cells" 2 "cells"
rm -rf "$tmp/broken/plan"
run "$pkb" status "$tmp/broken"
expect "missing plan" 2 "plan"

# ---- records -------------------------------------------------------------------------------------------------------------

# Garbage beside the records: it is ignored and told; what it hid is done again.
broken
records=$(ls "$tmp"/broken/records/*.jsonl)
{
    grep '"kind": *"cell"' "$records" | head -n 1
    printf 'garbage\n[]\n{"kind":"cell"}\n\0\0\n{"kind": "cell", "schema": 99}\n{"kind":"ce'
} >"$tmp/lines"
cp "$tmp/lines" "$records"
run "$pkb" status "$tmp/broken"
expect "status with malformed records" 1 "1 of 2 done"
run "$pkb" resume --quiet "$tmp/broken"
expect "resume with malformed records" 0 "are not records"
check "every cell once" diff "$tmp/expected" <(cells "$tmp/broken")
run "$pkb" resume --quiet "$tmp/broken"
expect "resume when all is done" 0 ""
check "nothing was done again" diff "$tmp/expected" <(cells "$tmp/broken")

# ---- candidates ----------------------------------------------------------------------------------------------------------

# Without a compiler nothing can be run, but the run is there; then one candidate disappears and one is changed.
wide=$(sweep wide 'problems = { 1, 2 }')
PKB_CC=/bin/false run "$pkb" run --quiet --run "$tmp/changed" "$wide"
expect "no compiler" 1 "/bin/false"
check "no result without a compiler" test -z "$(cells "$tmp/changed")"
mapfile -t sources < <(ls "$tmp"/changed/candidates/*.c)
check "four candidates" test "${#sources[@]}" -eq 4
cp "${sources[0]}" "${sources[1]}" "$tmp"
echo '/* other */' >>"${sources[0]}"
rm "${sources[1]}"
run "$pkb" resume --quiet "$tmp/changed"
expect "a candidate changed, one missing" 1 "changed after planning"
says "the missing candidate" "No such file"
check "the others were evaluated" test "$(cells "$tmp/changed" | wc -l)" -eq 2
cp "$tmp/$(basename "${sources[0]}")" "$tmp/$(basename "${sources[1]}")" "$tmp/changed/candidates"
run "$pkb" resume --quiet "$tmp/changed"
expect "candidates restored" 0 ""
check "all were evaluated once" test "$(cells "$tmp/changed" | sort -u | wc -l)-$(cells "$tmp/changed" | wc -l)" = 4-4

# ---- two controllers -----------------------------------------------------------------------------------------------------

slow=$(sweep slow 'models = { "careless" }' 'samples = { 2 }' 'limits = { seconds = 15, memory_mb = 4096 }')
start "$pkb" run --quiet --build-cache "$cache" --run "$tmp/slow" "$slow"
wait_for 30 grep -q . "$tmp/slow/lock"
run "$pkb" resume "$tmp/slow"
expect "a second controller" 4 "process $pid on"
run "$pkb" status "$tmp/slow"
expect "status of a run in progress" 0 "process $pid on"
kill -TERM "$pid"
wait "$pid"
check "a controller that is stopped says so by its exit code" test $? -eq 130
check "and how to go on" grep -q "pkb resume $tmp/slow" "$tmp/background"

# ---- a full disk ---------------------------------------------------------------------------------------------------------

# A file system of its own where that is allowed; else a limit on the size of files.
full_disk() {
    local run=$tmp/disk/run
    mkdir -p "$tmp/disk"
    many=$(sweep many 'problems = { 1, 2, 7, 8 }' 'samples = 3')
    if ! mount -t tmpfs -o size=16m pkb-test "$tmp/disk" 2>/dev/null; then
        echo "# no tmpfs here: with a limit on the size of files"
        (ulimit -f 8 && run "$pkb" run --quiet --build-cache "$cache" --run "$run" "$many"; exit "$code")
        code=$?
        check "file size limit: not done" test "$code" -ne 0
    else
        PKB_CC=/bin/false run "$pkb" run --quiet --build-cache "$cache" --run "$run" "$many"
        # Room for a few records only.
        dd if=/dev/zero of="$tmp/disk/fill" bs=4k 2>/dev/null
        truncate -s -24k "$tmp/disk/fill"
        run "$pkb" resume --quiet "$run"
        expect "a full disk" 3 "is the disk full?"
        rm "$tmp/disk/fill"
    fi
    run "$pkb" resume --quiet "$run"
    expect "a disk that is full no more" 0 ""
    check "each cell once" test "$(cells "$run" | sort -u | wc -l)-$(cells "$run" | wc -l)" = 24-24
}
full_disk

# ---- parts that are missing ----------------------------------------------------------------------------------------------

mkdir -p "$tmp/tree/orchestrator" "$tmp/tree/libexec"
cp "$build/pkb-build-tree" "$tmp/tree"
cp "$pkb" "$tmp/tree/orchestrator/pkb"
run "$tmp/tree/orchestrator/pkb" run --quiet --build-cache "$cache" --run "$tmp/parts" "$good"
expect "no launcher" 3 "pkb-launch-local"
cp "$build/libexec/pkb-launch-local" "$tmp/tree/libexec"
run "$tmp/tree/orchestrator/pkb" resume --quiet "$tmp/parts"
expect "no agent" 1 "pkb-agent"
run "$pkb" resume --quiet "$tmp/parts"
expect "the parts are back" 0 ""
check "the same results" diff "$tmp/expected" <(cells "$tmp/parts")

# ---- eval ----------------------------------------------------------------------------------------------------------------

one=$store/direct/01_allreduce/1.c
mkdir "$tmp/evals"
export TMPDIR=$tmp/evals
run "$pkb" eval -p 01_alreduce -c "$one"
expect "eval: unknown problem" 2 "did you mean '01_allreduce'?"
run "$pkb" eval -p 1 -c "$tmp/none.c"
expect "eval: no candidate" 2 "none.c"
run "$pkb" eval -p 1 -c "$good"
expect "eval: a candidate of an unknown kind" 2 "a .c, .cu or .py file"
run "$pkb" eval -p 1 -c "$one" --dtype bf61
expect "eval: unknown dtype" 2 "did you mean 'bf16'?"
run "$pkb" eval -p 1 -c "$one" --gpus 0
expect "eval: no GPU" 2 "--gpus"
printf 'int pkb_solution(' >"$tmp/syntax.c"
run "$pkb" eval -p 1 -c "$tmp/syntax.c"
expect "eval: does not compile" 1 "compile_error"
run "$pkb" eval -p 1 -c "$tmp/syntax.c" --json
expect "eval: does not compile, as JSON" 1 '"outcome": "compile_error"'
run "$pkb" eval -p 1 -c "$one" --json --trials 2 --keep "$tmp/kept"
expect "eval: correct" 0 '"outcome": "correct"'
run "$pkb" status "$tmp/kept"
expect "eval: the run that was kept" 0 "1 of 1 done"
run "$pkb" eval -p 1 -c "$one" --trials 2 --set N=73 --keep "$tmp/set" --json
expect "eval: with a parameter" 0 '"shape": "custom"'
check "eval: which the run has" grep -q -E '"N": *73' "$tmp/set/plan/plan.json"
for wrong in 'NN=5:no parameter' 'N:expected NAME=VALUE' '=5:expected NAME=VALUE' 'N=:expected a number' \
    'N=5x:expected a number' 'N=nan:expected a number' 'N=1.5:N' 'N=0:no elements' 'N=-4:N' 'N=1e300:N'; do
    run "$pkb" eval -p 1 -c "$one" --set "${wrong%%:*}"
    expect "eval: --set ${wrong%%:*}" 2 "${wrong#*:}"
done
check "no temporary folder is left" test -z "$(ls -A "$TMPDIR")"

finish
