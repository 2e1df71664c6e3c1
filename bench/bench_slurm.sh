#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The launcher slurm on a Slurm of four nodes on this machine (scripts/minislurm): submitting 10,000 cells, launching 32 ranks, how much of
# the allocated time runners get, and what users script instead. Times of processors are meaningless there; cells sleep.
#
#   bench_slurm.sh [submit | launch | busy | peers]...     default: all
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tests/cluster/lib.sh"

die() { echo "bench_slurm: $*" >&2; exit 1; }
ratio() { printf 'RATIO slurm_%s\n' "$*"; }
since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.3f", to - from }'; }
quotient() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# rpcs [TYPE]: messages to slurmctld since the last reset, without those that ask for these numbers.
rpcs() {
    sdiag | awk -v type="${1:-}" '/by message type/ { on = 1; next } /by user/ { on = 0 }
        on && /count:/ && !/REQUEST_STATS_INFO/ && (type == "" || $1 == type) { sub(/.*count:/, ""); n += $1 } END { print n + 0 }'
}

# candidate FILE MICROSECONDS: an all-gather that sleeps when it is set up.
candidate() {
    mkdir -p "$(dirname "$1")"
    sed "s#TEST_GATE#/#g; s#TEST_HOST##; s#TEST_SAMPLE#$2#; s#    wait_at_gate();#&\n    (void)usleep($2);#" \
        "$top/tests/cluster/memory_allgather.c" >"$1"
}

# ---- 10,000 cells ------------------------------------------------------------------------------------------------------

submit_many() {
    local model problem sample began seconds chunks
    for model in $(seq 25); do
        for problem in 01_allreduce 02_allgather 03_broadcast 04_reduce 05_scatter 06_gather 07_reducescatter 08_alltoall; do
            mkdir -p "$tmp/many/$model/$problem"
            for sample in 1 2 3 4 5 6 7 8 9 10; do
                echo "/* $model $problem $sample */" >"$tmp/many/$model/$problem/$sample.c"
            done
        done
    done
    cat >"$tmp/many.lua" <<LUA
return sweep { candidates = "many", problems = { 1, 2, 3, 4, 5, 6, 7, 8 }, samples = 10, gpus = { 1, 2, 4, 8, 16 }, shapes = { "tiny" } }
LUA
    scontrol update PartitionName=gpu State=DOWN # so that they stay in the queue
    sync # the store's files are not to be written on our time
    sdiag --reset >/dev/null
    began=$EPOCHREALTIME
    "$pkb" run --launcher slurm --slurm build=jobs --shard-seconds 2 --run "$tmp/many.run" "$tmp/many.lua" 2>"$tmp/log" || die "$(cat "$tmp/log")"
    seconds=$(since "$began")
    grep -q '10000 cells in' "$tmp/log" || die "not 10000 cells: $(cat "$tmp/log")"
    chunks=$(grep -c '"job":' "$tmp/many.run/jobs.json")
    echo "submitted: $(tail -n 1 "$tmp/log"); $(rpcs REQUEST_SUBMIT_BATCH_JOB) messages that submit, $chunks arrays and single jobs"
    ratio submit "$(quotient "$seconds" 5)" "seconds to plan and submit 10000 cells of 2000 candidates, $seconds / the 5 that it may take"
    ratio submit_messages "$(quotient "$(rpcs REQUEST_SUBMIT_BATCH_JOB)" "$chunks")" "messages that submit / arrays, which are $chunks"
    for _ in 1 2 3 4 5; do
        began=$EPOCHREALTIME
        "$pkb" status "$tmp/many.run" >"$tmp/out" 2>&1 # 1: not all is done
        since "$began"
        echo
    done | median >"$tmp/status"
    grep -q '0 of 10000 done' "$tmp/out" || die "$(cat "$tmp/out")"
    ratio status "$(quotient "$(cat "$tmp/status")" 0.5)" "seconds of pkb status then, $(cat "$tmp/status") / the 0.5 that it may take"
    "$pkb" cancel "$tmp/many.run" >/dev/null || die "cannot cancel"
    scontrol update PartitionName=gpu State=UP
}

