# SPDX-License-Identifier: Apache-2.0
"""Computes every figure of DIR/report.json again from DIR/cells.csv, by other means than pkb's, and compares."""
import csv
import html.parser
import json
import math
import os
import re
import sys
from collections import defaultdict
from fractions import Fraction
from math import comb

folder = sys.argv[1]
FINAL = {"correct", "compile_error", "load_error", "runtime_error", "crash", "out_of_memory", "deadlock", "shape_mismatch",
         "value_mismatch", "tampering"}
SEED, REPLICATES = 3, 200
checked = 0


def near(what, have, want, tolerance=1e-9):
    global checked
    checked += 1
    if have is None or want is None:
        if have is not want:
            sys.exit(f"{what}: {have} instead of {want}")
    elif abs(have - want) > tolerance * max(1, abs(want)):
        sys.exit(f"{what}: {have} instead of {want}")


def same(what, have, want):
    global checked
    checked += 1
    if have != want:
        sys.exit(f"{what}: {have!r} instead of {want!r}")


def read_cells(name):
    cells = []
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            cell = {"problem": row["problem"], "id": int(row["problem_id"]), "family": row["family"], "model": row["model"],
                    "sample": int(row["sample"]), "world": int(row["world"])}
            cell["outcome"] = row["outcome"] if row["state"] == "done" else row["state"]
            cell["known"] = row["state"] == "done"
            cell["correct"] = cell["known"] and row["outcome"] == "correct"
            cell["speedup"] = float(row["speedup"]) if row["speedup"] else None
            cell["time"] = float(row["time_ns"]) if row["time_ns"] else None
            cell["baseline"] = float(row["baseline_ns"]) if row["baseline_ns"] else None
            cells.append(cell)
    return cells


# ---- the bootstrap's draws: Philox4x32-10 and the key of runtime/random.h ------------------------------------------------------

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & M32, (a >> 32) ^ c[3] ^ k[1], a & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


key64 = mix(SEED ^ mix(0x9E3779B97F4A7C15))
KEY = (key64 & M32, key64 >> 32)


def draw(index, n):
    block = index // 2
    out = philox((block & M32, block >> 32, 0xFFFFFFFF, 0), KEY)
    word = out[2 * (index % 2)] | out[2 * (index % 2) + 1] << 32
    return (word * n) >> 64


cells = read_cells("cells.csv")
problems = sorted({c["id"] for c in cells})
models = sorted({c["model"] for c in cells}, key=lambda m: m.encode())
DRAWS = [[draw(b * len(problems) + i, len(problems)) for i in range(len(problems))] for b in range(REPLICATES)]


def bootstrap(parts, weights):
    """Percentile interval of sum(parts) / sum(weights), both by problem."""
    if sum(w > 0 for w in weights.values()) < 2:
        return None, None
    values = []
    for draws in DRAWS:
        weight = sum(weights.get(problems[i], 0) for i in draws)
        if weight > 0:
            values.append(float(sum(parts.get(problems[i], 0) for i in draws)) / weight)
    values.sort()
    cut = int(0.025 * len(values))
    return values[cut], values[-1 - cut]


def wilson(good, n):
    if n == 0:
        return None, None
    z, p = 1.959963984540054, good / n
    centre, spread = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0, (centre - spread) / (1 + z * z / n)), min(1, (centre + spread) / (1 + z * z / n))


def sign_test(a, b):
    n = a + b
    tail = sum(comb(n, i) for i in range(min(a, b) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2 ** n)))


def geomean(values):
    return math.exp(math.fsum(math.log(v) for v in values) / len(values)) if values else None


def tasks_of(rows):
    tasks = defaultdict(list)
    for c in rows:
        tasks[c["id"], c["world"]].append(c)
    return {key: sorted(t, key=lambda c: c["sample"]) for key, t in sorted(tasks.items())}


def pass_at_k(n, c, k):
    return 1 - Fraction(comb(n - c, k), comb(n, k))


def answer(c, p):
    """True, False, or None: not known. p None: is it correct?"""
    if not c["known"]:
        return None
    if p is None or not c["correct"]:
        return c["correct"]
    return None if c["speedup"] is None else c["speedup"] > p


