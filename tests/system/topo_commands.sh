#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pkb topo on shipped files, files of one's own and captured machines; pkb roofline and pkb census on a run.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Unpacks tests/topology/NAME.tree.
capture() {
    local path text
    grep -v '^#' "$top/tests/topology/$1.tree" | while IFS=$'\t' read -r path text; do
        mkdir -p "$tmp/$1/${path%/*}"
        printf '%s\n' "$text" >"$tmp/$1/$path"
    done
}

# ---- files ---------------------------------------------------------------------------------------------------------------

run "$pkb" topo
expect "list" 0 "h100-sxm-8"
says "and this machine" "host"
run "$pkb" topo list --json
expect "list as JSON" 0 '"name": "gb200-nvl72"'
for name in $("$pkb" topo list | cut -d ' ' -f 1); do
    run "$pkb" topo show "$name"
    expect "show $name" 0 "gpus_per_node:"
    cp "$tmp/stdout" "$tmp/$name.yaml"
    run "$pkb" topo validate "$tmp/$name.yaml"
    expect "what show prints of $name is valid" 0 "$name.yaml: valid"
done
run "$pkb" topo show h100-sxm-8 --json
expect "show as JSON" 0 '"bandwidth_gb_s": 450'
run "$pkb" topo show h100-smx-8
expect "a name that is misspelled" 2 "did you mean 'h100-sxm-8'?"
run "$pkb" topo lst
expect "an action that is misspelled" 2 "did you mean 'list'?"
run "$pkb" topo show
expect "show without a name" 2 "needs the name of a topology"
run "$pkb" topo list --root /
expect "an option of discover" 2 "belong to 'discover'"
sed 's/bandwidth_gb_s: 450/bandwith_gb_s: 450/; s/^name: .*/name: own/' "$top/topology/h100-sxm-8.yaml" >"$tmp/own.yaml"
run "$pkb" topo validate "$tmp/own.yaml"
expect "an unknown key" 2 "own.yaml: links: item 1: line"
says "with a suggestion" "did you mean 'bandwidth_gb_s'?"
run "$pkb" topo validate "$tmp/nothing.yaml"
expect "a file that is missing" 2 "nothing.yaml"
run "$pkb" topo validate "$tmp"
expect "a folder" 2 "$tmp"
run "$pkb" topo validate /dev/zero
expect "a device without end" 2 "/dev/zero"

# ---- discovery -----------------------------------------------------------------------------------------------------------

capture dgx-h100
run "$pkb" topo discover --root "$tmp/dgx-h100" --name found
expect "discover a captured machine" 0 "10de:2330"
says "its network" "rails: 8"
cp "$tmp/stdout" "$tmp/found.yaml"
run "$pkb" topo validate "$tmp/found.yaml"
expect "what was discovered is valid" 0 "found, 8 GPUs per node, 2 link classes"
run "$pkb" topo discover --root "$tmp/dgx-h100" --json
expect "discover as JSON" 0 '"rail_gbit_s": 400'
capture cpu-only
run "$pkb" topo discover --root "$tmp/cpu-only"
expect "a captured machine without GPUs" 2 "there are no GPUs"
check "is described all the same" grep -q '^# .*8 CPUs, 4 cores, 2 packages, 2 NUMA nodes' "$tmp/stdout"
run "$pkb" topo discover --root "$tmp/nothing"
expect "a root that is none" 3 "lists no CPUs"
run "$pkb" topo discover --hwloc-xml "$tmp/nothing.xml"
expect "a topology of hwloc that is missing" 3 "hwloc"

# ---- a run ---------------------------------------------------------------------------------------------------------------

cat >"$tmp/small.lua" <<EOT
return sweep {
    candidates = "$top/examples/candidates", models = { "direct" }, problems = { 1 }, samples = { 1 }, gpus = { 2 }, shapes = { "tiny" },
    trials = 1, iterations = { warmup = 1, timed = 4 }, limits = { seconds = 20, memory_mb = 4096 },
}
EOT
run "$pkb" run "$tmp/small.lua" --run "$tmp/run"
expect "a run" 0 ""
run "$pkb" roofline "$tmp/run" --topology host
expect "its roofline" 0 "Rooflines on host (measured figures)"
says "the problem" "01_allreduce"
run "$pkb" roofline "$tmp/run" --topology h100-sxm-8 --json
expect "on another machine, as JSON" 0 '"verdict": "' # which one depends on how fast this machine is
run "$pkb" roofline "$tmp/run"
expect "without a topology" 2 "the run does not know its machine; --topology names it"
run "$pkb" report "$tmp/run"
check "a report without one has no utilisation" bash -c '! grep -q "Closeness to the hardware" "$1"' sh "$tmp/stdout"
run "$pkb" roofline "$tmp" --topology host
expect "without a run" 2 "no run directory"
run "$pkb" census "$tmp/run"
expect "its census" 0 "direct"
run "$pkb" census "$tmp/run" --candidates
expect "per candidate" 0 "peer, host_only"
run "$pkb" census "$tmp/run" --json
expect "as JSON" 0 '"word": "peers"'
run "$pkb" run "$tmp/small.lua" --run "$tmp/no" --topology h100-smx-8
expect "a run on a machine that is not known" 2 "did you mean 'h100-sxm-8'?"
check "is not made" test ! -e "$tmp/no"
run "$pkb" run "$tmp/small.lua" --run "$tmp/kept" --topology "$tmp/found.yaml"
expect "a run that keeps its machine" 0 ""
rm "$tmp/found.yaml"
run "$pkb" roofline "$tmp/kept"
expect "its roofline, without the file" 0 "Rooflines on found (datasheet figures)"
run "$pkb" report "$tmp/kept"
expect "its report" 0 "Bounds of found (datasheet figures"
run "$pkb" report "$tmp/kept" --json
expect "as JSON" 0 '"name": "found"'
run "$pkb" report "$tmp/kept" --topology a100-sxm-8
expect "on another machine" 0 "Bounds of a100-sxm-8 (datasheet figures"
sed -i 's/"memory_gb": 80.0/"memory_gb": 90.0/' "$tmp/kept/run.json"
run "$pkb" roofline "$tmp/kept"
expect "a description that was changed" 2 "run.json: topology: digest: the content was changed"

rm "$tmp"/run/candidates/*
run "$pkb" census "$tmp/run"
expect "a source that is gone" 3 "candidates/"

finish
