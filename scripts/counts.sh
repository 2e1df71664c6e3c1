# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Counting tests: each function prints "PASSED FAILED" for its source, its _skips companion names what was skipped. To be sourced.

# count_trs TREE: the results that automake's test driver left. A cmocka program counts as its tests, a program that closes with
# `N passed, N failed` as those, any other as one.
count_trs() {
    local trs good=0 bad=0 one
    while IFS= read -r trs; do
        one=$(count_one_trs "$trs")
        good=$((good + ${one% *}))
        bad=$((bad + ${one#* }))
    done < <(find "$1" -name '*.trs')
    echo "$good $bad"
}

count_one_trs() {
    local log=${1%.trs}.log good bad
    read -r good bad < <(awk '
        /^\[  PASSED  \] [0-9]+ test\(s\)/ { good += $4 }
        /^\[  FAILED  \] .*: [0-9]+ test\(s\)/ { sub(/.*: /, ""); bad += $1 }
        /^[0-9]+ passed, [0-9]+ failed$/ { good += $1; bad += $3 }
        END { print good + 0, bad + 0 }' "$log")
    case $(sed -n 's/^:test-result: *//p' "$1" | head -n 1) in
    PASS | XFAIL) [ "$good" -gt 0 ] || good=1 ;;
    SKIP) good=0 bad=0 ;;
    *) [ "$bad" -gt 0 ] || bad=1 ;;
    esac
    echo "$good $bad"
}

count_trs_skips() {
    local trs
    while IFS= read -r trs; do
        say "skipped: $(basename "${trs%.trs}"): $(tail -n 2 "${trs%.trs}.log" | head -n 1)"
    done < <(find "$1" -name '*.trs' -exec grep -l '^:test-result: SKIP' {} +)
}

# count_memcheck LOG: the lines that scripts/check writes after each program under valgrind.
count_memcheck() {
    echo "$(grep -c '^memcheck-result: PASS' "$1") $(grep -c '^memcheck-result: FAIL' "$1")"
}

count_memcheck_skips() {
    local test reason
    sed -n 's/^memcheck-result: SKIP //p' "$1" | while read -r test reason; do
        say "skipped: memcheck of $(basename "$test"): $reason"
    done
}