# ---- launching 32 ranks ------------------------------------------------------------------------------------------------

# until_line N COMMAND...: seconds until it has printed N lines.
until_line() {
    local n=$1 began=$EPOCHREALTIME
    shift
    "$@" 2>"$tmp/log" </dev/null | {
        for ((i = 0; i < n; i++)); do
            read -r _ || die "$* printed $i lines: $(cat "$tmp/log")"
        done
        since "$began"
        echo
        cat >/dev/null
    }
}

launch() {
    local world=(srun --mpi=pmix --nodes=4 --ntasks=32 --ntasks-per-node=8 --overcommit "$build/bench/join_world") agents hello
    for _ in 1 2 3 4 5 6 7 8 9; do
        until_line 32 "${world[@]}" hello >>"$tmp/hello"
        until_line 1 "${world[@]}" agents >>"$tmp/agents"
    done
    agents=$(median <"$tmp/agents")
    hello=$(median <"$tmp/hello")
    ratio launch "$(quotient "$agents" "$hello")" \
        "seconds from srun to the first exchange of 32 agents on 4 nodes, $agents / to the last line of a PMIx hello of 32, $hello (medians of 9)"
}

# ---- the share of runners ----------------------------------------------------------------------------------------------

# busy_seconds RUN: of every cell in the order of the plan, what it took without the judge's part.
busy_seconds() {
    cat "$1"/records/*.jsonl | awk '/"kind":"cell"/ {
        t = 0
        for (i = split("reference start trials time quit", name, " "); i > 0; i--)
            if (match($0, "\"" name[i] "\":[0-9.e-]+"))
                t += substr($0, RSTART + length(name[i]) + 3, RLENGTH - length(name[i]) - 3)
        print t }'
}

# allocated_seconds NAME: of all tasks of arrays with that name.
allocated_seconds() {
    grep " Name=$1 " "$PKB_MINISLURM/jobcomp.log" | sed 's/.* StartTime=\([^ ]*\) EndTime=\([^ ]*\) .*/\1 \2/; s/[T:-]/ /g' |
        awk '{ n += mktime($7 " " $8 " " $9 " " $10 " " $11 " " $12) - mktime($1 " " $2 " " $3 " " $4 " " $5 " " $6) } END { print n }'
}

busy() {
    local slots=12 model sample began took
    for sample in $(seq 25); do
        candidate "$tmp/busy/1/02_allgather/$sample.c" $((400000 + 100000 * (sample * 7 % 25)))
    done
    for model in $(seq 2 20); do
        cp -r "$tmp/busy/1" "$tmp/busy/$model"
    done
    cat >"$tmp/busy.lua" <<LUA
return sweep {
    candidates = "busy", problems = { 2 }, samples = 25, gpus = { 2 }, shapes = { "tiny" }, trials = 2, iterations = { warmup = 2, timed = 5 },
    limits = { seconds = 60, memory_mb = 4096 }, time = function(cell) return 0.4 + 0.1 * (cell.sample * 7 % 25) end,
}
LUA
    began=$SECONDS
    "$pkb" run --launcher slurm --wait --quiet --slurm exclusive=no --slurm throttle=$slots --shard-seconds 70 --run "$tmp/busy.run" "$tmp/busy.lua" \
        >"$tmp/log" 2>&1 || die "$(cat "$tmp/log")"
    took=$((SECONDS - began))
    wait_for 30 queue_empty || die "$(squeue)"
    busy_seconds "$tmp/busy.run" | awk -v slots=$slots -v took=$took -v allocated="$(allocated_seconds pkb-busy-w2)" '
        { # list scheduling: each goes to the slot that is free first
            best = 1
            for (i = 2; i <= slots; i++)
                if (end[i] < end[best])
                    best = i
            end[best] += $1
            sum += $1
        }
        END {
            for (i = 1; i <= slots; i++)
                last = end[i] > last ? end[i] : last
            printf "busy: %d cells, %.1f s in runners, %d s allocated, %d s in all; list scheduling: %.1f s on %d slots\n",
                NR, sum, allocated, took, last, slots
            printf "RATIO slurm_busy %.3f share of the allocated time that is in runners, %.3f / that of list scheduling, %.3f\n",
                (sum / allocated) / (sum / (slots * last)), sum / allocated, sum / (slots * last)
        }'
}

