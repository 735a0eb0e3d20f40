#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the figures of a validation result into the tables of README.md and docs/validation.md.

usage: study_tables.py RESULT.json DOCUMENT...

A document marks a table with `<!-- table: NAME -->` and `<!-- end -->`; what lies between is replaced.
"""
import json
import re
import sys

# What README shows: (suite, what it is).
SHORT = [
    ("megatron-sc21-table1.step_time_s", "Megatron-LM 1.7B to 1T, 32 to 3072 A100 (SC'21)"),
    ("korthikanti-table5.step_time_s", "Megatron-LM with selective recomputation, 22B to 1T, A100"),
    ("a100-multi-node.step_time_s", "3.6B and 39.1B over 64 to 512 A100, many layouts"),
    ("llama-layouts.step_time_s", "LLaMA 13B and 30B, A100, a sweep of layouts and kernels"),
    ("llama-layouts.fits", "the same sweep: fits or out of memory (share of wrong labels)"),
    ("llmfoundry-h100.step_time_s", "llm-foundry FSDP, 125M to 70B, up to 64 H100"),
    ("nemo-25.02-bf16.step_time_s", "NeMo 25.02 BF16, 8B to 175B, 8 to 2048 H100"),
    ("nemo-25.02-fp8.step_time_s", "NeMo 25.02 FP8, 8B to 175B, 8 to 2048 H100"),
]


def percent(value, signed=False, decimals=1):
    if value is None:
        return "–"
    if not signed and 9e-7 < value < 0.5 * 0.1 ** (decimals + 2):  # a small bound is not zero
        return f"{100 * value:.4f} %"
    if abs(value) < 9e-7:
        return "0.0 %"
    return f"{100 * value:{'+' if signed else ''}.{decimals}f} %"


def figure(suite, value, signed=False):
    """A value in the unit of the suite's metric."""
    if value is None:
        return "–"
    if suite["metric"] == "absolute":
        return f"{value:{'+' if signed else ''}.2g}"
    return percent(value, signed)


def limits(suite, key):
    limit = suite[key]
    parts = []
    if "mean" in limit:
        parts.append(figure(suite, limit["mean"]))
    if "worst" in limit:
        parts.append(("" if "mean" in limit else "worst ") + figure(suite, limit["worst"]))
    if "false_positives" in limit:
        parts.append("false fits " + percent(limit["false_positives"]))
    return ", ".join(parts) or "–"


def reaches(suite):
    if not suite["passed"]:
        return "**exceeded**"
    if suite["goal_met"] and suite["goal"]:
        return "goal"
    return "bound" if suite["bound"] else "reported"


def short_name(name):
    return name.removesuffix(".step_time_s")


def worst(suite, figures):
    if suite["metric"] == "fraction":
        return "false fits " + percent(suite["false_positives"])
    sign = 1 if worst_is_positive(suite, figures) else -1
    return figure(suite, sign * figures["worst_error"], True)


def worst_is_positive(suite, figures):
    for case in suite["cases"]:
        if case["id"] == figures["worst_id"] and case.get("error") is not None:
            if abs(abs(case["error"]) - figures["worst_error"]) < 1e-9:
                return case["error"] > 0
    return True


def row(suite, figures, name, goal, bound, mark):
    tau = figures["kendall_tau"]
    cells = [
        name,
        str(figures["rows"]),
        figure(suite, figures["mean_error"]),
        worst(suite, figures),
        figure(suite, figures["bias"], True),
        "–" if tau is None else f"{tau:.2f}",
        percent(figures["baseline_error"]),
        goal,
        bound,
        mark,
    ]
    return "| " + " | ".join(cells) + " |"


def all_sets(suites):
    lines = [
        "| set, quantity | rows | mean | worst | bias | τ | flat MFU | goal | bound: mean, worst | reaches |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for suite in suites:
        lines.append(row(suite, suite, short_name(suite["name"]), limits(suite, "goal"),
                         limits(suite, "bound"), reaches(suite)))
        left_out = suite["all_rows"]["rows"] - suite["rows"] if "all_rows" in suite else 0
        if left_out > 0:
            lines.append(row(suite, suite["all_rows"], f"… with the {left_out} excluded", "–",
                             limits(suite, "bound_all"), ""))
    return lines


def short(suites):
    by_name = {suite["name"]: suite for suite in suites}
    lines = ["| published runs | rows | mean error | worst | one MFU for all |", "|---|--:|--:|--:|--:|"]
    for name, title in SHORT:
        suite = by_name[name]
        lines.append(f"| {title} | {suite['rows']} | {percent(suite['mean_error'])} | "
                     f"{worst(suite, suite)} | {percent(suite['baseline_error'])} |")
    return lines


def exclusions(suites):
    lines = ["| set | rows | rule, and why |", "|---|--:|---|"]
    for suite in suites:
        counts = {}
        for entry in suite.get("excluded", []):
            counts[entry["why"]] = counts.get(entry["why"], 0) + 1
        for why, count in counts.items():
            lines.append(f"| {short_name(suite['name'])} | {count} | {why} |")
    return lines


def mlperf(suites):
    suite = next(suite for suite in suites if suite["name"] == "mlperf-4.1-gpt3.step_time_s")
    lines = ["| run | measured | predicted | error |", "|---|--:|--:|--:|"]
    for case in suite["cases"]:
        lines.append(f"| {case['id']} | {case['measured']:.2f} s | {case['predicted']:.2f} s | "
                     f"{percent(case['error'], True)} |")
    return lines


def choices(suites):
    lines = ["| set | groups | within 3 % | largest regret |", "|---|--:|--:|---|"]
    for suite in suites:
        groups = suite.get("choices", [])
        if not groups:
            continue
        largest = max(groups, key=lambda group: group["regret"])
        text = "0 %" if largest["regret"] == 0 else \
            f"{percent(largest['regret'])}: {largest['group']}"
        good = sum(group["good"] for group in groups)
        lines.append(f"| {short_name(suite['name'])} | {len(groups)} | {good} | {text} |")
    return lines


TABLES = {"all sets": all_sets, "short": short, "exclusions": exclusions, "choices": choices,
          "mlperf": mlperf}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        suites = json.load(file)["suites"]
    pattern = re.compile(r"(<!-- table: ([a-z ]+) -->\n).*?(<!-- end -->)", re.S)
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()

        def fill(match):
            return match[1] + "\n" + "\n".join(TABLES[match[2]](suites)) + "\n\n" + match[3]

        with open(path, "w", encoding="utf-8") as file:
            file.write(pattern.sub(fill, text))


if __name__ == "__main__":
    main()
