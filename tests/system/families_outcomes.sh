#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs sweeps/families.lua and holds the example candidates of its problems to examples/candidates/expected.txt, in every setting.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/outcomes.sh"

outcomes families 68
finish
