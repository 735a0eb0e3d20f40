#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ring all-reduce message by message: measures and plots its growth with the number of ranks.

ring.py measure BENCH   runs the benchmark, one process per size and try, and writes ring.csv
ring.py plot            draws ring.csv as ring.svg
"""
import csv
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
RANKS = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
TRIES = 3
# Another simulator on the same task, 2 cores (README.md): ranks, seconds, MB.
OTHER = (1024, 16.6, 366)


def measure(bench):
    rows = []
    for ranks in RANKS:
        tries = []
        for _ in range(TRIES):
            out = subprocess.run(
                [bench, f"--benchmark_filter=^ring_all_reduce/{ranks}/", "--benchmark_min_time=0",
                 "--benchmark_format=json"], check=True, capture_output=True, text=True).stdout
            tries.append(json.loads(out)["benchmarks"][0])
        best = min(tries, key=lambda t: t["real_time"])
        seconds = best["real_time"] / 1e3
        rows.append([ranks, int(best["tasks"]), f"{seconds:.6f}", f"{best['peak_MB']:.1f}",
                     f"{best['bytes_per_task']:.2f}", f"{best['tasks'] / seconds:.3g}"])
    with open(HERE / "ring.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ranks", "messages", "seconds", "peak_MB", "bytes_per_task",
                         "tasks_per_s"])
        writer.writerows(rows)


class Panel:
    """Axes with logarithmic scales in both directions, decades on the vertical one."""

    WIDTH, HEIGHT = 330, 250

    def __init__(self, left, top, title, low, high):
        self.left, self.top, self.title, self.low, self.high = left, top, title, low, high

    def x(self, ranks):
        span = math.log2(RANKS[-1] / RANKS[0])
        return self.left + self.WIDTH * math.log2(ranks / RANKS[0]) / span

    def y(self, value):
        share = math.log10(value / 10.0**self.low) / (self.high - self.low)
        return self.top + self.HEIGHT * (1 - share)

    def draw(self, points, other, label):
        right, bottom = self.left + self.WIDTH, self.top + self.HEIGHT
        out = [f'<text x="{self.left}" y="{self.top - 14}" class="t">{self.title}</text>']
        for e in range(self.low, self.high + 1):
            y = self.y(10.0**e)
            out.append(f'<line x1="{self.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="g"/>')
            out.append(f'<text x="{self.left - 8}" y="{y + 4:.1f}" class="e">{10.0**e:g}</text>')
        for ranks in RANKS[::1]:
            x = self.x(ranks)
            out.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" class="a"/>')
            if ranks in RANKS[::3]:
                out.append(f'<text x="{x:.1f}" y="{bottom + 20}" class="m">{ranks}</text>')
        out.append(f'<text x="{(self.left + right) / 2}" y="{bottom + 40}" class="m">ranks</text>')
        line = " ".join(f"{self.x(r):.1f},{self.y(v):.1f}" for r, v in points)
        out.append(f'<polyline points="{line}" class="l"/>')
        for r, v in points:
            out.append(f'<circle cx="{self.x(r):.1f}" cy="{self.y(v):.1f}" r="3.5" class="p"/>')
        x, y = self.x(OTHER[0]), self.y(other)
        out.append(f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" class="o"/>')
        out.append(f'<text x="{x - 10:.1f}" y="{y + 4:.1f}" class="oe">{label}</text>')
        return out


def plot():
    with open(HERE / "ring.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    def column(name):
        return [(int(row["ranks"]), float(row[name])) for row in rows]
    time = Panel(60, 70, "seconds, building and running", -5, 2)
    memory = Panel(480, 70, "peak memory of the process, MB", 0, 4)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="850" height="400" '
           'viewBox="0 0 850 400" font-family="sans-serif" font-size="12">',
           "<style>.t{font-weight:bold}.e,.oe{text-anchor:end}.m{text-anchor:middle}"
           ".g{stroke:#ddd}.a{stroke:#666}.l{fill:none;stroke:#1f6f8b;stroke-width:2}"
           ".p{fill:#1f6f8b}.o{stroke:#b5482a;stroke-width:2;fill:none}.oe{fill:#b5482a}</style>",
           '<rect width="850" height="400" fill="white"/>',
           '<text x="60" y="26" font-size="14">1 MB ring all-reduce, 2 N (N-1) messages, on the '
           "reference engine</text>"]
    out += time.draw(column("seconds"), OTHER[1], f"ASTRA-sim, {OTHER[1]} s")
    out += memory.draw(column("peak_MB"), OTHER[2], f"ASTRA-sim, {OTHER[2]} MB")
    (HERE / "ring.svg").write_text("\n".join(out + ["</svg>"]) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"] and len(sys.argv) == 3:
        measure(sys.argv[2])
    elif sys.argv[1:] == ["plot"]:
        plot()
    else:
        sys.exit(__doc__)
