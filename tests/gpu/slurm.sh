#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The launcher slurm on real GPUs: a Slurm of one node with this machine's GPUs as gres. Tasks see the GPUs that Slurm gives them, each
# rank has one of its own, and the sweep has the outcomes that it has without Slurm. Needs root and Slurm's daemons; ends with
# `N passed, N failed`. Called by tests/gpu/run, which finds the libraries.
#
# $PKB_BUILD: the build tree, or the folder that tests/gpu/pack has made.
set -u
build=$(cd "${PKB_BUILD:-.}" && pwd)
pkb=$build/orchestrator/pkb
top=$(cat "$build/pkb-build-tree")
export PKB_MINISLURM=${PKB_MINISLURM:-/run/pkb-gpu-slurm}
tmp=$PKB_MINISLURM/shared
passed=0
failed=0

ok() { passed=$((passed + 1)); echo "ok - $1"; }

not_ok() { # name, detail
    failed=$((failed + 1))
    echo "FAILED $1: $2"
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

# expect NAME CODE TEXT COMMAND...: the command exits with CODE and says TEXT, a regular expression.
expect() {
    local name=$1 code=$2 text=$3 got=0
    shift 3
    timeout -k 5 500 "$@" >"$tmp/out" 2>&1 </dev/null || got=$?
    if [ $got -eq "$code" ] && grep -q -e "$text" "$tmp/out"; then
        ok "$name"
    else
        not_ok "$name" "exit status $got: $(tail -n 15 "$tmp/out")"
    fi
}

check() { # name, command...
    local name=$1
    shift
    if "$@" >/dev/null 2>&1; then ok "$name"; else not_ok "$name" "$*"; fi
}

for program in slurmctld slurmd srun munged ip; do
    command -v "$program" >/dev/null || { echo "$program is missing: no jobs"; finish; }
done
trap '"$top/scripts/minislurm" stop' EXIT
"$top/scripts/minislurm" start --nodes 1 --real-gpus || { not_ok "a cluster" "does not start"; finish; }
eval "$("$top/scripts/minislurm" env)"
gpus=$(nvidia-smi -L | grep -c '^GPU')
worlds=1
for world in 2 4 8; do
    [ $world -gt "$gpus" ] || worlds="$worlds, $world"
done

# sweep NAME WORLDS OPTION...: the quick sweep by jobs.
sweep() {
    local name=$1
    sed "s,\"../examples/candidates\",\"$top/examples/candidates\",; s/worlds { 1, 2, 4, 8 }/{ $2 }/; s/seconds = [^,]*,/seconds = 20,/" \
        "$top/sweeps/quick.lua" >"$tmp/$name.lua"
    shift 2
    expect "$name: by jobs" 0 Outcomes "$pkb" run --launcher slurm --wait --build-cache "$tmp/cache" --run "$tmp/$name" "$@" "$tmp/$name.lua"
}

# as_expected NAME: every record has the outcome that the example candidates are made for.
as_expected() {
    local word text
    while read -r word text; do
        if [ "$word" = ok ]; then passed=$((passed + 1)); else not_ok "$1: ${text%%:*}" "${text#*: }"; fi
    done < <(awk -v store="$top/examples/candidates" -v kind=cu -v no_memory=out_of_memory -f "$top/tests/support/outcomes.awk" \
        "$top/examples/candidates/expected.txt" "$tmp/$1"/records/*.jsonl)
}

expect "doctor: every rank sees a GPU" 0 "^ok    GPUs" \
    "$pkb" doctor --launcher slurm --gpus --slurm ranks_per_node="$gpus" --dir "$tmp"
sed -n 's/^/    /p' "$tmp/out"

sweep own "$worlds" --slurm 'prolog=echo "GPUs of the job: ${CUDA_VISIBLE_DEVICES:-none}"'
as_expected own
check "own: Slurm gave the jobs GPUs" grep -q 'GPUs of the job: 0' "$tmp"/own/logs/slurm-*.log
check "own: and said so in the batch script" grep -q -e '--gres=gpu:' "$tmp"/own/jobs/000-evaluate.sh
check "own: on a GPU of this machine" grep -q -F "\"uuid\":\"$(nvidia-smi --query-gpu=uuid --format=csv,noheader | head -n 1)\"" "$tmp"/own/records/*.jsonl
sed -n '1,25p' "$tmp/out"

# Ranks that share a GPU: asked for, and the only way on fewer GPUs than ranks.
PKB_COMM=staged sweep shared 2 --slurm gpu=none
as_expected shared

# More GPUs than there are: refused by Slurm, and nothing waits for ever.
sed "s/{ 2 }/{ $((gpus + 1)) }/" "$tmp/shared.lua" >"$tmp/more.lua"
expect "more GPUs than the node has are refused" 3 "refused" "$pkb" run --launcher slurm --build-cache "$tmp/cache" --run "$tmp/more" "$tmp/more.lua"
sed -n 's/^/    /p' "$tmp/out"
finish
