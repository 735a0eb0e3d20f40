#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/calibrating.md, in its order: `calibrating.py PACELINE ROOT`. Its files are written as
it says; what `bench` would measure is made up (tests/fuzz/corpus), and of bench itself only that it takes
its options. Exit status 77 without MPI."""
import os, pathlib, re, shlex, shutil, subprocess, sys, tempfile

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def run(folder, line):
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)


def made_up(name):
    """Lines of kernels for samples.jsonl, of messages for messages.jsonl."""
    lines = (ROOT / "tests/fuzz/corpus/samples/all.jsonl").read_text().splitlines(keepends=True)
    return "".join(l for l in lines if '"complete"' not in l and ('"ranks"' in l) == (name == "messages.jsonl"))


def bench(folder, line):
    """A kernel that does not exist is what is wrong with it, so all else is right."""
    ran = run(folder, line + " --only nothing")
    assert ran.returncode in (2, 3), (line, ran)
    assert re.search("unknown kernel 'nothing'|--only: means nothing to --ranks|^paceline: cuda: ", ran.stderr), (line, ran.stderr)
    words = shlex.split(line)
    if "--out" in words:
        name = words[words.index("--out") + 1]
        (folder / name).write_text(made_up(name))


def try_line(folder, line, on_gpus):
    if line.startswith("paceline bench "):
        return bench(folder, line)
    if on_gpus:  # their samples are not here
        return
    ran = run(folder, line)
    if ran.returncode == 3 and "Open MPI" in ran.stderr:
        sys.exit(77)
    assert ran.returncode == 0 and ran.stdout and not ran.stderr, (line, ran)


def main():
    lines = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        (folder / "bin/paceline").symlink_to(PROGRAM)
        (folder / "scenarios").symlink_to(ROOT / "scenarios")
        shutil.copy(ROOT / "tests/data/nccl-tests/tagged.txt", folder / "all_reduce.txt")
        for kind, text in BLOCK.findall((ROOT / "docs/calibrating.md").read_text()):
            if kind == "yaml":
                (folder / re.match(r"# (\S+)\n", text)[1]).write_text(text)
            for line in text.splitlines() if kind == "sh" else []:
                lines += 1
                try_line(folder, line, "--backend cuda" in text)
    assert lines >= 12, lines


main()
