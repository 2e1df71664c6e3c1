#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several users on one cluster, and jobs that it refuses in the middle of a submission.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
id nobody >/dev/null 2>&1 || skip "there is no user nobody"
start_cluster --nodes 4 --set EnforcePartLimits=ALL --set MaxJobCount=30 --set MinJobAge=2
chmod 1777 "$tmp"
as_nobody=(setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups env HOME=/)

# Two runs at one time, of two users.
begin mine
sweep theirs 3 2
run "${as_nobody[@]}" "$pkb" run --quiet --launcher slurm --slurm exclusive=no --run "$tmp/theirs" "$tmp/theirs.lua"
expect "theirs: it is submitted" 0 ""
held mine
held theirs
check "both are at work" test "$(squeue -h -t R -o %u | sort | tr '\n' ' ')" = "nobody root "
run "${as_nobody[@]}" "$pkb" status "$tmp/mine"
expect "others may look" 0 "1 of 3 done"
run "${as_nobody[@]}" "$pkb" resume --launcher slurm --quiet "$tmp/mine"
expect "but not resume" 3 "Permission denied"
run "${as_nobody[@]}" "$pkb" cancel "$tmp/mine"
expect "nor cancel" 3 "denied"
open_gate mine
open_gate theirs
complete mine
check "theirs: it ends too" wait_for 60 over "$tmp/theirs"
check "theirs: all files are their own" test -z "$(find "$tmp/theirs" ! -user nobody)"
complete theirs

# The second array is refused: its worlds take two nodes, and the partition gives one.
cat >"$tmp/refused.lua" <<LUA
return sweep {
    candidates = "$top/examples/candidates", models = { "direct" }, samples = { 1 }, problems = { 2 }, gpus = { 1, 2 }, shapes = { "tiny" },
    trials = 1, iterations = { warmup = 1, timed = 2 }, slurm = { exclusive = false, ranks_per_node = 1 },
}
LUA
printf 'direct 02_allgather 1 %s tiny correct\n' 1 >"$tmp/refused.cells"
scontrol update PartitionName=gpu MaxNodes=1
submit "$tmp/refused" "$tmp/refused.lua"
expect "refused: the second array" 3 "1 jobs are submitted, then one was not"
says "refused: why" "the job was refused: Node count specification invalid"
wait_for 60 over "$tmp/refused" || not_ok "refused: it does not end" "$(squeue)"
check "refused: the first one has run" diff "$tmp/refused.cells" <(cells "$tmp/refused")
check "refused: and is merged" test -s "$tmp/refused/results.db"
scontrol update PartitionName=gpu MaxNodes=UNLIMITED
run "$pkb" resume --quiet --wait "$tmp/refused"
expect "refused: resume" 0 ""
check "refused: one job more of each kind" test "$(grep -c '"kind"' "$tmp/refused/jobs.json")" -eq 4

# More tasks than the cluster keeps jobs; in waves it does.
sweep many 8 0
sed -i 's/gpus = { 2 }/gpus = { 1, 2 }, dtypes = { "bf16", "f32" }/' "$tmp/many.lua"
PKB_SUBMIT_RETRY_SECONDS=0 submit "$tmp/many" "$tmp/many.lua" --shard-seconds 0.001 --slurm wave=100
expect "many: the second array is refused" 3 "1 jobs are submitted, then one was not"
says "many: why, and what to do" "MaxJobCount, are there; --slurm wave=N submits fewer tasks at one time"
check "many: the first array runs" wait_for 60 over "$tmp/many"
# When others leave, what had to wait is submitted.
fill() { # true once they have all the room that there will ever be, one job less than MaxJobCount; sbatch would wait for more
    timeout 3 sbatch --quiet --hold --job-name=filler --output=/dev/null --wrap true || true
    [ "$(squeue -h --name=filler | wc -l)" -ge 29 ]
}
check "many: others fill the cluster" wait_for 120 fill
start "$pkb" resume --wait --slurm wave=8 "$tmp/many"
check "many: resume waits for room" wait_for 60 grep -q 'MaxJobCount.*trying again' "$tmp/background"
scancel --name=filler
check "many: the rest in waves" wait_for 180 gone "$pid"
check "many: every cell once" test "$(cells "$tmp/many" | grep -c correct)" -eq 32
finish
