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
sed "s,\"../examples/candidates\",\"$store\",; s/seconds = [0-9]*,/seconds = 10,/" "$top/sweeps/quick.lua" >"$tmp/quick.lua"
check "the sweep could be adapted" bash -c "grep -q 'seconds = 10,' $tmp/quick.lua && grep -q '$store' $tmp/quick.lua"

# A build with sanitizers sets no limits on memory.
no_memory=out_of_memory
if grep -q '#define PKB_SANITIZERS 1' "$build/config.h"; then
    no_memory=runtime_error
fi

code=0
timeout -k 5 600 "$pkb" run "$tmp/quick.lua" --run "$tmp/run" --quiet </dev/null || code=$?
check "pkb run succeeds" test "$code" -eq 0

# "ok NAME" or "bad NAME: WHY" for each record of a cell, and for each candidate without one.
judge() {
    awk -v store="$store" -v no_memory="$no_memory" '
        function member(name,  text) {
            if (!match($0, "\"" name "\": *(\"[^\"]*\"|-?[0-9]+)"))
                return ""
            text = substr($0, RSTART, RLENGTH)
            sub(/^"[^"]*": */, "", text)
            gsub(/"/, "", text)
            return text
        }
        function expected(model, problem, sample,  i) {
            for (i = 1; i <= n; i++)
                if (row_model[i] == model && (row_problem[i] == problem || row_problem[i] == "*") &&
                    (row_sample[i] == sample || row_sample[i] == "*"))
                    return row_outcome[i] == "out_of_memory" ? no_memory : row_outcome[i]
            return "a line in expected.txt"
        }
        FILENAME ~ /expected.txt$/ {
            if (!/^#/ && NF == 4) {
                n++
                row_model[n] = $1; row_problem[n] = $2; row_sample[n] = $3; row_outcome[n] = $4
            }
            next
        }
        member("kind") == "cell" {
            name = member("model") "/" member("problem") "/" member("sample")
            want = expected(member("model"), member("problem"), member("sample"))
            seen[name] = 1
            if (member("outcome") == want)
                printf "ok %s on %s ranks\n", name, member("world")
            else
                printf "bad %s on %s ranks: expected %s, got %s: %s\n", name, member("world"), want, member("outcome"), member("detail")
        }
        END {
            while (("cd " store " && ls */*/*.c") | getline file > 0) {
                sub(/\.c$/, "", file)
                if (!(file in seen))
                    printf "bad %s: no record\n", file
            }
        }' "$store/expected.txt" "$tmp"/run/records/*.jsonl
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
