#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sweep by jobs has the outcomes that it has on this machine: several world sizes, worlds over several nodes, arrays beyond
# MaxArraySize, a throttle, settings from a site file.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
start_cluster --nodes 4 --set MaxArraySize=3

cat >"$tmp/sweep.lua" <<LUA
return sweep {
    name = "sweep", candidates = "$top/examples/candidates", models = { "careless", "direct" }, samples = { 1, 3 },
    problems = { "02_allgather", "08_alltoall", "18_tp_rms_norm" }, gpus = { 2, 4, 8 }, shapes = { "tiny" },
    where = function(cell) return cell.world < 8 or cell.model == "direct" and cell.id == 2 end,
    trials = 2, iterations = { warmup = 2, timed = 5 }, limits = { seconds = 20, memory_mb = 4096 },
    slurm = { partition = "cpu", throttle = 4, exclusive = false },
}
LUA
run "$pkb" run --quiet --shard-seconds 0.001 --build-cache "$tmp/cache" --run "$tmp/local" "$tmp/sweep.lua"
expect "the sweep on this machine" 0 ""

printf 'partition: gpu\nprolog:\n  - export PKB_TEST_PROLOG=1\n  - echo "prolog on $(hostname)"\n' >"$tmp/site.yaml"
run "$pkb" run --quiet --launcher slurm --wait --site "$tmp/site.yaml" --shard-seconds 0.001 --build-cache "$tmp/cache" \
    --run "$tmp/jobs" "$tmp/sweep.lua"
expect "the sweep by jobs" 0 "Outcomes"
cells "$tmp/local" >"$tmp/expected"
check "there are cells" test "$(wc -l <"$tmp/expected")" -gt 20
check "same outcomes, every cell once" diff "$tmp/expected" <(cells "$tmp/jobs")
check "more arrays than world sizes, as indexes are limited" test "$(jobs_of "$tmp/jobs")" -gt 3
check "the throttle is shared by the arrays of a world size" grep -q -- '--array=.*%[12]$' "$tmp"/jobs/jobs/000-evaluate.sh
check "the site outweighs the sweep" grep -q -- '--partition=gpu$' "$tmp"/jobs/jobs/000-evaluate.sh
check "the prolog has run on a node" grep -q 'prolog on n[1-4]' "$tmp"/jobs/logs/slurm-*_*.log
check "the merge job has made tables' data" test -s "$tmp/jobs/results.db"
run "$pkb" status "$tmp/jobs"
expect "status knows that all is over" 0 "running    no"
run "$pkb" resume --quiet "$tmp/jobs"
expect "there is nothing to resume" 0 ""
check "no further job is submitted" wait_for 20 queue_empty

# Candidates compiled by jobs, before the evaluation: nothing is compiled here, and nothing a second time.
run "$pkb" run --launcher slurm --wait --slurm partition=gpu --slurm cpu_partition=cpu --slurm build_cpus=2 --slurm exclusive=no \
    --shard-seconds 0.001 --run "$tmp/built" "$tmp/sweep.lua"
expect "a sweep that is built by jobs" 0 "tasks compile"
check "nothing is compiled here" test -z "$(grep -F 'candidates: ' "$tmp/stderr")"
check "the same outcomes" diff "$tmp/expected" <(cells "$tmp/built")
check "the array that builds is not longer than arrays may be" grep -q -- '--array=0-2$' "$tmp/built/jobs/000-build.sh"
check "the evaluation waits for it" grep -q -- "--dependency=afterany:$(job_of "$tmp/built" 1)\$" "$tmp/built/jobs/001-evaluate.sh"
check "every source is compiled once" test "$(ls "$tmp/built/builds" | wc -l)" = "$(ls "$tmp/built/candidates" | wc -l)"
run "$pkb" resume --launcher slurm "$tmp/built"
expect "nothing is built where nothing is missing" 0 ""
check "no further job" test "$(grep -c '"kind": "build"' "$tmp/built/jobs.json")" = 1

# Candidates for worlds over nodes: messages of the reference by TCP, no shared memory.
for name in files memory; do
    mkdir -p "$tmp/store/$name/02_allgather" "$tmp/blocks"
    sed "s#TEST_FOLDER#$tmp/blocks#; s#TEST_GATE#/#; s#TEST_HOST##" "$top/tests/cluster/${name}_allgather.c" >"$tmp/store/$name/02_allgather/1.c"
done

# The quick sweep, cut, on 2, 8 and 16 ranks, which are 2 nodes of 8.
sed -e "s#\.\./examples/candidates#$top/examples/candidates#; s#samples *= 3#samples = 1#; s#worlds { 1, 2, 4, 8 } or { 2, 4 }#{} or { 2, 8 }#" \
    -e 's#return (cell.shape == "tiny") == (cell.world == 2)#return cell.shape == "tiny" and (cell.world == 2 or cell.id < 3)#' \
    "$top/sweeps/quick.lua" >"$tmp/quick.lua"
cat >"$tmp/large.lua" <<LUA
return sweep {
    name = "large", candidates = "store", models = { "files" }, problems = { 2 }, samples = { 1 }, gpus = { 16 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 2, timed = 5 }, limits = { seconds = 30, memory_mb = 4096 },
}
LUA
for name in quick large; do
    run "$pkb" run --quiet --build-cache "$tmp/cache" --run "$tmp/local-$name" "$tmp/$name.lua"
    expect "$name: on this machine" 0 ""
    run "$pkb" run --quiet --launcher slurm --wait --slurm exclusive=no --build-cache "$tmp/cache" --run "$tmp/$name" "$tmp/$name.lua"
    expect "$name: by jobs" 0 ""
    check "$name: the same outcomes" diff <(cells "$tmp/local-$name") <(cells "$tmp/$name")
