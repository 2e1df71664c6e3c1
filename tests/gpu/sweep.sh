#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole path on a GPU: the example candidates of sweeps/quick.lua with 1, 2 and 4 ranks, and the candidates of tests/candidates for
# outcomes that the examples do not have. Ends with `N passed, N failed`. Called by tests/gpu/run, which finds the libraries.
#
#   tests/gpu/sweep.sh [PART...]    PART: examples outcomes places; default: all
#
# $PKB_BUILD: the build tree, or the folder that tests/gpu/pack has made. $PKB_KEEP: a folder for the run directories, which stay.
set -u
build=$(cd "${PKB_BUILD:-.}" && pwd)
pkb=$build/orchestrator/pkb
top=$(cat "$build/pkb-build-tree")
if [ -n "${PKB_KEEP:-}" ]; then
    mkdir -p "$PKB_KEEP" && tmp=$(cd "$PKB_KEEP" && pwd)
else
    tmp=$(mktemp -d "${TMPDIR:-/tmp}/pkb-gpu.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
fi
passed=0
failed=0

ok() { passed=$((passed + 1)); }

not_ok() { # name, detail
    failed=$((failed + 1))
    echo "FAILED $1: $2"
}

# count EXPECTED STORE RECORDS...: what of the records is as expected.
count() {
    local expected=$1 store=$2 word text
    shift 2
    while read -r word text; do
        if [ "$word" = ok ]; then ok; else not_ok "${text%%:*}" "${text#*: }"; fi
    done < <(awk -v store="$store" -v kind=cu -v no_memory=out_of_memory -f "$top/tests/support/outcomes.awk" "$expected" "$@")
}

# sweep NAME FILE: runs it, its records are in $tmp/NAME/records. Compiled candidates are shared.
sweep() {
    local start=$SECONDS code=0
    timeout -k 5 500 "$pkb" run --launcher=local "$2" --run "$tmp/$1" --build-cache "$tmp/cache" --quiet </dev/null >"$tmp/$1.out" 2>&1 || code=$?
    echo "$1: $(cat "$tmp/$1"/records/*.jsonl 2>/dev/null | grep -c '"kind": *"cell"') cells in $((SECONDS - start)) s"
    if [ "$code" -ne 0 ]; then
        not_ok "$1" "pkb run exits with $code: $(tail -n 5 "$tmp/$1.out")"
    else
        ok
    fi
}

# The quick sweep with other world sizes.
examples() { # name, worlds
    sed "s,\"../examples/candidates\",\"$top/examples/candidates\",; s/worlds { 1, 2, 4, 8 }/worlds { $2 }/; s/seconds = [^,]*,/seconds = 8,/" \
        "$top/sweeps/quick.lua" >"$tmp/$1.lua"
    sweep "$1" "$tmp/$1.lua"
    count "$top/examples/candidates/expected.txt" "$top/examples/candidates" "$tmp/$1"/records/*.jsonl
    sed -n '1,40p' "$tmp/$1.out"
}

# The candidates of tests/candidates as models of one sample; what must come of them is a line each.
outcomes() {
    local name outcome
    mkdir -p "$tmp/store"
    while read -r name outcome rest; do
        if [ -n "$outcome" ] && [ -z "$rest" ] && [ -e "$top/tests/candidates/$name.cu" ]; then
            mkdir -p "$tmp/store/$name/01_allreduce"
            cp "$top/tests/candidates/$name.cu" "$tmp/store/$name/01_allreduce/1.cu"
            echo "$name 01_allreduce 1 $outcome * *"
        fi
    done <"$top/tests/candidates/README.cuda" >"$tmp/expected.txt"
    cat >"$tmp/outcomes.lua" <<EOF
return sweep { candidates = "store", problems = { 1 }, models = models.all, samples = 1, device = "cuda", gpus = { 2 },
    dtypes = { "bf16" }, shapes = { "tiny" }, trials = 3, iterations = { warmup = 10, timed = 20 },
    limits = { seconds = 8, memory_mb = 4096 } }
EOF
    PKB_COMM=staged sweep outcomes "$tmp/outcomes.lua"
    count "$tmp/expected.txt" "$tmp/store" "$tmp/outcomes"/records/*.jsonl
    grep -h -o '"detail": *"[^"]*"' "$tmp/outcomes"/records/*.jsonl | sort | uniq -c
}

# refused RANKS TEXT: the evaluation fails and says why.
refused() {
    local out
    if out=$("$pkb" eval -p 1 -c "$top/examples/candidates/direct/01_allreduce/1.cu" --device cuda -g "$1" \
        --build-cache "$tmp/cache" 2>&1) || ! echo "$out" | grep -q "$2"; then
        not_ok "$1 ranks are refused" "$out"
    else
        ok
    fi
}

# Two ranks on one GPU without PKB_COMM=staged are refused before anything is run.
places() {
    if [ "$(nvidia-smi -L | grep -c '^GPU')" -gt 1 ]; then
        export CUDA_VISIBLE_DEVICES=0
    fi
    refused 2 'PKB_COMM=staged'
    CUDA_VISIBLE_DEVICES='' refused 1 'no GPU is visible'
}

[ $# -gt 0 ] || set -- examples outcomes places
for part in "$@"; do
    case $part in
    examples)
        PKB_COMM='' examples alone 1
        PKB_COMM=staged examples shared "2, 4"
        ;;
    outcomes | places) "$part" ;;
    *) not_ok "$part" "unknown part" ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
