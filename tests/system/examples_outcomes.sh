#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs sweeps/quick.lua and holds every example candidate to examples/candidates/expected.txt, in every setting. Run from a build tree.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
store=$top/examples/candidates
dir=$(mktemp -d "${TMPDIR:-/tmp}/pkb-examples.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# The page for authors shows a whole example: it must be the file that is tested here.
sed -n '/^```c$/,/^```$/p' "$top/docs/candidates.md" | sed '1d;$d' | diff - "$store/direct/01_allreduce/1.c" ||
    { echo "docs/candidates.md shows another direct/01_allreduce/1.c than examples/ has" >&2 && exit 1; }

if ! orchestrator/pkb run "$top/sweeps/quick.lua" --run "$dir/run" --quiet >"$dir/report" </dev/null; then
    cat "$dir/report"
    echo "pkb run failed" >&2
    exit 1
fi
cat "$dir/report"

# Each candidate of the problems of the sweep has a record of the expected outcome in every setting.
awk -v store="$store" '
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
                return row_outcome[i]
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
        cells[name]++
        total++
        if (member("outcome") != want) {
            printf "%s on %s ranks: expected %s, got %s: %s\n", name, member("world"), want, member("outcome"), member("detail")
            wrong++
        }
    }
    END {
        while (("cd " store " && ls */*/*.c") | getline file > 0) {
            sub(/\.c$/, "", file)
            files++
            if (!(file in cells)) {
                printf "%s: no record\n", file
                wrong++
            }
        }
        printf "%d records of %d candidates, %d not as expected\n", total, files, wrong
        exit wrong > 0 || total == 0 || files == 0
    }' "$store/expected.txt" "$dir"/run/records/*.jsonl