done
check "quick: cells of 2 and of 8 ranks" test "$(cells "$tmp/quick" | awk '{ n[$4]++ } END { print n[2], n[8] }')" = "18 6"
check "large: 16 ranks on two nodes" grep -q '"world":16,"nodes":2,.*"outcome":"correct"' "$tmp"/large/records/shard-000000.001.jsonl

cat >"$tmp/nodes.lua" <<LUA
return sweep {
    name = "nodes", candidates = "store", problems = { 2 }, samples = { 1 }, gpus = { 2, 4, 8 }, shapes = { "tiny" },
    trials = 2, iterations = { warmup = 2, timed = 5 }, limits = { seconds = 30, memory_mb = 4096 },
}
LUA
run "$pkb" run --quiet --launcher slurm --wait --slurm ranks_per_node=2 --slurm exclusive=no --build-cache "$tmp/cache" \
    --run "$tmp/nodes" "$tmp/nodes.lua"
expect "a sweep over several nodes" 0 ""
check "outcomes on 1, 2 and 4 nodes" diff - <(cells "$tmp/nodes") <<'END'
files 02_allgather 1 2 tiny correct
files 02_allgather 1 4 tiny correct
files 02_allgather 1 8 tiny correct
memory 02_allgather 1 2 tiny correct
memory 02_allgather 1 4 tiny runtime_error
memory 02_allgather 1 8 tiny runtime_error
END
check "records name the nodes" grep -q '"nodes":4' "$tmp"/nodes/records/shard-000002.001.jsonl

# The script can be run by hand: it evaluates what is missing, here nothing.
run sbatch --wait "$tmp/nodes/jobs/000-evaluate.sh"
expect "a batch script by hand" 0 "Submitted batch job"

run srun -n 2 "$build/libexec/pkb-agent" --run "$tmp/nodes" --shard 0 --attempt 9
expect "agents without PMIx say what to do" 3 "add --mpi=pmix"
run srun --mpi=pmix -n 3 "$build/libexec/pkb-agent" --run "$tmp/nodes" --shard 0 --attempt 9
expect "a world of the wrong size is refused" 3 "this shard needs 2 ranks, PMIx says 3"
# Where there is a Slurm, it is what runs sweeps.
cat >"$tmp/default.lua" <<LUA
return sweep {
    candidates = "$top/examples/candidates", models = { "direct" }, samples = { 1 }, problems = { 2, 8, 18 }, gpus = { 1, 2 },
    shapes = { "tiny" }, trials = 1, iterations = { warmup = 1, timed = 2 }, slurm = { exclusive = false },
}
LUA
unset PKB_LAUNCHER
run "$pkb" run --wait --shard-seconds 0.001 --slurm wave=2 --build-cache "$tmp/cache" --run "$tmp/default" "$tmp/default.lua"
expect "a sweep in waves, by the default launcher" 0 "more tasks follow"
check "the last wave merges" test -s "$tmp/default/results.db"
check "a job follows each of three waves" test "$(grep -c '"kind": "merge"' "$tmp/default/jobs.json")" = 3
check "all cells are done, each once" test "$(cells "$tmp/default" | grep -c correct)" = 6
run "$pkb" status --json "$tmp/default"
expect "status tells what was allocated" 0 '"rank_hours": '
PKB_LAUNCHER=slrum run "$pkb" run --run "$tmp/none" "$tmp/default.lua"
expect "an unknown default launcher" 2 "PKB_LAUNCHER: there is no launcher 'slrum'"
export PKB_LAUNCHER=local

run "$pkb" doctor --launcher slurm --nodes 4 --dir "$tmp"
expect "doctor finds the cluster in order" 0 "8 ranks by srun on n1 n2 n3 n4"
says "clocks of the nodes" "of each other"
run "$pkb" doctor --launcher slurm --nodes 2 --dir /tmp
expect "doctor in a folder that nodes do not share" 1 "--dir"
run "$pkb" doctor --launcher slurm --slurm mpi=pmix_v99
expect "doctor without the PMIx plugin" 1 "does not name 'pmix_v99'"
run "$pkb" doctor --launcher slurm --slurm partition=nonsense --dir "$tmp"
expect "doctor with a partition that is not there" 1 "Invalid partition"
run "$pkb" doctor --launcher slurm --gpus --slurm ranks_per_node=2 --dir "$tmp"
expect "doctor with GPUs that are files only" 1 "a rank sees 0 GPUs"
run "$pkb" run --launcher slurm --slurm mpi=pmix_v99 --run "$tmp/mpi" "$tmp/nodes.lua"
expect "a PMIx plugin that is not there is told before anything is written" 3 "install Slurm's PMIx plugin"
check "nothing is written" test ! -e "$tmp/mpi"
run "$pkb" run --launcher slurm --slurm partition=nonsense --run "$tmp/refused" "$tmp/nodes.lua"
expect "a refused job is told" 3 "the job was refused: Invalid partition"
run "$pkb" run --launcher slurm --slurm gpu=gpu:a100 --run "$tmp/kind" "$tmp/nodes.lua"
expect "so is one that no node can run" 3 "GPUs on each: 2): Slurm: the job was refused: "
says "what to do" "--slurm ranks_per_node=N, gpu=NAME, partition=NAME"
run "$pkb" run --launcher slurm --slurm throtle=4 --run "$tmp/unknown" "$tmp/nodes.lua"
expect "an unknown setting is refused" 2 'did you mean "throttle"?'
check "before anything is written" test ! -e "$tmp/unknown"
finish