def at_k(tasks, k, p):
    solved = failed = undecided = counted = 0
    parts, weights = defaultdict(Fraction), defaultdict(int)
    for (problem, _), task in tasks.items():
        first = [answer(c, p) for c in task[:k]]
        solved += True in first
        undecided += True not in first and None in first
        failed += True not in first and None not in first
        known = [a for a in (answer(c, p) for c in task) if a is not None]
        if len(known) >= k:
            counted += 1
            parts[problem] += pass_at_k(len(known), sum(known), k)
            weights[problem] += 1
    estimate = float(sum(parts.values()) / counted) if counted else None
    return dict(solved=solved, failed=failed, undecided=undecided, estimate=estimate, counted=counted, parts=parts, weights=weights)


report = json.load(open(os.path.join(folder, "report.json"), encoding="utf-8"))
tables = report["tables"]
by_model = {m: [c for c in cells if c["model"] == m] for m in models}
same("models", [m["model"] for m in report["models"]], models)

# ---- pass@k, fast@k ------------------------------------------------------------------------------------------------------------

estimates = {(r["model"], r["metric"], r["k"]): r for r in tables["estimates"]}
for item in report["models"]:
    tasks = tasks_of(by_model[item["model"]])
    same("tasks", item["tasks"], len(tasks))
    for question, p, metric in (("pass", None, "pass"), ("fast", 1, "fast1")):
        for row in item[question]:
            want = at_k(tasks, row["k"], p)
            for name in ("solved", "failed", "undecided", "counted"):
                same(f"{question}@{row['k']} {name}", row[name], want[name])
            near(f"{question}@{row['k']}", row["estimate"], want["estimate"])
            line = estimates[item["model"], metric, row["k"]]
            low, high = bootstrap(want["parts"], want["weights"])
            near("estimate", line["estimate"], want["estimate"])
            near("bootstrap low", line["low"], low)
            near("bootstrap high", line["high"], high)
            low, high = wilson(want["solved"], want["solved"] + want["failed"])
            near("wilson low", line["solved_low"], low)
            near("wilson high", line["solved_high"], high)

# ---- families, outcomes -----------------------------------------------------------------------------------------------------------

for row in tables["families"]:
    tasks = tasks_of(c for c in by_model[row["model"]] if c["family"] == row["family"])
    same("tasks of a family", row["tasks"], len(tasks))
    same("passed of a family", row["pass_1st_k"] if "pass_1st_k" in row else row["pass"], at_k(tasks, 4, None)["solved"])
    same("fast of a family", row["fast"], at_k(tasks, 4, 1)["solved"])
counts = defaultdict(int)
for c in cells:
    what = c["outcome"]
    if c["correct"]:
        what = "correct, not timed" if c["speedup"] is None else "correct, fast" if c["speedup"] > 1 else "correct, not fast"
    counts[c["model"], what] += 1
same("outcomes", {(r["model"], r["outcome"]): r["cells"] for r in tables["outcomes"]}, dict(counts))

# ---- speedups, curves ---------------------------------------------------------------------------------------------------------------


def log_sums(values):
    parts, weights = defaultdict(float), defaultdict(int)
    for problem, value in values:
        parts[problem] += math.log(value)
        weights[problem] += 1
    low, high = bootstrap(parts, weights)
    return (math.exp(low), math.exp(high)) if low is not None else (None, None)


for row in tables["speedups"]:
    mine = by_model[row["model"]]
    tasks = tasks_of(mine)
    timed = [(c["id"], c["speedup"]) for c in mine if c["correct"] and c["speedup"]]
    first = [(k[0], t[0]["speedup"]) for k, t in tasks.items() if t[0]["correct"] and t[0]["speedup"]]
    best = [(k[0], max(c["speedup"] for c in t if c["correct"] and c["speedup"])) for k, t in tasks.items()
            if any(c["correct"] and c["speedup"] for c in t)]
    same("correct", row["correct"], sum(c["correct"] for c in mine))
    for name, values, n in (("geomean", timed, "timed"), ("best_1", first, "best_1_tasks"), ("best_k", best, "best_k_tasks")):
        low, high = log_sums(values)
        near(name, row[name], geomean([v for _, v in values]))
        near(name + " low", row[name + "_low"], low)
        near(name + " high", row[name + "_high"], high)
        same(name + " of", row[n], len(values))
    near("largest", row["largest"], max(v for _, v in timed))
