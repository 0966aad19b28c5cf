"""Checks rapt-bench's JSON and CSV: formats.py FILE.json FILE.csv, of the fake model, the second with two rows at a time."""

import csv
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    results = json.load(file)
with open(sys.argv[2], encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
assert len(results) == len(rows) == 3
assert list(results[0]) == list(rows[0]), (list(results[0]), list(rows[0]))
assert [r["workload"] + " x 2" for r in results] == [r["workload"] for r in rows]
# Costs of the fake model's manifest: three layers of 2 n^2 + 7, and 10 for each key that a query sees, six at most.
for r, tokens in zip(results, (8, 32, 1)):
    pairs = sum(min(i + 1, 6) for i in range(tokens)) if tokens > 1 else 6
    layers = min(tokens, 3)
    assert r["flops"] == layers * (2 * tokens ** 2 + 7) + 10 * pairs, r
    assert r["threads"] == 1 and r["unit"] == "tokens" and r["peak_memory"] > 1e6
    assert r["undisturbed"] <= 1 and r["undisturbed"] <= r["repetitions"] <= 3
    assert r["disturbed"] == (r["undisturbed"] < 1)
    assert 0 < r["p10_seconds"] <= r["median_seconds"] <= r["p90_seconds"] <= r["p99_seconds"]
    assert abs(r["units_per_second"] * r["median_seconds"] / tokens - 1) < 1e-9
    assert abs(r["flops_per_second"] * r["median_seconds"] / r["flops"] - 1) < 1e-9
    assert r["limit"] and r["limit_per_second"] > 0 and r["share_of_limit"] > 0
