#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_merge: what pkb's merge does, as a short program with json and sqlite3 would do it.

    merge_naive.py RUN merge     reads RUN/cells.txt and RUN/records/*.jsonl, writes RUN/naive.db
    merge_naive.py RUN report    prints pass@k and fast1@k of every model from RUN/naive.db
"""
import json
import math
import os
import sqlite3
import sys

TIMES = ("iterations", "mean", "median", "min", "max", "std")


def times(value):
    return [value[name] for name in TIMES] if value else [None] * len(TIMES)


def main(run):
    cells = {}
    with open(os.path.join(run, "cells.txt"), encoding="utf-8") as text:
        for line in text:
            digest, model, problem, world, sample = line.split()
            cells[digest] = [model, problem, int(world), int(sample), None, 0, 0]
    path = os.path.join(run, "naive.db")
    if os.path.exists(path):
        os.unlink(path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    db.execute("CREATE TABLE attempts (id INTEGER PRIMARY KEY, cell, file, line, outcome, duplicate, rank, nodes, detail, started,"
               " speedup, b1, b2, b3, b4, b5, b6, t1, t2, t3, t4, t5, t6)")
    db.execute("CREATE TABLE cells (digest, model, problem, world, sample, result, records, infra_errors)")
    db.execute("CREATE TABLE problems_found (file, line, reason)")
    insert = "INSERT INTO attempts VALUES (" + ",".join("?" * 23) + ")"
    row = 0
    folder = os.path.join(run, "records")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = json.loads(line)
                    cell = cells[record["cell"]]
                except (ValueError, KeyError) as problem:
                    db.execute("INSERT INTO problems_found VALUES (?,?,?)", (name, number, str(problem)))
                    continue
                row += 1
                final = record["outcome"] not in ("infra_error", "not_run")
                duplicate = final and cell[4] is not None
                if final and not duplicate:
                    cell[4] = row
                cell[5] += 1
                cell[6] += record["outcome"] == "infra_error"
                db.execute(insert, [row, record["cell"], name, number, record["outcome"], duplicate, record["rank"], record["nodes"],
                                    record["detail"], record["started"], record["speedup"]] + times(record["baseline"]) +
                           times(record["time"]))
    db.executemany("INSERT INTO cells VALUES (?,?,?,?,?,?,?,?)", ([digest] + cell for digest, cell in cells.items()))
    db.execute("COMMIT")
    db.close()


def estimate(n, c, k):
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def report(run):
    db = sqlite3.connect(os.path.join(run, "naive.db"))
    tasks = {}
    for model, problem, world, outcome, speedup in db.execute(
            "SELECT c.model, c.problem, c.world, a.outcome, a.speedup FROM cells c LEFT JOIN attempts a ON a.id = c.result"):
        task = tasks.setdefault((model, problem, world), [0, 0, 0])
        if outcome is None:
            continue
        task[0] += 1
        task[1] += outcome == "correct"
        task[2] += outcome == "correct" and speedup > 1
    sums = {}
    for (model, _, _), (n, c, fast) in tasks.items():
        for k in range(1, 11):
            if n >= k:
                at = sums.setdefault((model, k), [0, 0, 0])
                at[0] += 1
                at[1] += estimate(n, c, k)
                at[2] += estimate(n, fast, k)
    for (model, k), (n, good, fast) in sorted(sums.items()):
        if k in (1, 10):
            print(f"  {model}: pass@{k} {good / n:.4f}, fast1@{k} {fast / n:.4f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1]) if sys.argv[2] == "merge" else report(sys.argv[1])
