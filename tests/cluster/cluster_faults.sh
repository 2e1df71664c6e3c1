#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happens to nodes and to Slurm's daemons, done to runs at work: no cell is lost, none is recorded twice, and none gets another
# outcome.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
settings=(--nodes 4 --set SlurmdTimeout=6)
start_cluster "${settings[@]}"
restart() { mini start "${settings[@]}" --no-wait; }
saved() { [ "$PKB_MINISLURM/state/job_state" -nt "$tmp/now" ]; }
nodes_of() { grep -ho 'on n[1-4]' "$tmp/$1"/logs/slurm-*_*.log | sort -u; }

# A node is cut off: Slurm requeues the job elsewhere, while the old agents go on in the dark.
begin cut
held cut
cut=$node
mini cut "$cut"
here=(--slurm exclude="$cut")

# Runs on the other nodes, each held at its second cell.
begin preempt "${here[@]}" --slurm partition=preempt
held preempt
preempted=$node
start srun --partition=gpu --exclusive --nodelist="$preempted" true
preemptor=$pid
here=(--slurm exclude="$cut,$preempted")
for name in requeue down slurmd; do
    begin $name "${here[@]}"
done

held requeue
scontrol requeue "$job"

# One that is taken out of service: what runs there goes on, what has not begun goes elsewhere.
sweep drained 3 1
submit "$tmp/drained" "$tmp/drained.lua" "${here[@]}" --shard-seconds 0.001 --slurm throttle=1
held drained
drained=$node
scontrol update NodeName="$drained" State=DRAIN Reason=test
open_gate drained
complete drained
check "drained: the first task stayed, the others went elsewhere" test "$(nodes_of drained | wc -l)" -eq 2
scontrol update NodeName="$drained" State=RESUME

held slurmd
mini kill-slurmd "$node"
check "slurmd is started again" restart
open_gate slurmd
complete slurmd
check "slurmd: the task went on" test "$(nodes_of slurmd)" = "on $node"

# Slurm refuses a job that comes back to a node on which it was killed a moment ago (its credential is revoked), so the node must not be used.
held down
scontrol update NodeName="$node" State=DRAIN Reason=test
scontrol update NodeName="$node" State=DOWN Reason=test

for name in requeue down; do
    begins_again $name
    open_gate $name
    complete $name
done

check "down: on another node" test "$(nodes_of down | wc -l)" -eq 2

check "preempt: the other job has run" wait_for 60 gone "$preemptor"
begins_again preempt
open_gate preempt
complete preempt

run "$pkb" resume --quiet "$tmp/cut"
expect "cut: resume leaves what is in the queue" 0 ""
begins_again cut
open_gate cut # the old agents and the new ones
complete cut
check "cut: the job ran on two nodes" test "$(nodes_of cut | wc -l)" -eq 2
check "cut: the old agents have noticed" grep -q 'has a newer attempt' "$tmp"/cut/logs/shard-000000.001/agent-000.log
mini heal "$cut"

# slurmctld, with a task that runs and others that wait. What it has not saved, it forgets, so nothing else must begin now.
sweep slurmctld 3 1
submit "$tmp/slurmctld" "$tmp/slurmctld.lua" --shard-seconds 0.001 --slurm throttle=1
held slurmctld
touch "$tmp/now"
scontrol update JobId="$job" Comment=test # a change that is to be saved
check "slurmctld saves its state" wait_for 20 saved
mini kill-slurmctld
check "slurmctld is started again" restart
open_gate slurmctld
complete slurmctld
check "slurmctld: the first task went on" test ! -e "$tmp/slurmctld/records/shard-000000.002.jsonl"
finish
