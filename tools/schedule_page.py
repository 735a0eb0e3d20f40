#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schedules.md and a picture of every schedule: what `paceline list schedules` says.

usage: schedule_page.py PACELINE DOCS-FOLDER
"""
import json
import pathlib
import subprocess
import sys

HEAD = """# Schedules

What `paceline list schedules` knows, drawn and measured by Paceline itself; `tools/update_schedules.sh` writes this
page and its pictures again. p ranks with v chunks each run m microbatches; F, B, W and BW are what a rank takes for
its share of one microbatch, and activations are counted in microbatches on all layers of a rank. In the pictures and
in the table passes take 1, but BW 2 and updates and messages nothing. *Makespan* counts idle time over all ranks from
the first action to the last, *longest stage* over one rank: they differ where steps may overlap.

A schedule of your own is a file: `schedule: {file: my.txt}`, see [formats.md](formats.md#a-schedule-of-your-own).
`paceline validate schedules` compares schedules with published figures and with their closed forms.

"""
FIGURES = [("shape", "drawn for"), ("idle of the makespan", "idle, makespan"),
           ("idle of the longest stage", "idle, longest stage"), ("peak activations", "peak activations"),
           ("receive buffers", "buffers"), ("messages per microbatch", "messages"), ("staleness", "staleness")]
WORDS = ["placement", "order", "bubble", "peak", "options", "paper"]


def ask(binary, *arguments):
    return subprocess.run([binary, "list", "schedules", *arguments], check=True, capture_output=True, text=True).stdout


def cell(text):
    return text.replace("|", "\\|").replace("*", "\\*")


def main(binary, folder):
    pictures = pathlib.Path(folder, "schedules")
    pictures.mkdir(exist_ok=True)
    for old in pictures.glob("*.svg"):
        old.unlink()
    names = [entry["name"] for entry in json.loads(ask(binary, "--json", "-"))["entries"]]
    rows, sections = [], []
    for name in names:
        entry = json.loads(ask(binary, name, "--json", "-"))
        facts = {fact["key"]: fact["value"] for fact in entry["facts"]}
        ask(binary, name, "--svg", str(pictures / f"{name}.svg"))
        rows.append([f"[{name}](#{name})"] + [cell(facts.get(key, "–")) for key, _ in FIGURES])
        words = "\n".join(f"- {key}: {cell(facts[key])}" for key in WORDS if key in facts)
        summary = cell(entry["summary"])
        sections.append(f"## {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n{words}\n\n"
                        f"![{name}](schedules/{name}.svg)\n")
    lines = ["| schedule | " + " | ".join(title for _, title in FIGURES) + " |", "|---" * (len(FIGURES) + 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    page = HEAD + "\n".join(lines) + "\n\n" + "\n".join(sections)
    pathlib.Path(folder, "schedules.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
