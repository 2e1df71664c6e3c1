# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_plan: the same expansion, written the obvious way.

    plan_naive.py SPEC.json OUT

Nested loops over everything that SPEC lists, a SHA-256 of every candidate, setting and cell, one JSON line per cell in OUT.
Prints the number of cells.
"""
import hashlib
import json
import os
import sys


def sha(data):
    return hashlib.sha256(data).hexdigest()


def candidates(spec):
    """{problem: [(model, sample, digest)]} of the store."""
    found = {}
    for problem in spec["problems"]:
        found[problem] = []
        for model in spec["models"]:
            for sample in spec["samples"]:
                path = os.path.join(spec["store"], model, problem, f"{sample}.c")
                if os.path.exists(path):
                    with open(path, "rb") as f:
                        found[problem].append((model, sample, sha(f.read())))
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        spec = json.load(f)
    found = candidates(spec)
    cells = 0
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for setting in spec["settings"]:
            digest = sha(json.dumps(setting, sort_keys=True, separators=(",", ":")).encode())
            for model, sample, source in found[setting["problem"]]:
                cell = {
                    "cell": sha(f"pkb cell 1\n{digest}\n{source}\n".encode()),
                    "problem": setting["problem"],
                    "world": setting["world"],
                    "dtype": setting["dtype"],
                    "shape": setting["shape"],
                    "model": model,
                    "sample": sample,
                }
                out.write(json.dumps(cell) + "\n")
                cells += 1
    print(cells)


if __name__ == "__main__":
    main()
