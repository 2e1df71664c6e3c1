# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the cluster tests: a Slurm of their own on this machine. To be sourced like tests/system/lib.sh, which it sources. Skips
# (exit status 77, the reason in the last line) where there can be none.

skip() { echo "$1"; exit 77; }

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${PKB_BUILD:-$PWD}
[ "$(id -u)" -eq 0 ] || skip "cluster tests need root: they make network namespaces"
for program in slurmctld slurmd srun munged ip nsenter setpriv; do
    command -v "$program" >/dev/null || skip "$program is missing (scripts/install-packages cluster)"
done
[ -e "$build/plugins/launcher_slurm.so" ] || skip "this build has no Slurm plugin (libslurm-dev was missing)"
case $build/ in
/tmp/* | /dev/shm/*) skip "the build tree is below /tmp, which nodes do not share" ;;
esac

# One cluster at a time on this machine: daemons are found by the numbers of their jobs. What starts daemons closes the lock.
exec 9>/run/pkb-cluster-test.lock
flock -w 1800 9 || { echo "other cluster tests have been running for half an hour"; exit 1; }
ip link add pkbprobe type veth peer name pkbprobe2 2>/dev/null || skip "this machine gives no network devices to make"
ip link delete pkbprobe

export PKB_MINISLURM=/run/pkb-cluster-test.$$
unset PKB_SITE
mini() { "$top/scripts/minislurm" "$@" 9>&-; }

# The system tests' folder, where all nodes see it.
mkdir -p "$PKB_MINISLURM/shared"
TMPDIR=$PKB_MINISLURM/shared
export TMPDIR
. "$top/tests/system/lib.sh"
unset TMPDIR
export PKB_CANDIDATE_WRITES=$tmp # some wait at gates there
end_cluster() {
    clean_up
    mini stop >/dev/null 2>&1 || true
    rm -rf "$PKB_MINISLURM"
}
trap end_cluster EXIT

# start_cluster ARGUMENT...: of minislurm start. Its log is shown when it fails.
start_cluster() {
    if ! mini start "$@" >"$tmp/start" 2>&1; then
        cat "$tmp/start"
        exit 1
    fi
    eval "$(mini env)"
    ok "a cluster is up"
}

queue_empty() { [ -z "$(squeue -h 2>&1)" ]; }

# job_of RUN N [KIND]: the number of the N-th job (of that kind: build, evaluate, merge) that was submitted for a run, from 1.
job_of() {
    awk -v n="$2" -v kind="${3:-}" -F '[:,]' '
        { value = $2; gsub(/[ "]/, "", value) }
        /"job":/ { job = value }
        /"kind":/ && (kind == "" || value == kind) && ++i == n { print job }' "$1/jobs.json"
}

jobs_of() { grep -c '"kind": "evaluate"' "$1/jobs.json"; }

# recorded RUN N: at least so many cells have a record.
recorded() { [ "$(cat "$1"/records/*.jsonl 2>/dev/null | grep -c '"kind":"cell"')" -ge "$2" ]; }

no_agents() { [ -z "$(agents "$1")" ]; }

# agents RUN: pids of its agents (not of srun, whose arguments name them too), in the order of their ranks.
agents() { pgrep -x pkb-agent | while read -r p; do grep -qzxF -- "$1" "/proc/$p/cmdline" 2>/dev/null && echo "$p"; done; }

# submit RUN SWEEP OPTION...: a run by jobs, not waited for.
submit() {
    local dir=$1 sweep=$2
    shift 2
    run "$pkb" run --quiet --launcher slurm --slurm exclusive=no "$@" --build-cache "$tmp/cache" --run "$dir" "$sweep"
}

# ---- runs that wait at a gate while something is done to them ---------------------------------------------------------

runs=$tmp # where they are made

# sweep NAME SAMPLES GATED [HOST]: NAME.lua, so many samples of one candidate on 2 ranks. Sample GATED waits in its setup until `open_gate
# NAME`; HOST is a node on which agents die. What is to come of it: NAME.cells.
sweep() {
    local i gate
    mkdir -p "$tmp/store/$1/02_allgather"
    for ((i = 1; i <= $2; i++)); do
        gate=/
        [ "$i" -ne "$3" ] || gate=$tmp/$1.gate
        sed "s#TEST_GATE#$gate#g; s#TEST_SAMPLE#$i#; s#TEST_HOST#${4:-}#; s#TEST_VICTIM#$tmp/$1.victim#g" "$top/tests/cluster/memory_allgather.c" >"$tmp/store/$1/02_allgather/$i.c"
        echo "$1 02_allgather $i 2 tiny correct"
    done | LC_ALL=C sort >"$tmp/$1.cells"
    cat >"$tmp/$1.lua" <<LUA
return sweep {
    candidates = "store", models = { "$1" }, problems = { 2 }, samples = $2, gpus = { 2 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 2, timed = 5 }, limits = { seconds = 300, memory_mb = 4096 },
}
LUA
}

# begin NAME OPTION...: a run of three cells, held at the second; not waited for.
begin() {
    sweep "$1" 3 2
    submit "$runs/$1" "$tmp/$1.lua" "${@:2}"
    [ "$code" -eq 0 ] || not_ok "$1: it is submitted" "$err"
}

# held NAME: waits until the run is at its gate. $dir, $job (of the evaluation), $node.
held() {
    dir=$runs/$1
    job=$(job_of "$dir" 1 evaluate)
    wait_for 60 test -e "$tmp/$1.gate.here" || not_ok "$1: it begins" "$(squeue; cat "$dir"/logs/slurm-* 2>/dev/null)"
    node=$(squeue -h -j "$job" -t R -o %N)
}

restarted() { grep -q 'restart 1' "$runs/$1"/logs/slurm-*_*.log; }

# begins_again NAME: Slurm starts the task once more, on a busy machine after a minute.
begins_again() {
    if wait_for 150 restarted "$1"; then
        ok "$1: the task begins once more"
    else
        not_ok "$1: the task begins once more" "$(cat "$runs/$1"/logs/slurm-*_*.log; tail -n 8 "$PKB_MINISLURM/jobcomp.log"
            squeue; sinfo -N; tail -n 20 "$PKB_MINISLURM/log/slurmctld.log")"
    fi
}
open_gate() { touch "$tmp/$1.gate"; }

# over RUN: Slurm says that no job of the run waits or runs.
over() {
    local status
    status=$("$pkb" status "$1")
    [[ $status == *"running    no"* && $status != *"is not known"* ]]
}

# counted_once RUN CELLS: every cell has one final record, the right one, and the merged results count it once.
counted_once() {
    diff "$2" <(cells "$1") && "$pkb" merge --whole "$1" && diff <(wc -l <"$2") <("$pkb" report --csv=cells "$1" | tail -n +2 | wc -l)
}

# complete NAME [SECONDS]: the run ends by itself, whole.
complete() {
    local run=$runs/$1
    wait_for "${2:-60}" over "$run" || not_ok "$1: it does not end" "$(squeue; cat "$run"/logs/slurm-*)"
    check "$1: every cell once, and right" counted_once "$run" "$tmp/$1.cells"
    check "$1: no agent is left" wait_for 20 no_agents "$run"
}

# incomplete NAME: it has ended early; resume does the rest.
incomplete() {
    local run=$runs/$1
    wait_for 60 over "$run" || not_ok "$1: it does not end" "$(squeue; cat "$run"/logs/slurm-*)"
    check "$1: no agent is left" wait_for 20 no_agents "$run"
    check "$1: it is not complete" test "$(cells "$run" | wc -l)" -lt "$(wc -l <"$tmp/$1.cells")"
    open_gate "$1"
    run "$pkb" resume --quiet --wait "$run"
    expect "$1: resume" 0 ""
    check "$1: every cell once, and right" counted_once "$run" "$tmp/$1.cells"
}
