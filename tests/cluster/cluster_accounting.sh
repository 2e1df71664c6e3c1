#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# With slurmdbd, what slurmctld has forgotten is still known: how tasks ended, all starts of a task that was requeued, and the time that
# they took. Without its answer, all else works.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
for program in slurmdbd mariadbd my_print_defaults; do
    command -v "$program" >/dev/null || skip "$program is missing (scripts/install-packages cluster)"
done
start_cluster --nodes 2 --accounting --set MinJobAge=2

forgotten() { ! scontrol show job "$1" >/dev/null 2>&1; }
a_second() { [ "$(squeue -h -j "$job" -t R -o %M)" != 0:00 ]; }
value() { sed -n "s/^  \"$1\": \([^,]*\),*\$/\1/p" "$tmp/stdout"; }

begin past
held past
first_node=$node
wait_for 10 a_second
scontrol requeue "$job" || not_ok "past: it is requeued"
begins_again past
held past
scancel "$job"
check "past: it ends" wait_for 60 over "$dir"
check "past: slurmctld forgets the job" wait_for 90 forgotten "$job"
# Slurm tells slurmdbd in its own time.
ended() { [ "$(sacct -n -X -D -P -j "$job" -o state | grep -c -E 'REQUEUED|CANCELLED')" -eq 2 ]; }
check "past: slurmdbd knows both starts" wait_for 60 ended

run "$pkb" status "$dir"
expect "past: how the task ended" 1 "2 ranks, 1 ended (1 CANCELLED)"
run "$pkb" status --json "$dir"
check "past: status says where that is from" test "$(value accounting)" = true
seconds=$(sacct -n -X -D -P -j "$job" -o elapsedraw | awk '{ s += $1 } END { print 2 * s }')
check "past: the time of both starts is counted" test "$(value rank_hours | awk '{ printf "%d", $1 * 3600 + 0.5 }')" -eq "$seconds"
check "past: which is some" test "$seconds" -gt 0

run "$pkb" explain "$dir" 'past/2/2'
expect "explain: the first start" 0 "${job}_0: REQUEUED on $first_node"
says "explain: the last" "${job}_0: CANCELLED on $node"
says "explain: what that means" "somebody cancelled it"
run "$pkb" explain --json "$dir" 'past/2/2'
expect "explain: as JSON" 0 '"state": "REQUEUED"'
run "$pkb" explain "$dir" 'past/2/1'
expect "explain: nothing of Slurm where there is a verdict" 0 "correct (counts)"
check "explain: no task" test -z "$(grep '^task' "$tmp/stdout")"
run "$pkb" doctor --launcher slurm --nodes 2 --dir "$tmp"
expect "doctor asks slurmdbd" 0 "slurmdbd answers"

kill -STOP "$(cat "$PKB_MINISLURM/slurmdbd.pid")"
run timeout 30 "$pkb" status "$dir"
expect "slurmdbd hangs: the status comes all the same" 1 "has not answered for 10 s"
mini kill-slurmdbd
run "$pkb" status "$dir"
expect "slurmdbd is dead: the status is there" 1 "the accounting database does not say what is past"
run "$pkb" explain "$dir" 'past/2/2'
expect "slurmdbd is dead: so is an explanation" 0 "task       not all is known"
run "$pkb" doctor --launcher slurm --nodes 2 --dir "$tmp"
expect "slurmdbd is dead: doctor says it" 0 "note  accounting"
incomplete past
finish
