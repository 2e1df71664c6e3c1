#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer of bench_merge: outcomes per model straight from the record files, the first final record of a cell counting.

    merge_frames.py RUN pandas|duckdb
"""
import glob
import os
import sys

COLUMNS = ("kind", "cell", "model", "sample", "outcome", "speedup")


def with_pandas(files):
    import io
    import json
    import pandas

    frames = []
    for number, name in enumerate(files):
        rows = []
        with io.open(name, "rb") as lines:
            for line in lines:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                rows.append([record.get(column) for column in COLUMNS])
        frames.append(pandas.DataFrame(rows, columns=COLUMNS))
    all_rows = pandas.concat(frames)
    final = all_rows[(all_rows.kind == "cell") & ~all_rows.outcome.isin(["infra_error", "not_run"])]
    first = final.drop_duplicates(["cell", "model", "sample"])
    print(first.groupby(["model", "outcome"]).size())


def with_duckdb(files):
    import duckdb

    print(duckdb.sql(f"""
        SELECT model, outcome, count(*) FROM (
            SELECT model, first(outcome ORDER BY filename) AS outcome FROM read_json({files!r}, format = 'newline_delimited',
                ignore_errors = true, filename = true, columns = {{kind: 'VARCHAR', cell: 'VARCHAR', model: 'VARCHAR',
                sample: 'INTEGER', outcome: 'VARCHAR', speedup: 'DOUBLE'}})
            WHERE kind = 'cell' AND outcome NOT IN ('infra_error', 'not_run') GROUP BY cell, model, sample)
        GROUP BY 1, 2 ORDER BY 1, 2"""))


if __name__ == "__main__":
    paths = sorted(glob.glob(os.path.join(sys.argv[1], "records", "*.jsonl")))
    with_pandas(paths) if sys.argv[2] == "pandas" else with_duckdb(paths)
