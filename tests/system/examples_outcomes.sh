#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs sweeps/quick.lua and holds every example candidate to examples/candidates/expected.txt, in every setting.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
store=$top/examples/candidates

# The page for authors shows a whole example: it must be the file that is tested here.
sed -n '/^```c$/,/^```$/p' "$top/docs/candidates.md" | sed '1d;$d' >"$tmp/shown.c"
check "the example in docs/candidates.md is direct/01_allreduce/1.c" diff "$tmp/shown.c" "$store/direct/01_allreduce/1.c"

# The time limit is for machines that do nothing else; here it must hold on busy ones and with sanitizers.
sed "s,\"../examples/candidates\",\"$store\",; s/seconds = [^,]*,/seconds = 10,/" "$top/sweeps/quick.lua" >"$tmp/quick.lua"
check "the sweep could be adapted" bash -c "grep -q 'seconds = 10,' $tmp/quick.lua && grep -q '$store' $tmp/quick.lua"

# A build with sanitizers sets no limits on memory.
no_memory=out_of_memory
if grep -q '#define PKB_SANITIZERS 1' "$build/config.h"; then
    no_memory=runtime_error
fi

code=0
export PKB_DEVICE=host
timeout -k 5 600 "$pkb" run "$tmp/quick.lua" --run "$tmp/run" --quiet </dev/null || code=$?
check "pkb run succeeds" test "$code" -eq 0

# "ok NAME" or "bad NAME: WHY" for each record of a cell, and for each candidate without one.
judge() {
    awk -v store="$store" -v kind=c -v no_memory="$no_memory" -f "$top/tests/support/outcomes.awk" "$store/expected.txt" "$tmp"/run/records/*.jsonl
}

while read -r word name; do
    if [ "$word" = ok ]; then
        ok "$name"
    else
        not_ok "${name%%:*}" "${name#*: }"
    fi
done < <(judge)
check "there are two records for each of 54 candidates" test $((passed + failed)) -eq 111
finish