same("thresholds", sorted({r["p"] for r in tables["curves"]}), [0.5 + 0.25 * i for i in range(15)])
for row in tables["curves"]:
    tasks = tasks_of(by_model[row["model"]])
    near("fast_p@1", row["fast_1"], at_k(tasks, 1, row["p"])["estimate"])
    near("fast_p@4", row["fast_k"], at_k(tasks, 4, row["p"])["estimate"])

# ---- scaling, new kernels --------------------------------------------------------------------------------------------------------------

baseline = {(p["problem"], p["world"]): p["baseline_ns"] for p in report["problems"]}
names = {c["id"]: c["problem"] for c in cells}
fastest = defaultdict(dict)
for c in cells:
    if c["correct"] and c["time"]:
        key = c["id"], c["world"]
        fastest[c["model"]][key] = min(fastest[c["model"]].get(key, math.inf), c["time"])
for id_, world in {(c["id"], c["world"]) for c in cells}:
    if baseline[names[id_], world]:
        fastest["(reference)"][id_, world] = baseline[names[id_], world]
for row in tables["scaling"]:
    times, world = fastest[row["who"]], row["world"]
    ratios = [times[p, world] / times[p, 1] for p in problems if (p, world) in times and (p, 1) in times]
    ratio = geomean(ratios)
    same("series", row["series"], len(ratios))
    near("T/T(min)", row["time_ratio"], ratio)
    near("weak", row["weak"], 1 / ratio)
    near("strong", row["strong"], 1 / (ratio * world))
    best = [(p, max(c["speedup"] for c in cells if c["model"] == row["who"] and c["id"] == p and c["world"] == world and c["correct"]
                    and c["speedup"])) for p in problems if row["who"] != "(reference)" and (p, world) in times]
    near("speedup at a world size", row["speedup"], geomean([v for _, v in best]))
    near("speedup low", row["speedup_low"], log_sums(best)[0])
want = []
for key, task in sorted(tasks_of(cells).items()):
    fast = [c for c in task if c["correct"] and c["speedup"] and c["speedup"] > 1]
    if len({c["model"] for c in fast}) == 1:
        best = max(fast, key=lambda c: c["speedup"])
        others = [c for c in task if c["model"] != best["model"]]
        want.append((names[key[0]], key[1], best["model"], best["sample"], sum(answer(c, 1) is None for c in others)))
same("new kernels", [(r["problem"], r["world"], r["model"], r["sample"], r["open"]) for r in tables.get("new", [])], want)
if not want:
    sys.exit("no new kernel to check")

# ---- what changed -----------------------------------------------------------------------------------------------------------------------

old = {(c["id"], c["world"], c["model"], c["sample"]): c for c in read_cells("old.csv")}
changed = []
for row in tables["change_models"]:
    n = defaultdict(int)
    ratios = []
    for c in by_model[row["model"]]:
        was = old[c["id"], c["world"], c["model"], c["sample"]]
        timed = c["correct"] and was["correct"] and c["speedup"] and was["speedup"]
        if c["outcome"] != was["outcome"] or (timed and abs(c["speedup"] / was["speedup"] - 1) > 0.05):
            changed.append((c["problem"], c["world"], c["model"], c["sample"], was["outcome"], c["outcome"]))
        if not (c["known"] and was["known"]):
            n["open"] += 1
            continue
        n["cells"] += 1
        n[{(True, True): "correct", (True, False): "gained", (False, True): "lost", (False, False): "wrong"}[
            c["correct"], was["correct"]]] += 1
        if timed:
            ratios.append((c["id"], c["speedup"] / was["speedup"]))
    for name in ("cells", "correct", "gained", "lost", "wrong", "open"):
        same(f"changes: {name}", row[name], n[name])
    near("McNemar", row["p_outcome"], sign_test(n["gained"], n["lost"]))
    near("ratio", row["ratio"], geomean([v for _, v in ratios]))
    near("ratio low", row["ratio_low"], log_sums(ratios)[0])
    near("ratio high", row["ratio_high"], log_sums(ratios)[1])
    near("sign test", row["p_speed"], sign_test(sum(v > 1 for _, v in ratios), sum(v < 1 for _, v in ratios)))
