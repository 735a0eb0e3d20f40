#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Energy of a BERT step as a law of its operations, bytes and efficiency, and how well it holds.

energy_law.py measure PACELINE   predicts every configuration and writes energy_law.csv
energy_law.py fit                fits the law to half of it, prints the rest's errors, draws energy_law.svg
"""
import csv
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# BERT base and large (Devlin et al. 2018) and two of Megatron's larger ones (1.3B, 3.9B; Shoeybi et al. 2019)
MODELS = {"110M": (768, 12, 12), "340M": (1024, 24, 16), "1.3B": (2048, 24, 32), "3.9B": (2560, 48, 40)}
LAYOUTS = [("one", 1), ("tp", 2), ("tp", 4), ("tp", 8), ("fsdp", 2), ("fsdp", 4), ("fsdp", 8)]
GPUS = {"a100": "dgx-a100", "h100": "dgx-h100"}
FIELDS = ["gpu", "model", "layout", "devices", "batch", "sequence", "step_s", "step_j", "flops", "bytes", "efficiency"]


def scenario(gpu, model, layout, devices, batch, sequence):
    hidden, layers, heads = MODELS[model]
    tp, dp = (devices, 1) if layout == "tp" else (1, devices)
    return {"name": "BERT", "cluster": {"preset": GPUS[gpu], "nodes": 1}, "precision": "bf16",
            "model": {"hidden": hidden, "layers": layers, "heads": heads, "vocab": 30720, "positions": 512,
                      "causal": False, "bias": True},
            "parallel": {"tp": tp, "dp": dp, "zero": 3 if layout == "fsdp" else 0},
            "batch": {"global": batch, "micro": max(1, batch // dp), "sequence": sequence}}


def predict(paceline, point):
    text = json.dumps(scenario(*point))
    file = HERE / "point.json"
    file.write_text(text)
    ran = subprocess.run([paceline, "run", str(file), "--json", "-"], capture_output=True, text=True)
    file.unlink()
    if ran.returncode == 2:
        sys.exit(f"{point}: {ran.stderr}")
    return json.loads(ran.stdout)


def traffic_of_memory(model, batch, sequence, devices, layout):
    """Bytes a step moves through memory: weights thrice and the optimizer's 28 a parameter, and the activations
    of a layer (34 s b h bytes: Korthikanti et al. 2022, eq. 1) written and read twice."""
    hidden, layers, _ = MODELS[model]
    parameters = layers * 12 * hidden * hidden + 30720 * hidden
    copies = devices if layout == "fsdp" else 1
    return copies * 6 * parameters + 28 * parameters + 3 * 34 * layers * batch * sequence * hidden


def measure(paceline):
    alone, rows = {}, []
    for gpu, model, (layout, devices), batch, sequence in itertools.product(
            GPUS, MODELS, LAYOUTS, (16, 64, 256), (128, 512)):
        heads = MODELS[model][2]
        if layout == "tp" and heads % devices:
            continue
        result = predict(paceline, (gpu, model, layout, devices, batch, sequence))
        if not result["memory"]["fits"] and layout != "one":
            continue
        if layout == "one":
            alone[gpu, model, batch, sequence] = result["step_time_s"]
            if not result["memory"]["fits"]:
                continue
        # Speed-up over one device and their number: the abstract's efficiency factor.
        efficiency = alone[gpu, model, batch, sequence] / (devices * result["step_time_s"])
        rows.append([gpu, model, layout, devices, batch, sequence, f"{result['step_time_s']:.6g}",
                     f"{result['energy']['step_j']:.6g}", f"{result['model_flops_per_step']:.6g}",
                     f"{traffic_of_memory(model, batch, sequence, devices, layout):.6g}", f"{efficiency:.4f}"])
    with open(HERE / "energy_law.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(rows)


def solve(matrix, right):
    """Gauss with pivots."""
    n = len(right)
    rows = [list(matrix[i]) + [right[i]] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


def features(row):
    """log E = log k_gpu + a log flops + b log bytes - c log efficiency"""
    return [1.0 if row["gpu"] == "a100" else 0.0, 1.0 if row["gpu"] == "h100" else 0.0,
            math.log(float(row["flops"])), math.log(float(row["bytes"])), -math.log(float(row["efficiency"]))]


def least_squares(rows):
    matrix = [features(row) for row in rows]
    target = [math.log(float(row["step_j"])) for row in rows]
    n = len(matrix[0])
    normal = [[sum(m[i] * m[k] for m in matrix) for k in range(n)] for i in range(n)]
    return solve(normal, [sum(m[i] * t for m, t in zip(matrix, target)) for i in range(n)])


def error(law, row):
    return math.exp(sum(a * b for a, b in zip(law, features(row)))) / float(row["step_j"]) - 1


def report(name, law, rows):
    errors = [abs(error(law, row)) for row in rows]
    print(f"{name:44s} {len(rows):4d} rows  mean {100 * statistics.mean(errors):5.1f} %  "
          f"worst {100 * max(errors):5.1f} %")


def fit():
    with open(HERE / "energy_law.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    fitted, held = rows[0::2], rows[1::2]
    law = least_squares(fitted)
    print(f"E = k flops^{law[2]:.3f} bytes^{law[3]:.3f} / efficiency^{law[4]:.3f}; "
          f"k {math.exp(law[0]):.3g} (A100), {math.exp(law[1]):.3g} (H100)")
    report("every second configuration, fitted", law, fitted)
    report("the others", law, held)
    for layout in ("one", "tp", "fsdp"):
        report(f"  of them {layout}", law, [r for r in held if r["layout"] == layout])
    for model in MODELS:
        rest = [r for r in rows if r["model"] != model]
        report(f"{model}, fitted without it", least_squares(rest), [r for r in rows if r["model"] == model])
    draw(law, fitted, held)


def draw(law, fitted, held):
    wide, high, left, top, right, bottom = 640, 480, 70, 40, 150, 56
    values = [math.log10(float(r["step_j"])) for r in fitted + held]
    low, most = math.floor(min(values)), math.ceil(max(values))

    def x(v):
        return left + (wide - left - right) * (v - low) / (most - low)

    def y(v):
        return high - bottom - (high - top - bottom) * (v - low) / (most - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
           'font-family="sans-serif" font-size="12" role="img"><title>Energy of a step by the law against the '
           f'simulated</title><rect width="{wide}" height="{high}" fill="#ffffff"/>',
           f'<text x="{left}" y="22" font-size="14" font-weight="bold">Energy of a BERT step: law against '
           'simulation</text>']
    for v in range(low, most + 1):
        name = f"{10 ** v:g} J" if v < 3 else f"{10 ** (v - 3):g} kJ"
        out.append(f'<line x1="{x(v):.1f}" y1="{top}" x2="{x(v):.1f}" y2="{high - bottom}" stroke="#e4e4e4"/>'
                   f'<line x1="{left}" y1="{y(v):.1f}" x2="{wide - right}" y2="{y(v):.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{x(v):.1f}" y="{high - bottom + 18}" text-anchor="middle">{name}</text>'
                   f'<text x="{left - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{name}</text>')
    out.append(f'<line x1="{x(low):.1f}" y1="{y(low):.1f}" x2="{x(most):.1f}" y2="{y(most):.1f}" stroke="#777777"/>')
    colours = {"one": "#222222", "tp": "#0072b2", "fsdp": "#d55e00"}
    for rows, filled in ((fitted, False), (held, True)):
        for row in rows:
            measured = math.log10(float(row["step_j"]))
            by_law = measured + math.log10(1 + error(law, row))
            colour = colours[row["layout"]]
            out.append(f'<circle cx="{x(measured):.1f}" cy="{y(by_law):.1f}" r="3" '
                       f'fill="{colour if filled else "#ffffff"}" stroke="{colour}"><title>{row["gpu"]} {row["model"]} '
                       f'{row["layout"]} {row["devices"]}, {row["batch"]} x {row["sequence"]}: '
                       f'{100 * error(law, row):+.1f} %</title></circle>')
    at = top + 10
    for name, text in (("one", "one device"), ("tp", "tensor parallel"), ("fsdp", "FSDP")):
        out.append(f'<circle cx="{wide - right + 20}" cy="{at - 4}" r="4" fill="{colours[name]}"/>'
                   f'<text x="{wide - right + 32}" y="{at}">{text}</text>')
        at += 20
    out.append(f'<text x="{wide - right + 14}" y="{at + 6}">filled: not fitted</text>')
    out.append(f'<text x="{(left + wide - right) / 2}" y="{high - 14}" text-anchor="middle">simulated</text>'
               f'<text x="16" y="{(top + high - bottom) / 2}" text-anchor="middle" '
               f'transform="rotate(-90 16 {(top + high - bottom) / 2})">by the law</text></svg>')
    (HERE / "energy_law.svg").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"] and len(sys.argv) == 3:
        measure(sys.argv[2])
    elif sys.argv[1:] == ["fit"]:
        fit()
    else:
        sys.exit(__doc__)
