#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A 10B model over three continents: which method, how long rounds, which codec, at what price?

continents.py measure PACELINE   predicts every point and writes continents.csv
continents.py plot               draws continents.csv as continents.svg and prints the front
"""
import csv
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SCENARIO = "scenarios/10_continents_10b.yaml"
CODECS = {"bf16": None, "fp8": "{name: fp8-e4m3}", "nvfp4": "{name: nvfp4}",
          "top-k 1 %": "{name: top-k, keep: 0.01}", "dct top-k 1 %": "{name: dct-top-k, keep: 0.01}"}
ROUNDS = [10, 30, 100, 300, 1000]
METHODS = {
    "diloco": ("DiLoCo", "ring", ""),
    "diloco server": ("DiLoCo, one server", "server", ", server: virginia"),
    "streaming-diloco": ("Streaming DiLoCo", "ring", ", fragments: 6, overlap: 2"),
    "dilocox": ("one round late", "ring", ""),
    "noloco": ("pairs (NoLoCo)", "gossip", ""),
}
COLOURS = {"data-parallel": "#222222", "diloco": "#0072b2", "diloco server": "#cc79a7",
           "streaming-diloco": "#009e73", "dilocox": "#e69f00", "noloco": "#d55e00"}
FIELDS = ["method", "inner_steps", "codec", "utilisation", "days", "usd", "egress_usd",
          "busiest_link", "link_utilisation"]


def points():
    yield "data-parallel", 1, "bf16", "{method: data-parallel, workers: 12}"
    for method, (_, exchange, more) in METHODS.items():
        for steps in ROUNDS:
            for codec, text in CODECS.items():
                name = method.split()[0]
                outer = f"{{method: {name}, workers: 12, inner_steps: {steps}, exchange: {exchange}"
                outer += more + (f", codec: {text}" if text else "") + "}"
                yield method, steps, codec, outer


def measure(paceline):
    rows = []
    for method, steps, codec, outer in points():
        out = subprocess.run([paceline, "run", SCENARIO, "--set", f"outer={outer}", "--json", "-"],
                             check=True, capture_output=True, text=True).stdout
        result = json.loads(out)
        o, cost = result["outer"], result["cost"]
        links = sorted(o["links"], key=lambda link: -link["utilisation"])
        egress = cost["breakdown_usd"].get("egress", 0) / cost["step_usd"] * cost["run_usd"]
        rows.append([method, steps, codec, f"{o['utilisation']:.4f}",
                     f"{result['run']['time_s'] / 86400:.1f}", f"{cost['run_usd']:.0f}",
                     f"{egress:.0f}", links[0]["name"], f"{links[0]['utilisation']:.3f}"])
    with open(HERE / "continents.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(rows)


def front(rows):
    """Points that no other beats in money and in steps between exchanges: fewer are closer to
    training in one place."""
    best = []
    for row in sorted(rows, key=lambda r: (r["inner_steps"], r["usd"])):
        if not best or row["usd"] < best[-1]["usd"]:
            best.append(row)
    return best


def read():
    rows = []
    with open(HERE / "continents.csv", newline="") as file:
        for row in csv.DictReader(file):
            row["inner_steps"] = int(row["inner_steps"])
            for key in ("days", "usd", "egress_usd", "utilisation"):
                row[key] = float(row[key])
            rows.append(row)
    return rows


def plot():
    rows = read()
    wide, high, left, top, right, bottom = 760, 470, 70, 46, 190, 56
    money = [r["usd"] / 1e6 for r in rows]
    low, most = math.log10(min(money) * 0.93), math.log10(max(money) * 1.12)

    def x(steps):
        return left + (wide - left - right) * math.log10(steps) / 3.08

    def y(usd):
        return top + (high - top - bottom) * (most - math.log10(usd / 1e6)) / (most - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
           f'height="{high}" font-family="sans-serif" font-size="12" role="img">',
           '<title>Price of 10^12 tokens against steps between exchanges</title>',
           f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
           f'<text x="{left}" y="22" font-size="14" font-weight="bold">10B over three continents: '
           'price of 10^12 tokens</text>']
    tick = [v for v in (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200)
            if low <= math.log10(v) <= most]
    for v in tick:
        at = y(v * 1e6)
        out.append(f'<line x1="{left}" y1="{at:.1f}" x2="{wide - right}" y2="{at:.1f}" '
                   'stroke="#e4e4e4"/>')
        out.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{v:g}</text>')
    for steps in [1] + ROUNDS:
        at = x(steps)
        out.append(f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{high - bottom}" '
                   'stroke="#e4e4e4"/>')
        out.append(f'<text x="{at:.1f}" y="{high - bottom + 18}" text-anchor="middle">{steps}'
                   '</text>')
    out.append(f'<text x="{(left + wide - right) / 2}" y="{high - 14}" text-anchor="middle">steps '
               'between exchanges</text>')
    out.append(f'<text x="18" y="{(top + high - bottom) / 2}" text-anchor="middle" '
               f'transform="rotate(-90 18 {(top + high - bottom) / 2})">million USD</text>')
    order = ["data-parallel", *METHODS]
    shift = {m: (i - 3) * 5 if i else 0 for i, m in enumerate(order)}
    best = front(rows)
    plain = front([r for r in rows if r["codec"] == "bf16"])
    for line, dash in ((best, "4 3"), (plain, "")):
        path = " ".join(f"{x(r['inner_steps']) + shift[r['method']]:.1f},{y(r['usd']):.1f}"
                        for r in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="#777777" '
                   f'stroke-dasharray="{dash}"/>')
    shapes = list(CODECS)
    for r in rows:
        cx, cy = x(r["inner_steps"]) + shift[r["method"]], y(r["usd"])
        colour = COLOURS[r["method"]]
        size = 4.5 if r in best else 3.2
        fill = colour if r["codec"] in ("bf16", "nvfp4") else "#ffffff"
        hover = (f"{r['method']}, {r['codec']}, {r['inner_steps']} steps: {r['days']:.0f} days, "
                 f"{r['usd'] / 1e6:.2f} million USD").replace("%", "percent")
        if shapes.index(r["codec"]) < 2:
            out.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{size}" fill="{fill}" '
                       f'stroke="{colour}"><title>{hover}</title></circle>')
        elif shapes.index(r["codec"]) == 2:
            out.append(f'<rect x="{cx - size:.1f}" y="{cy - size:.1f}" width="{2 * size}" '
                       f'height="{2 * size}" fill="{fill}" stroke="{colour}">'
                       f'<title>{hover}</title></rect>')
        else:
            turn = 1 if shapes.index(r["codec"]) == 3 else -1
            corners = (f"{cx - size:.1f},{cy + turn * size:.1f} {cx + size:.1f},"
                       f"{cy + turn * size:.1f} {cx:.1f},{cy - turn * size:.1f}")
            out.append(f'<polygon points="{corners}" fill="{fill}" stroke="{colour}">'
                       f'<title>{hover}</title></polygon>')
    at = top + 8
    names = {"data-parallel": "every step", **{m: v[0] for m, v in METHODS.items()}}
    for method in order:
        out.append(f'<rect x="{wide - right + 16}" y="{at - 9}" width="10" height="10" '
                   f'fill="{COLOURS[method]}"/>')
        out.append(f'<text x="{wide - right + 34}" y="{at}">{names[method]}</text>')
        at += 20
    at += 12
    marks = ["&#9679;", "&#9675;", "&#9632;", "&#9651;", "&#9661;"]
    for codec, mark in zip(CODECS, marks):
        out.append(f'<text x="{wide - right + 15}" y="{at}">{mark}</text>')
        out.append(f'<text x="{wide - right + 34}" y="{at}">{codec}</text>')
        at += 20
    out.append(f'<line x1="{wide - right + 12}" y1="{at + 8}" x2="{wide - right + 30}" '
               f'y2="{at + 8}" stroke="#777777" stroke-dasharray="4 3"/>')
    out.append(f'<text x="{wide - right + 34}" y="{at + 12}">front</text>')
    out.append(f'<line x1="{wide - right + 12}" y1="{at + 28}" x2="{wide - right + 30}" '
               f'y2="{at + 28}" stroke="#777777"/>')
    out.append(f'<text x="{wide - right + 34}" y="{at + 32}">front of bf16</text>')
    out.append("</svg>")
    (HERE / "continents.svg").write_text("\n".join(out) + "\n")
    for r in plain + best:
        print(f"{r['inner_steps']:5d}  {r['method']:18s} {r['codec']:14s} {r['days']:7.1f} days  "
              f"{r['usd'] / 1e6:7.3f} M USD  egress {r['egress_usd'] / 1e6:.3f}  "
              f"compute {100 * r['utilisation']:.0f} %")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"] and len(sys.argv) == 3:
        measure(sys.argv[2])
    elif sys.argv[1:] == ["plot"]:
        plot()
    else:
        sys.exit(__doc__)
