#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happens to single tasks, done to runs at work: processes that are killed, signals, time limits, cancelled tasks, and users who
# resume a run twice. No cell is lost, none is recorded twice, and none gets another outcome.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
start_cluster --nodes 4 --set SlurmdTimeout=6

# stepd STEP: pid of the daemon that holds a step of the array's only task, $job on $node (of this cluster: there may be another one).
stepd() {
    pgrep --ns "$(cat "$PKB_MINISLURM/slurmd-$node.pid")" --nslist net -f "^slurmstepd: \[$(squeue -h -j "$job" -o %A)\.$1\]"
}
sruns() { pgrep -x srun | while read -r p; do grep -qzxF -- "$1" "/proc/$p/cmdline" 2>/dev/null && echo "$p"; done; }

# Agents die on n1 again and again: that is reported, and resume leaves the node out.
sweep bad 4 0 n1
kill_victims() {
    local victim
    while :; do
        if victim=$(cat "$1" 2>/dev/null); then
            rm -f "$1"
            kill -KILL "$victim"
        fi
        read -r -t 0.05 <> <(:) || true
    done
}
kill_victims "$tmp/bad.victim" &
killer=$!
started_pids+=("$killer")
submit "$tmp/bad" "$tmp/bad.lua" --slurm exclusive=yes --slurm throttle=4 --shard-seconds 0.001
check "bad: it ends" wait_for 60 over "$tmp/bad"
check "bad: three attempts on the node" test "$(grep -h infra_error "$tmp"/bad/records/*.jsonl | wc -l)" -eq 3
run "$pkb" status "$tmp/bad"
expect "bad: status names the node" 1 "n1: 3 infra errors"
says "bad: and the shard" "2 ranks, 0 of 1 cells, tried in vain"
run "$pkb" resume --launcher slurm --slurm exclusive=no "$tmp/bad"
expect "bad: resume leaves the node out" 0 "n1 had 3 infra errors or more and will not be used"
check "bad: in all that it submits" test "$(grep -lx '#SBATCH --exclude=n1' "$tmp"/bad/jobs/00[23]-*.sh | wc -l)" -eq 2

kill "$killer"

# Held at the gate, each in its own way of being disturbed; what takes longest comes first.
for name in timeout warned batch stepd srun rank leader drain cancel; do
    options=()
    [ $name != timeout ] || options=(--slurm signal_seconds=0)
    [ $name != warned ] || options=(--slurm time=1)
    begin $name "${options[@]}"
done
complete bad
check "bad: every cell once, and right" counted_once "$tmp/bad" "$tmp/bad.cells"

# The time limit is reached: Slurm looks every 30 s.
held timeout
scontrol update JobId="$job" EndTime=now+1 || not_ok "timeout: the limit is set"
held warned # by Slurm, 30 s before its limit of a minute at the latest; it stops once the cell is over
limited=$job

held batch
kill -KILL "$(stepd batch)"
held stepd
kill -KILL "$(stepd 0)"
held srun
# shellcheck disable=SC2046
kill -KILL $(sruns "$dir" | sort -rn) # its helper first, which would end the step
held rank
kill -KILL "$(agents "$dir" | tail -n 1)"
held leader
kill -KILL "$(agents "$dir" | head -n 1)"

for name in stepd srun rank leader; do
    open_gate $name
done
complete rank
check "rank: a second attempt was made" test -e "$tmp/rank/records/shard-000000.002.jsonl"
complete leader
check "leader: a second attempt was made" test -e "$tmp/leader/records/shard-000000.002.jsonl"
complete srun
check "srun: the first attempt's agents were stopped" grep -q 'stopped by signal 15' "$tmp/srun/logs/shard-000000.001/agent-000.log"

held drain
scancel --batch --signal=USR1 "$job"
check "drain: the agents are told" wait_for 30 grep -q 'stops after this cell' "$dir/logs/shard-000000.001/agent-000.log"
open_gate drain
incomplete drain
check "drain: nothing was blamed on the node" test "$(grep -l infra_error "$tmp"/drain/records/* | wc -l)" -eq 0

held cancel
run "$pkb" status "$dir"
expect "cancel: status shows the job" 0 "running on $node"
run "$pkb" cancel "$dir"
expect "cancel: pkb cancel" 0 "2 jobs cancelled"
incomplete cancel

# One task of an array.
sweep task 3 2
submit "$tmp/task" "$tmp/task.lua" --shard-seconds 0.001
held task
check "task: the others are done" wait_for 30 recorded "$dir" 2
scancel "${job}_1"
incomplete task

# Two users resume one run, and again after the first was killed. Who drives it is held while it compiles.
sweep twice 2 0
cat >"$tmp/cc" <<END
#!/bin/sh
case "\$*" in *candidate.c*) until [ -e "$tmp/twice.gate" ]; do sleep 0.05; done ;; esac
exec cc "\$@"
END
chmod +x "$tmp/cc"
export PKB_CC=$tmp/cc
driven() { "$pkb" status "$1" | grep -q "process $2 on"; }
start "$pkb" run --quiet --launcher slurm --slurm exclusive=no --run "$tmp/twice" "$tmp/twice.lua"
check "twice: a run that compiles" wait_for 30 driven "$tmp/twice" "$pid"
run "$pkb" resume --quiet "$tmp/twice"
expect "twice: another one must not" 4 "another pkb drives this run: process $pid"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
start "$pkb" resume --quiet "$tmp/twice"
check "twice: one may, once the first was killed" wait_for 30 driven "$tmp/twice" "$pid"
run "$pkb" resume --quiet "$tmp/twice"
expect "twice: but not two" 4 "another pkb drives this run: process $pid"
open_gate twice
check "twice: it submits" wait_for 60 gone "$pid"
run "$pkb" resume --quiet "$tmp/twice"
expect "twice: a third one finds nothing to do" 0 ""
check "twice: each shard was submitted once" test "$(jobs_of "$tmp/twice")" -eq 1
complete twice
unset PKB_CC

complete stepd
check "stepd: the agents had gone on" test ! -e "$tmp/stepd/records/shard-000000.002.jsonl"
check "warned: the agents are told that their time is nearly over" wait_for 60 grep -q 'stops after this cell' \
    "$tmp/warned/logs/shard-000000.001/agent-000.log"
open_gate warned
incomplete warned
check "warned: within the limit" test -z "$(grep "JobId=.*$limited.*TIMEOUT" "$PKB_MINISLURM/jobcomp.log")"
incomplete timeout
open_gate batch
begins_again batch
complete batch
finish
