#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same 70B run in five regions, on demand and on spot devices that are taken away at three rates.

regions.py measure PACELINE   predicts every point and writes regions.csv
regions.py plot               draws regions.csv as regions.svg and prints it
"""
import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SCENARIO = "scenarios/06_llama3_70b_64_h100.yaml"
REGIONS = [("aws", "us-east-1"), ("aws", "eu-north-1"), ("gcp", "us-central1"), ("gcp", "europe-west4"), ("nebius", "")]
KEPT = [4, 12, 48]
RECOVERIES = ["restart", "elastic"]
FIELDS = ["region", "price", "kept_h", "recovery", "days", "usd", "usd_low", "usd_high", "goodput", "co2_t"]


def settings(provider, region, price, kept, recovery):
    run = f"{{tokens: 1e12, price: {price}, provider: {provider}" + (f", region: {region}" if region else "") + "}"
    spot = f", spot: {{mtbf: {kept} h, back: 20 min, notice: 2 min}}" if kept else ""
    failures = (f"{{node_mtbf: 20000 h, detect: 1 min, restart: 5 min, repair: 2 h, recovery: {recovery}{spot}, "
                "checkpoints: {mode: lazy, storage: 20 GB/s}, runs: 100}")
    return ["--set", f"run={run}", "--set", f"failures={failures}"]


def points():
    for provider, region in REGIONS:
        yield provider, region, "on-demand", 0, "restart"
        for kept in KEPT:
            for recovery in RECOVERIES:
                yield provider, region, "spot", kept, recovery


def measure(paceline):
    rows = []
    for provider, region, price, kept, recovery in points():
        out = subprocess.run([paceline, "run", SCENARIO, *settings(provider, region, price, kept, recovery), "--json", "-"],
                             check=True, capture_output=True, text=True).stdout
        result = json.loads(out)
        outlook = result["failures"]
        low, high = outlook["run_low_usd"], outlook["run_high_usd"]
        # What is drawn while nothing works is left out: devices that wait draw little.
        carbon = result["energy"].get("run_co2_kg")
        rows.append([f"{provider} {region}".strip(), price, kept, recovery, f"{outlook['run_s'] / 86400:.1f}",
                     f"{outlook['run_usd']:.0f}", f"{low:.0f}", f"{high:.0f}", f"{outlook['goodput']:.4f}",
                     "" if carbon is None else f"{carbon / 1000:.1f}"])
    with open(HERE / "regions.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(rows)


COLOURS = ["#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00"]


def plot():
    with open(HERE / "regions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = list(dict.fromkeys(row["region"] for row in rows))
    wide, high, left, top, right, bottom = 760, 460, 76, 44, 196, 56
    days, money = [float(r["days"]) for r in rows], [float(r["usd"]) / 1e6 for r in rows]
    first, last, most = min(days) * 0.97, max(days) * 1.03, max(money) * 1.08

    def x(v):
        return left + (wide - left - right) * (v - first) / (last - first)

    def y(v):
        return high - bottom - (high - top - bottom) * v / most

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
           'font-family="sans-serif" font-size="12" role="img"><title>Cost and length of a 70B run in five regions</title>'
           f'<rect width="{wide}" height="{high}" fill="#ffffff"/>'
           f'<text x="{left}" y="22" font-size="14" font-weight="bold">Llama 3.1 70B, 10^12 tokens on 64 H100</text>']
    step = 0.2 if most < 2 else 0.5
    for i in range(int(most / step) + 1):
        at = y(i * step)
        out.append(f'<line x1="{left}" y1="{at:.1f}" x2="{wide - right}" y2="{at:.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{i * step:.1f}</text>')
    mark = 10 if last - first < 120 else 50
    for v in range(int(first / mark + 1) * mark, int(last) + 1, mark):
        out.append(f'<line x1="{x(v):.1f}" y1="{top}" x2="{x(v):.1f}" y2="{high - bottom}" stroke="#e4e4e4"/>'
                   f'<text x="{x(v):.1f}" y="{high - bottom + 18}" text-anchor="middle">{v}</text>')
    for name, colour in zip(names, COLOURS):
        for recovery in RECOVERIES:
            line = [r for r in rows if r["region"] == name and r["price"] == "spot" and r["recovery"] == recovery]
            path = " ".join(f"{x(float(r['days'])):.1f},{y(float(r['usd']) / 1e6):.1f}" for r in line)
            dash = "" if recovery == "restart" else "4 3"
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-dasharray="{dash}"/>')
        for r in (r for r in rows if r["region"] == name):
            cx, cy = x(float(r["days"])), y(float(r["usd"]) / 1e6)
            kept = f"spot, {r['kept_h']} h, {r['recovery']}" if r["price"] == "spot" else "on demand"
            hover = f"<title>{name}, {kept}: {r['days']} days, {float(r['usd']) / 1e6:.3f} million USD</title>"
            if r["price"] == "on-demand":
                out.append(f'<rect x="{cx - 5:.1f}" y="{cy - 5:.1f}" width="10" height="10" fill="{colour}">{hover}</rect>')
            else:
                size = {"4": 6.5, "12": 4.5, "48": 3}[r["kept_h"]]
                fill = colour if r["recovery"] == "restart" else "#ffffff"
                out.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{size}" fill="{fill}" stroke="{colour}">{hover}</circle>')
    at = top + 8
    for name, colour in zip(names, COLOURS):
        out.append(f'<rect x="{wide - right + 16}" y="{at - 9}" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{wide - right + 34}" y="{at}">{name}</text>')
        at += 20
    at += 10
    for text in ("square: on demand", "filled: all restart", "open: go on, layers move", "large: a node is kept 4 h,",
                 "then 12 h, small: 48 h"):
        out.append(f'<text x="{wide - right + 16}" y="{at}">{text}</text>')
        at += 18
    out.append(f'<text x="{(left + wide - right) / 2}" y="{high - 14}" text-anchor="middle">days</text>'
               f'<text x="18" y="{(top + high - bottom) / 2}" text-anchor="middle" '
               f'transform="rotate(-90 18 {(top + high - bottom) / 2})">million USD</text></svg>')
    (HERE / "regions.svg").write_text("\n".join(out) + "\n")
    for r in rows:
        print(f"{r['region']:20s} {r['price']:10s} {r['kept_h']:>3s} h  {r['recovery']:8s} {r['days']:>7s} days  "
              f"{float(r['usd']) / 1e6:.3f} M USD  goodput {r['goodput']}  {r['co2_t']} t CO2e")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"] and len(sys.argv) == 3:
        measure(sys.argv[2])
    elif sys.argv[1:] == ["plot"]:
        plot()
    else:
        sys.exit(__doc__)
