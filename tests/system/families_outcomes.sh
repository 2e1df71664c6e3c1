#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs sweeps/families.lua and holds the example candidates of its problems to examples/candidates/expected.txt, in every setting; every
# family must be among them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/outcomes.sh"

outcomes families 125

# The families of which no candidate of the model direct was correct.
missing() {
    awk 'NR == FNR && /^[a-z]/ { family = $1; left[family] }
        NR == FNR && /^  [0-9]/ { of[$1] = family }
        NR != FNR && $1 == "direct" && $NF == "correct" { delete left[of[$2]] }
        END { for (family in left) print family }' <("$pkb" problems) <(cells "$tmp/run") | sort | paste -sd ' '
}
check "all families but that of sweeps/quick.lua have a correct candidate" test "$(missing)" = collective
finish
