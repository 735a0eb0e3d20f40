#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ptxas says of kernels (-Xptxas=-v), one line per kernel and architecture.
`ptxas.py run COMMAND...` compiles, and keeps those lines beside the object instead of printing them.
`ptxas.py report COMPILER OUT HOT OBJECT...` writes the figures of all objects to OUT; fails when a kernel
named in HOT ("file.cu kernel..." per line, or a file for all of its kernels) spills registers or is not there.
`ptxas.py compare OUT HOT RECORD` compares those of HOT with RECORD, which PACELINE_UPDATE_GOLDEN=1 writes;
exit status 1 where they differ or one of ARCHITECTURES is missing, 77 where another compiler made RECORD.
`ptxas.py --self-test`."""
import contextlib, difflib, io, os, pathlib, re, subprocess, sys, tempfile

ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '(\S+)' for '(\w+)'")
PROPERTIES = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"ptxas info\s*: Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
COLUMNS = ["registers", "spill-stores", "spill-loads", "stack", "shared"]
ARCHITECTURES = ["sm_80", "sm_90", "sm_100"]
FORMATS = {"8, 7": "bf16", "5, 10": "fp16", "4, 3": "e4m3", "5, 2": "e5m2"}


def said_by_ptxas(line):
    return line.startswith("ptxas info") or PROPERTIES.search(line) is not None


def run(command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    lines = done.stderr.splitlines(keepends=True)
    sys.stderr.writelines(line for line in lines if not said_by_ptxas(line))
    if "-o" in command and done.returncode == 0:
        record = pathlib.Path(command[command.index("-o") + 1] + ".ptxas")
        record.write_text("".join(line for line in lines if said_by_ptxas(line)))
    return done.returncode


def parse(text):
    """(mangled name, architecture, figures) of every kernel. Functions that kernels call have
    properties of their own, which are not counted: only those between an entry and its registers."""
    found, entry, properties = [], None, None
    for line in text.splitlines():
        if m := ENTRY.search(line):
            entry, properties, mine = m.groups(), (0, 0, 0), False
        elif entry and "Function properties for" in line:
            mine = line.split()[-1] == entry[0]
        elif entry and mine and (m := PROPERTIES.search(line)):
            properties = tuple(map(int, m.groups()))
        elif entry and (m := USED.search(line)):
            shared = SHARED.search(line)
            stack, stores, loads = properties
            figures = [int(m[1]), stores, loads, stack, int(shared[1]) if shared else 0]
            found.append((*entry, figures))
            entry = None
    return found


def readable(names):
    """"forward<bf16>" for "_ZN8paceline…": without namespaces, arguments and result."""
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    result = {}
    for name, text in zip(names, done.stdout.splitlines()):
        text = text.replace("(anonymous namespace)::", "")
        text = re.sub(r"paceline::numeric::Stored<paceline::numeric::Format<(\d+, \d+),[^<>]*>, unsigned \w+>",
                      lambda m: FORMATS.get(m[1], m[1]), text)
        text = re.sub(r"\([\w:]+\)(\d)", r"\1", text)  # values of enumerations among template arguments
        text = text.split("(")[0].removeprefix("void ")
        result[name] = re.sub(r"\b\w+::", "", text).replace(" ", "")
    return result


def figures(objects):
    """(file, kernel, architecture, figures), sorted."""
    rows = []
    for path in objects:
        record = pathlib.Path(str(path) + ".ptxas")
        if not record.exists():
            raise SystemExit(f"ptxas: {record} is missing: build {path} again")
        kernels = parse(record.read_text())
        names = readable([k[0] for k in kernels]) if kernels else {}
        rows += [(pathlib.Path(path).name.removesuffix(".o"), names[n], a, f) for n, a, f in kernels]
    return sorted(rows)


def hot_lines(text):
    """(number, file, kernels) of the lines of a list of hot kernels; none of a file named: all of it."""
    for number, line in enumerate(text.splitlines(), 1):
        if words := line.split("#")[0].split():
            yield number, words[0], words[1:]


def is_hot(row, file, kernels):
    return row[0] == file and (not kernels or row[1].split("<")[0] in kernels)


def problems(rows, hot_text):
    found = []
    for number, file, kernels in hot_lines(hot_text):
        for name in kernels or [None]:
            if not any(is_hot(row, file, [name] if name else []) for row in rows):
                found.append(f"line {number}: there is no kernel '{' '.join(filter(None, (file, name)))}'")
        for row in rows:
            f = row[3]
            if is_hot(row, file, kernels) and (f[1] or f[2]):
                found.append(f"{file}: hot kernel {row[1]} spills registers on {row[2]}: "
                             f"{f[1]} bytes of stores, {f[2]} bytes of loads")
    return found


def report(compiler, out, hot, objects):
    rows = figures(objects)
    table = [["file", "kernel", "architecture", *COLUMNS]]
    table += [[file, kernel, arch, *map(str, f)] for file, kernel, arch, f in rows]
    widths = [max(map(len, column)) for column in zip(*table)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in table]
    pathlib.Path(out).write_text(f"# nvcc {compiler}\n# Registers of a thread, bytes of a thread; "
                                 "bytes of static shared memory of a block.\n" + "\n".join(lines) + "\n")
    failures = problems(rows, pathlib.Path(hot).read_text())
    for failure in failures:
        print(f"ptxas: {failure}", file=sys.stderr)
    if failures:
        os.utime(out, (0, 0))  # to look at, and older than everything it is made of
    return bool(failures)


def compare(out, hot, record):
    header, _, _, *lines = pathlib.Path(out).read_text().splitlines()
    lists, found = list(hot_lines(pathlib.Path(hot).read_text())), {}
    for row in map(str.split, lines):
        if any(is_hot(row, file, kernels) for _, file, kernels in lists):
            found.setdefault((row[0], row[1]), {})[row[2]] = row[3:]
    said = [header, "# Of " + ", ".join(ARCHITECTURES) + ": registers of a thread, bytes it spills (stored, loaded), "
            "bytes of static shared memory of a block."]
    for kernel, of in found.items():
        if missing := [a for a in ARCHITECTURES if a not in of]:
            print(f"ptxas: {out} has no figures of {' '.join(kernel)} on {', '.join(missing)}", file=sys.stderr)
            return 1
        said.append(" ".join([*kernel, *("/".join(of[a][i] for a in ARCHITECTURES) for i in (0, 1, 2, 4))]))
    said = "\n".join(said) + "\n"
    recorded = pathlib.Path(record)
    if os.environ.get("PACELINE_UPDATE_GOLDEN"):
        recorded.write_text(said)
    there = recorded.read_text()
    if there.splitlines()[0] != header:
        print(f"ptxas: {record} is of another compiler, {there.splitlines()[0][2:]}", file=sys.stderr)
        return 77
    sys.stdout.writelines(difflib.unified_diff(there.splitlines(True), said.splitlines(True), str(record), str(out)))
    if there != said:
        print("ptxas: PACELINE_UPDATE_GOLDEN=1 writes them; look at what changed first", file=sys.stderr)
    return int(there != said)


SAMPLE = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN1a4slowIfEEvPT_' for 'sm_80'
ptxas info    : Function properties for _ZN1a6helperEv
    40 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for _ZN1a4slowIfEEvPT_
    8 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 128 bytes smem, 380 bytes cmem[0]
ptxas info    : Compile time = 3.1 ms
ptxas info    : Compiling entry function '_ZN1a4fastEv' for 'sm_90'
ptxas info    : Function properties for _ZN1a4fastEv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 22 registers, 380 bytes cmem[0]
"""


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        obj = folder + "/x_cuda.cu.o"
        code = "import sys; sys.stderr.write(%r + 'x.cu(3): warning: kept\\n')" % SAMPLE
        compiled = subprocess.run([sys.executable, __file__, "run", sys.executable, "-c", code, "-o", obj],
                                  capture_output=True, text=True)
        rows = figures([obj])
        expected = [("x_cuda.cu", "fast", "sm_90", [22, 0, 0, 0, 0]),
                    ("x_cuda.cu", "slow<float>", "sm_80", [255, 16, 12, 8, 128])]
        hot = pathlib.Path(folder, "hot")
        hot.write_text("x_cuda.cu fast\n")
        fine = report("13", folder + "/out", hot, [obj])
        hot.write_text("x_cuda.cu slow\n")
        with contextlib.redirect_stderr(io.StringIO()):
            spilling = report("13", folder + "/out", hot, [obj])
        checks = {
            "the compiler's own words are passed on": compiled.stderr == "x.cu(3): warning: kept\n",
            "figures": rows == expected,
            "no complaint": problems(rows, "# none\nx_cuda.cu fast\n") == [],
            "a spill is found": "spills registers on sm_80: 16" in "".join(problems(rows, "x_cuda.cu slow")),
            "a spill of a file is found": len(problems(rows, "x_cuda.cu")) == 1,
            "a name that is no kernel": len(problems(rows, "x_cuda.cu gone fast\ny_cuda.cu\n")) == 2,
            "exit status, and a table that is made again": not fine and spilling and
                pathlib.Path(folder, "out").stat().st_mtime == 0,
        }
        hot.write_text("")
        report("13", folder + "/out", hot, [obj])
        hot.write_text("x_cuda.cu fast\n")
        asked = lambda update: subprocess.run(
            [sys.executable, __file__, "compare", folder + "/out", str(hot), folder + "/record"], capture_output=True,
            env={**os.environ, "PACELINE_UPDATE_GOLDEN": update}).returncode
        record, out = pathlib.Path(folder, "record"), pathlib.Path(folder, "out")
        checks["an architecture is missing"] = asked("1") == 1
        fast = [line for line in out.read_text().splitlines() if " fast " in line][0]
        out.write_text(out.read_text() + "".join(fast.replace("sm_90", a) + "\n" for a in ("sm_80", "sm_100")))
        checks["figures are recorded, and are the same again"] = asked("1") == 0 and asked("") == 0
        record.write_text(record.read_text().replace("22/22/22", "22/23/22"))
        checks["other figures are found"] = asked("") == 1
        record.write_text(record.read_text().replace("nvcc 13", "nvcc 12"))
        checks["those of another compiler are not compared"] = asked("") == 77
        failing = subprocess.run([sys.executable, __file__, "run", "false", "-o", obj]).returncode
        checks["a failing compiler fails"] = failing == 1
    failed = [name for name, fine in checks.items() if not fine]
    print("\n".join(f"FAILED: {name}" for name in failed) or "ptxas: fine")
    return bool(failed)


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:2] == ["run"] and len(sys.argv) > 2:
        sys.exit(run(sys.argv[2:]))
    if sys.argv[1:2] == ["report"] and len(sys.argv) > 4:
        sys.exit(report(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]))
    if sys.argv[1:2] == ["compare"] and len(sys.argv) == 5:
        sys.exit(compare(*sys.argv[2:]))
    sys.exit(__doc__)
