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

# job_of RUN N: the number of the N-th job that was submitted for a run, from 1.
job_of() { awk -v n="$2" -F '[:,]' '/"job":/ && ++i == n { gsub(/ /, "", $2); print $2 }' "$1/jobs.json"; }

jobs_of() { grep -c '"kind": "evaluate"' "$1/jobs.json"; }

# recorded RUN N: at least so many cells have a record.
recorded() { [ "$(cat "$1"/records/*.jsonl 2>/dev/null | grep -c '"kind":"cell"')" -ge "$2" ]; }

no_agents() { ! pgrep -f -- "--run $1 " >/dev/null; }

# agents RUN: pids of its agents (not of srun, whose arguments name them too).
agents() { pgrep -x pkb-agent | while read -r p; do grep -qzxF -- "$1" "/proc/$p/cmdline" && echo "$p"; done; }

# submit RUN SWEEP OPTION...: a run by jobs, not waited for.
submit() {
    local dir=$1 sweep=$2
    shift 2
    run "$pkb" run --quiet --launcher slurm --slurm exclusive=no "$@" --build-cache "$tmp/cache" --run "$dir" "$sweep"
}
