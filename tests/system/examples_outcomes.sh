#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs sweeps/quick.lua and holds every example candidate of its problems to examples/candidates/expected.txt, in every setting.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/outcomes.sh"

# The page for authors shows a whole example: it must be the file that is tested here.
sed -n '/^```c$/,/^```$/p' "$top/docs/candidates.md" | sed '1d;$d' >"$tmp/shown.c"
check "the example in docs/candidates.md is direct/01_allreduce/1.c" diff "$tmp/shown.c" "$store/direct/01_allreduce/1.c"

outcomes quick 108 # two for each of 54 candidates
finish
