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

*Buffers* are messages that a boundary (one pass from one stage to a rank) must hold so that nobody waits for ever, where
a sender waits at a full buffer before it goes on. The figure is the least: with one fewer, ranks wait in a ring. Without
changing the published order it cannot be less:

- gis with groups of p (4 ranks, 1 buffer): rank 0 cannot hand 3B2 to rank 3, whose buffer is full, and rank 3 cannot hand
  4F5 to rank 0. p/2 buffers are needed, 1 with groups of p/2.
- breadth-first and zeropp with a unit of all microbatches (4 ranks, 2 chunks, 8 microbatches, 1 buffer): rank 0 is still
  at the first chunk when rank 3 begins to send for the second; 0 waits for 1, 1 for 2, 2 for 3 and 3 for 0. The more microbatches
  than ranks, the more buffers (m - p + 1 are always enough). zeropp with its own units needs 2 from 8 ranks on: rank 6
  cannot hand 15F6 to 7, nor 7 hand 6B1 to 6.

Where senders keep what does not fit and go on, as under `dispatch: ready`, one buffer is enough for every schedule.

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
