#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills the controller, the launcher, an agent or a runner with SIGKILL at random moments, resumes, and holds the result to that of an
# undisturbed run: no record lost, none twice, nothing left running.
#
#   run_kill.sh [KILLS]        PKB_KILL_SEED repeats the choices of an earlier run
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

kills=${1:-20}
seed=${PKB_KILL_SEED:-$$}
RANDOM=$seed
echo "# seed $seed"
victims=(controller launcher agent runner)

cat >"$tmp/kill.lua" <<EOF
return sweep {
    candidates = "$top/examples/candidates", models = models.all, problems = { 1, 2, 7 }, samples = 3, gpus = { 2 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 1, timed = 4 }, limits = { seconds = 20, memory_mb = 4096 },
    -- A candidate that hangs would make the test long.
    where = function(cell) return not (cell.model == "careless" and cell.id == 1 and cell.sample == 2) end,
}
EOF

launchers() { # children of the controller that are launchers (and no compilers)
    local p
    for p in $(children "$1"); do
        [ "$(cat "/proc/$p/comm" 2>/dev/null)" = pkb-launch-loca ] && echo "$p"
    done
}

# pick KIND: the pid of a process of that kind below controller $pid, nothing when there is none now.
pick() {
    local launcher agents runners
    launcher=$(launchers "$pid" | head -n 1)
    case $1 in
    controller) echo "$pid" ;;
    launcher) echo "$launcher" ;;
    agent)
        read -ra agents <<<"$(children "${launcher:-0}" | tr '\n' ' ')"
        [ ${#agents[@]} -eq 0 ] || echo "${agents[RANDOM % ${#agents[@]}]}"
        ;;
    runner)
        read -ra runners <<<"$(for agent in $(children "${launcher:-0}"); do children "$agent"; done | tr '\n' ' ')"
        [ ${#runners[@]} -eq 0 ] || echo "${runners[RANDOM % ${#runners[@]}]}"
        ;;
    esac
}

nap() { read -r -t "$1" <> <(:) || true; }

is_there() { [ -n "$(pick "$1")" ]; }

# Waits a random while, then kills one process of a random kind, as soon as there is one.
strike() {
    local kind=${victims[RANDOM % 4]} victim before
    nap "$(printf '0.%03d' $((RANDOM % 700)))"
    if ! { gone "$pid" || wait_for 10 is_there "$kind"; }; then
        kind=controller
    fi
    gone "$pid" && return 1
    before=$(descendants "$pid")
    victim=$(pick "$kind")
    kill -KILL "${victim:-$pid}" 2>/dev/null || return 1
    struck[$kind]=$((${struck[$kind]:-0} + 1))
    if [ "$kind" = controller ]; then
        wait "$pid" 2>/dev/null
        for victim in $before; do
            wait_for 20 gone "$victim" || not_ok "process $victim survives the controller" "$(cat "/proc/$victim/cmdline" | tr '\0' ' ')"
        done
    fi
    return 0
}

# One run from its start to its end, disturbed while kills are left.
disturbed_run() { # run directory, option...
    local dir=$1 round code
    shift
    start "$pkb" run --quiet "$@" --run "$dir" "$tmp/kill.lua"
    for ((round = 0; round < 100; round++)); do
        while [ "$done_kills" -lt "$kills" ] && ! gone "$pid"; do
            strike && done_kills=$((done_kills + 1))
        done
        wait "$pid" 2>/dev/null
        code=$?
        [ "$code" -ne 0 ] || return 0
        if [ ! -e "$dir/run.json" ]; then # killed before there was a run
            rm -rf "$dir"
            start "$pkb" run --quiet "$@" --run "$dir" "$tmp/kill.lua"
        else
            start "$pkb" resume --quiet "$dir"
        fi
    done
    return 1
}

run "$pkb" run --quiet --build-cache "$tmp/cache" --run "$tmp/calm" "$tmp/kill.lua"
expect "an undisturbed run" 0 ""
cells "$tmp/calm" >"$tmp/expected"
check "it has all cells" test "$(wc -l <"$tmp/expected")" -eq 26

declare -A struck=()
done_kills=0
runs=0
while [ "$done_kills" -lt "$kills" ]; do
    runs=$((runs + 1))
    before=$done_kills
    dir=$tmp/run$runs
    check_run="run $runs"
    cache=(--build-cache "$tmp/cache")
    [ $((runs % 3)) -ne 2 ] || cache=() # compilers may be hit too
    if disturbed_run "$dir" "${cache[@]}"; then
        ok "$check_run ended, after $((done_kills - before)) kills"
    else
        not_ok "$check_run does not end" "$(cat "$tmp/background")"
        break
    fi
    check "$check_run: same outcomes, every cell once" diff "$tmp/expected" <(cells "$dir")
done
for kind in "${victims[@]}"; do
    echo "# $kind: ${struck[$kind]:-0} killed"
done
check "the merged outcomes are the same" diff <("$pkb" status "$tmp/calm" | grep outcomes) <("$pkb" status "$tmp/run$runs" | grep outcomes)
finish
