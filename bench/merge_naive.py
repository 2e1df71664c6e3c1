#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_merge: what pkb's merge does, as a short program with json and sqlite3 would do it.

    merge_naive.py RUN      reads RUN/cells.txt and RUN/records/*.jsonl, writes RUN/naive.db
"""
import json
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


if __name__ == "__main__":
    main(sys.argv[1])
