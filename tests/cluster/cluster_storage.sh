#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared file system is full or read-only for a while: no cell is lost, none is recorded twice, and none gets another outcome.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
mkdir "$tmp/disk"
mount -t tmpfs -o size=24m tmpfs "$tmp/disk" 2>/dev/null || skip "this machine mounts no tmpfs"
start_cluster --nodes 2 # whose nodes see the mount
runs=$tmp/disk

# Full while cells are at work, for a shorter and for a longer time than agents are patient. Logs lie elsewhere: they are to be read.
scontrol update PartitionName=gpu State=DOWN
begin short
PKB_RECORD_RETRY_SECONDS=1 begin long
for name in short long; do
    mv "$runs/$name/logs" "$tmp/$name.logs"
    ln -s "$tmp/$name.logs" "$runs/$name/logs"
done
scontrol update PartitionName=gpu State=UP
held short
held long
head -c 64M /dev/zero >"$runs/filler" 2>/dev/null
check "there is no room" test "$(df --output=avail "$runs" | tail -n 1)" -eq 0
open_gate short
open_gate long
check "short: an agent waits" wait_for 60 grep -q 'No space left on device; trying again' "$tmp/short.logs/shard-000000.001/agent-000.log"
check "long: the run ends" wait_for 60 over "$runs/long"
check "long: the task says why" grep -q 'a record cannot be written, its cell counts as not done' "$tmp"/long.logs/slurm-*_*.log
run "$pkb" status "$runs/long"
expect "long: status works" 1 " of 3 done"
run "$pkb" resume --quiet "$runs/long"
expect "long: resume says why it cannot" 3 "No space left on device"
rm "$runs/filler"
complete short
check "short: by the agents that had waited" test ! -e "$runs/short/records/shard-000000.002.jsonl"
incomplete long

# Read-only when the tasks start, which is when they make their files: the kernel refuses it while records are open.
scontrol update PartitionName=gpu State=DOWN
begin read
check "the file system becomes read-only" mount -o remount,ro "$runs"
scontrol update PartitionName=gpu State=UP
check "read: the run ends" wait_for 60 over "$runs/read"
run "$pkb" status "$runs/read"
expect "read: status works" 1 "0 of 3 done"
run "$pkb" resume --quiet "$runs/read"
expect "read: resume says why it cannot" 3 "Read-only file system"
check "the file system can be written again" mount -o remount,rw "$runs"
incomplete read
finish