same("changed cells", sorted((r["problem"], r["world"], r["model"], r["sample"], r["was"], r["now"]) for r in tables["changes"]),
     sorted(changed))

# ---- published figures ---------------------------------------------------------------------------------------------------------------------

published = {r["model"]: r for r in json.load(open(os.path.join(folder, "published.json"), encoding="utf-8"))["tables"]["published"]}
same("published", [(published[m]["pass_published"], published[m]["fast_published"]) for m in
                   ("GPT-5.5", "Claude Opus 4.7", "Gemini 3 Pro")],
     [("28 -> 36", "22 -> 27"), ("20 -> 31", "12 -> 20"), ("24 -> 30", "12 -> 19")])

# ---- markup: names of models are text everywhere ----------------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Counts elements, and collects what is open wrongly or refers elsewhere."""
    VOID = {"meta", "link", "path", "rect"}

    def __init__(self):
        super().__init__()
        self.open, self.n, self.text, self.bad, self.ids = [], defaultdict(int), [], [], []

    def handle_starttag(self, tag, attrs):
        self.n[tag] += 1
        values = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        for name in ("src", "href"):
            if name in values and not values[name].startswith(("#", "data:,")):
                self.bad.append(f"{tag} {name}={values[name]}")
        if any(name.startswith("on") for name in values):
            self.bad.append(f"{tag} with a handler")
        if "id" in values:
            self.ids.append(values["id"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text.append(data)


page = Page()
source = open(os.path.join(folder, "report.html"), encoding="utf-8").read()
page.feed(source)
page.close()
same("HTML", page.bad + page.open, [])
same("scripts", page.n["script"], 1)
same("unique ids", len(page.ids), len(set(page.ids)))
same("a caption per table", page.n["caption"], page.n["table"])
same("a description per plot", (page.n["desc"], page.n["figcaption"]), (page.n["svg"], page.n["svg"]))
if page.n["svg"] < 7 or page.n["table"] < 11:
    sys.exit(f"only {page.n['svg']} plots and {page.n['table']} tables")
for model in models:
    if not any(model in text for text in page.text):
        sys.exit(f"{model!r} is not in the page")
if "http" in source.replace("http-equiv", ""):
    sys.exit("the page refers to the network")
for line in open(os.path.join(folder, "report.md"), encoding="utf-8"):
    if line.startswith("|") and len(re.findall(r"(?<!\\)\|", line)) not in range(3, 25):
        sys.exit(f"not a row: {line}")
tex = open(os.path.join(folder, "report.tex"), encoding="utf-8").read()
body = "\n".join(line for line in tex.split("\n") if not line.startswith("%"))
same("LaTeX tables", body.count("\\begin{table}"), body.count("\\end{table}"))
for row in re.findall(r"\\begin\{tabular\}\{([lr]+)\}\n(.*?)\\end\{tabular\}", body, re.S):
    for line in row[1].split("\n"):
        if line.endswith("\\\\"):
            same("columns of a LaTeX row", len(re.findall(r"(?<!\\)&", line)) + 1, len(row[0]))
if re.search(r"(?<!\\)[#%_]", re.sub(r"\\label\{[^}]*\}", "", body)):
    sys.exit("an unescaped special in LaTeX")
for line in open(os.path.join(folder, "report.txt"), encoding="utf-8"):
    if len(line.rstrip("\n")) > 100 and not line.startswith("      -> "):
        sys.exit(f"{len(line)} columns: {line}")
print(f"{checked} values agree")
