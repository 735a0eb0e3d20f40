#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what documents show: `documents.py PACELINE ROOT PAGE...`. A block "```yaml NAME" or "```json NAME"
becomes a file; in a block "```console" every line "$ command" is run, and the lines below it must come in its
output, in their order and without gaps but where "..." stands."""
import os, pathlib, re, subprocess, sys, tempfile

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.M | re.S)


def run(folder, command):
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "LC_ALL": "C", "NO_COLOR": "1",
                   "ASAN_OPTIONS": "detect_leaks=0"}
    ran = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode in (0, 1) and not ran.stderr, (command, ran.returncode, ran.stderr)
    return [line.rstrip() for line in ran.stdout.splitlines()]


def compare(page, command, shown, output):
    at, gap = 0, False
    for line in (line.rstrip() for line in shown):
        if line == "...":
            gap = True
            continue
        found = next((i for i in range(at, len(output) if gap else min(at + 1, len(output))) if output[i] == line), None)
        if found is None:
            sys.exit(f"{page}: `{command}` does not print\n  {line}\nafter its line {at}; it prints\n" +
                     "\n".join("  " + printed for printed in output))
        at, gap = found + 1, False


def try_page(page):
    commands = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        (folder / "bin/paceline").symlink_to(PROGRAM)
        (folder / "scenarios").symlink_to(ROOT / "scenarios")
        for kind, file, text in BLOCK.findall((ROOT / page).read_text()):
            if file:
                (folder / file).write_text(text)
            if kind != "console":
                continue
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, *shown = part.splitlines()
                compare(page, command, shown, run(folder, command))
                commands += 1
    return commands


total = sum(try_page(page) for page in sys.argv[3:])
assert total >= len(sys.argv) - 3, "a page without commands"
