#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong on clusters, done to runs at work: no cell is lost, none is recorded twice, and none gets another outcome.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
start_cluster --nodes 4 --set SlurmdTimeout=6

# sweep NAME SAMPLES: NAME.lua, whose cells take half a second each, and what is to come of it, NAME.expected.
sweep() {
    local i
    mkdir -p "$tmp/store/$1/02_allgather"
    for ((i = 1; i <= $2; i++)); do
        sed "s#TEST_PAUSE#400000#; s#TEST_SAMPLE#$1 $i#" "$top/tests/cluster/memory_allgather.c" >"$tmp/store/$1/02_allgather/$i.c"
        echo "$1 02_allgather $i 2 tiny correct"
    done | LC_ALL=C sort >"$tmp/$1.expected"
    cat >"$tmp/$1.lua" <<LUA
return sweep {
    candidates = "store", models = { "$1" }, problems = { 2 }, samples = $2, gpus = { 2 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 2, timed = 5 }, limits = { seconds = 30, memory_mb = 4096 },
}
LUA
}
sweep short 10
sweep medium 20
sweep long 120 # longer than Slurm takes to begin the job on another node

node_of() { squeue -h -j "$1" -t R -o %N; }
over() { ! "$pkb" status "$1" | grep -q 'running    yes'; }

# begin NAME SWEEP OPTION...: submits a run and waits until it has a record; $dir, $job, $node.
begin() {
    dir=$tmp/$1
    submit "$dir" "$tmp/$2.lua" "${@:3}"
    cp "$tmp/$2.expected" "$tmp/$1.cells"
    [ "$code" -eq 0 ] || not_ok "$1: it is submitted" "$err"
    job=$(job_of "$dir" 1)
    wait_for 30 recorded "$dir" 1 || not_ok "$1: it begins" "$(squeue; cat "$dir"/logs/slurm-* 2>/dev/null)"
    node=$(node_of "$job")
}

# complete NAME: the run ends by itself, whole.
complete() {
    local run=$tmp/$1
    wait_for "${2:-60}" over "$run" || not_ok "$1: it does not end" "$(squeue)"
    check "$1: every cell once, and right" diff "$tmp/$1.cells" <(cells "$run")
    check "$1: no agent is left" wait_for 10 no_agents "$run"
}

# incomplete NAME: it has ended early; resume does the rest.
incomplete() {
    local run=$tmp/$1
    wait_for 40 over "$run" || not_ok "$1: it does not end" "$(squeue)"
    check "$1: no agent is left" wait_for 10 no_agents "$run"
    check "$1: it is not complete" test "$(cells "$run" | wc -l)" -lt "$(wc -l <"$tmp/$1.cells")"
    run "$pkb" resume --quiet --wait "$run"
    expect "$1: resume" 0 ""
    check "$1: every cell once, and right" diff "$tmp/$1.cells" <(cells "$run")
}

restart() { mini start --nodes 4 --set SlurmdTimeout=6 --no-wait; }
saved() { [ "$PKB_MINISLURM/state/job_state" -nt "$tmp/now" ]; }

# A node is cut off: Slurm requeues the job elsewhere, while the old agents go on in the dark. Meanwhile the other faults, on other nodes.
begin cut long
cut=$node
mini cut "$cut"

# Another job takes the node away; Slurm gives the run a new one.
begin preempt medium --slurm partition=preempt --slurm cpu_partition=cpu --slurm build=here --slurm exclude="$cut"
start srun --partition=gpu --exclusive --nodelist="$node" true
preemptor=$pid

begin agent short --slurm exclude="$cut"
kill -KILL "$(agents "$dir" | tail -n 1)"
complete agent
check "agent: a second attempt was made" test -e "$dir/records/shard-000000.002.jsonl"

begin drain short --slurm exclude="$cut"
scancel --batch --signal=USR1 "$job"
incomplete drain
check "drain: nothing was blamed on the node" test "$(grep -l infra_error "$tmp"/drain/records/* | wc -l)" -eq 0

begin cancel short --slurm exclude="$cut"
run "$pkb" status "$dir"
expect "cancel: status shows the job" 0 "running on $node"
run "$pkb" cancel "$dir"
expect "cancel: pkb cancel" 0 "2 jobs cancelled"
incomplete cancel

begin requeue short --slurm exclude="$cut"
scontrol requeue "$job"
begin slurmd short --slurm exclude="$cut"
mini kill-slurmd "$node"
check "slurmd is started again" restart
begin slurmctld short --slurm exclude="$cut"
touch "$tmp/now"
check "slurmctld saves its state" wait_for 20 saved # what it has not saved, it forgets
mini kill-slurmctld
check "slurmctld is started again" restart
complete slurmctld
complete slurmd
complete requeue 90
check "requeue: the second attempt is Slurm's" grep -q 'restart 1' "$tmp"/requeue/logs/slurm-*.log

check "preempt: the other job has run" wait_for 60 gone "$preemptor"
complete preempt 90
check "preempt: it was" grep -q 'restart 1' "$tmp"/preempt/logs/slurm-*_*.log

run "$pkb" resume --quiet "$tmp/cut"
expect "cut: resume leaves what is in the queue" 0 ""
complete cut 120
check "cut: the job ran on two nodes" test "$(grep -ho 'on n[1-4]' "$tmp"/cut/logs/slurm-*_*.log | sort -u | wc -l)" -eq 2
check "cut: the old agents have noticed" grep -q 'has a newer attempt' "$tmp"/cut/logs/shard-000000.001/agent-000.log
mini heal "$cut"
finish
