# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Runs a sweep that comes with pkb and holds its candidates to examples/candidates/expected.txt. To be sourced behind lib.sh.

store=$top/examples/candidates
export PKB_DEVICE=host

# A build with sanitizers sets no limits on memory.
no_memory=out_of_memory
if grep -q '#define PKB_SANITIZERS 1' "$build/config.h"; then
    no_memory=runtime_error
fi

# "ok NAME" or "bad NAME: WHY" for each record of a cell, and for each candidate without one.
judge() {
    awk -v store="$store" -v kind=c -v no_memory="$no_memory" -f "$top/tests/support/outcomes.awk" "$store/expected.txt" "$tmp"/run/records/*.jsonl
}

# outcomes NAME CELLS: runs sweeps/NAME.lua, which has so many cells. Its time limit is for machines that do nothing else; here it must hold
# on busy ones and with sanitizers.
outcomes() {
    local code=0 word name
    sed "s,\"../examples/candidates\",\"$store\",; s/seconds = [^,]*,/seconds = 10,/" "$top/sweeps/$1.lua" >"$tmp/$1.lua"
    check "the sweep could be adapted" bash -c "grep -q 'seconds = 10,' $tmp/$1.lua && grep -q '$store' $tmp/$1.lua"
    timeout -k 5 600 "$pkb" run "$tmp/$1.lua" --run "$tmp/run" --quiet </dev/null || code=$?
    check "pkb run succeeds" test "$code" -eq 0
    while read -r word name; do
        if [ "$word" = ok ]; then
            ok "$name"
        else
            not_ok "${name%%:*}" "${name#*: }"
        fi
    done < <(judge)
    check "there are $2 records" test "$(cells "$tmp/run" | wc -l)" -eq "$2"
}