# ---- what users script -------------------------------------------------------------------------------------------------

# prepared NAME: a run with a shard for each cell, compiled, and with nothing evaluated. $tmp/peers.lua.
prepared() {
    scontrol update PartitionName=gpu State=DOWN
    "$pkb" run --quiet --launcher slurm --shard-seconds 0.001 --build-cache "$tmp/cache" --run "$tmp/$1" "$tmp/peers.lua" 2>"$tmp/log" || die "$(cat "$tmp/log")"
    "$pkb" cancel "$tmp/$1" >/dev/null
    scontrol update PartitionName=gpu State=UP
    wait_for 30 queue_empty || die "$(squeue)"
}

jobs_over() { [ "$(wc -l <"$PKB_MINISLURM/jobcomp.log")" -ge "$1" ]; }

# measured NAME JOBS COMMAND...: $seconds until all cells of $tmp/NAME have a record, $messages until its jobs are over. Asks slurmctld nothing
# meanwhile.
measured() {
    local name=$1 jobs began
    jobs=$(($(wc -l <"$PKB_MINISLURM/jobcomp.log") + $2))
    shift 2
    sdiag --reset >/dev/null
    began=$EPOCHREALTIME
    "$@" >"$tmp/log" 2>&1 || die "$name: $(tail -n 5 "$tmp/log")"
    wait_for 300 recorded "$tmp/$name" "$cells" || die "$name: $(squeue)"
    seconds=$(since "$began")
    wait_for 60 jobs_over "$jobs" || die "$(squeue)"
    messages=$(rpcs)
    check "$name: every cell once, and right" counted_once "$tmp/$name" "$tmp/peers.cells"
    echo "$name: $cells cells in $seconds s, $messages messages to slurmctld"
}

by_sbatch() {
    local i
    for ((i = 0; i < cells; i++)); do
        sbatch --quiet --ntasks=2 --output=/dev/null --wrap="srun --mpi=pmix $build/libexec/pkb-agent --run $tmp/sbatch --shard $i --attempt 1"
    done
}

by_srun() {
    seq 0 $((cells - 1)) | xargs -P 16 -I '{}' srun --ntasks=2 --mpi=pmix "$build/libexec/pkb-agent" --run "$tmp/srun" --shard '{}' --attempt 1
}

by_pkb() {
    "$pkb" run --quiet --launcher slurm --slurm exclusive=no --build-cache "$tmp/cache" --run "$tmp/pkb" "$tmp/peers.lua"
}

peers() {
    local cells=60 seconds messages own_seconds own_messages name
    for name in $(seq $cells); do
        candidate "$tmp/peers/1/02_allgather/$name.c" 0
        echo "1 02_allgather $name 2 tiny correct"
    done | LC_ALL=C sort >"$tmp/peers.cells"
    cat >"$tmp/peers.lua" <<LUA
return sweep {
    candidates = "peers", problems = { 2 }, samples = $cells, gpus = { 2 }, shapes = { "tiny" }, trials = 2,
    iterations = { warmup = 2, timed = 5 }, limits = { seconds = 60, memory_mb = 4096 },
}
LUA
    prepared sbatch
    prepared srun
    measured pkb 2 by_pkb # and the job that merges
    own_seconds=$seconds own_messages=$messages
    for name in sbatch srun; do
        measured $name $cells by_$name
        ratio "messages_$name" "$(quotient "$own_messages" "$messages")" "messages to slurmctld for $cells cells, $own_messages / by one $name per cell, $messages"
        ratio "time_$name" "$(quotient "$own_seconds" "$seconds")" "seconds for $cells cells, $own_seconds / by one $name per cell, $seconds"
    done
}

# ---- all of it ---------------------------------------------------------------------------------------------------------

start_cluster --nodes 4
[ $# -gt 0 ] || set -- submit launch busy peers
for part; do
    case $part in
    submit) submit_many ;;
    launch | busy | peers) "$part" ;;
    *) die "there is no part '$part': submit, launch, busy, peers" ;;
    esac
done
