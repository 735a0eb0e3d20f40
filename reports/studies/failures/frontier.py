#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which restarts and checkpoints leave 90 % of Llama 3's time to steps, and what going on with fewer nodes is worth.

frontier.py measure PACELINE   predicts every point and writes frontier.csv and policies.csv
frontier.py plot               draws frontier.csv as frontier.svg
"""
import csv
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SCENARIO = "scenarios/13_llama3_405b_16384_h100_failures.yaml"
MTBF = 54 * 86400 / 419  # s
STANDSTILLS = [1, 3, 6, 15, 30, 60, 120]  # s
RESTARTS = [2, 5, 10, 15]  # min
POLICIES = ["restart", "{policy: spares, spares: 16}", "drop-replica", "recycle", "elastic"]
REPAIRS = ["30 min", "4 h", "24 h"]


def daly(c, m=MTBF):
    x = c / (2 * m)
    return math.sqrt(2 * c * m) * (1 + math.sqrt(x) / 3 + x / 9) - c


def exact(c, r, m=MTBF):
    t = daly(c)
    return t / (m * math.exp(r / m) * math.expm1((t + c) / m))


def longest(c, goodput=0.9, m=MTBF):
    t = daly(c)
    return m * math.log(t / (goodput * m * math.expm1((t + c) / m)))


def run(paceline, failures):
    out = subprocess.run([paceline, "run", SCENARIO, "--set", f"failures={failures}", "--json", "-"],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["failures"]


def write(name, header, rows):
    with open(HERE / name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def measure(paceline):
    rows = []
    probe = run(paceline, "{job_mtbf: 3 h, restart: 5 min, runs: 10, checkpoints: {mode: memory}}")
    for c in STANDSTILLS:
        rate = probe["checkpoint_bytes"] / c / 1e9
        for r in RESTARTS:
            f = run(paceline, f"{{job_mtbf: {MTBF / 3600:.9f} h, restart: {r} min, "
                              f"checkpoints: {{storage: {rate:.9f} GB/s}}}}")
            rows.append([c, r, f"{f['checkpoint_blocking_s']:.3f}", f"{f['checkpoint_every_s']:.1f}",
                         f"{f['goodput']:.4f}", f"{f['goodput_low']:.4f}",
                         f"{f['goodput_high']:.4f}", f"{exact(c, r * 60):.4f}",
                         f"{longest(c) / 60:.2f}"])
    write("frontier.csv", ["standstill_s", "restart_min", "predicted_standstill_s", "every_s",
                           "goodput", "low", "high", "exact", "longest_restart_min"], rows)
    rows = []
    for repair in REPAIRS:
        for policy in POLICIES:
            try:
                f = run(paceline, f"{{node_mtbf: 6338 h, repair: {repair}, detect: 1 min, "
                                  f"restart: 10 min, recovery: {policy}, "
                                  f"checkpoints: {{mode: background, storage: 2 TB/s}}}}")
            except subprocess.CalledProcessError as error:
                rows.append([repair, policy, "", "", "", "", error.stderr.strip()])
                continue
            pace = f.get("one_node_lost", {}).get("pace")
            rows.append([repair, policy, f"{f['goodput']:.4f}", f"{f['run_s'] / 86400:.2f}",
                         f"{f['run_usd']:.0f}", "" if pace is None else f"{pace:.4f}", ""])
    write("policies.csv", ["repair", "recovery", "goodput", "days", "usd", "one_lost_pace", "error"],
          rows)


def plot():
    left, top, width, height = 60, 20, 520, 300
    low, high, most = 0.5, 60.0, 15.0

    def x(c):
        return left + width * math.log(c / low) / math.log(high / low)

    def y(r):
        return top + height * (1 - r / most)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" '
           f'height="{top + height + 50}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#ffffff"/>']
    for goodput, colour in [(0.95, "#009e73"), (0.9, "#0072b2"), (0.85, "#d55e00")]:
        points, c = [], low
        while c <= high:
            r = longest(c, goodput) / 60
            if 0 <= r <= most:
                points.append(f"{x(c):.1f},{y(r):.1f}")
            c *= 1.02
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(points)}"/>')
        where = points[len(points) // 2].split(",")
        out.append(f'<text x="{float(where[0]) + 6:.1f}" y="{float(where[1]) - 6:.1f}" '
                   f'fill="{colour}">{goodput:.0%}</text>')
    for row in csv.DictReader(open(HERE / "frontier.csv")):
        c, r, g = float(row["standstill_s"]), float(row["restart_min"]), float(row["goodput"])
        if low <= c <= high:
            fill = "#0072b2" if g >= 0.9 else "#ffffff"
            out.append(f'<circle cx="{x(c):.1f}" cy="{y(r):.1f}" r="4" fill="{fill}" stroke="#222222"/>')
    for c in [0.5, 1, 2, 5, 10, 20, 60]:
        out.append(f'<text x="{x(c):.1f}" y="{top + height + 18}" text-anchor="middle">{c:g}</text>')
    for r in [0, 5, 10, 15]:
        out.append(f'<text x="{left - 8}" y="{y(r) + 4:.1f}" text-anchor="end">{r}</text>')
    out.append(f'<line x1="{left}" y1="{y(0)}" x2="{left + width}" y2="{y(0)}" stroke="#777777"/>')
    out.append(f'<line x1="{left}" y1="{top}" x2="{left}" y2="{y(0)}" stroke="#777777"/>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">'
               'a checkpoint stops the job for, s</text>')
    out.append(f'<text transform="translate(18 {top + height / 2}) rotate(-90)" '
               'text-anchor="middle">detection and restart, min</text>')
    out.append("</svg>")
    (HERE / "frontier.svg").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"] and len(sys.argv) == 3:
        measure(sys.argv[2])
    elif sys.argv[1:] == ["plot"]:
        plot()
    else:
        sys.exit(__doc__)
