#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom (docs/architecture.md): `layering.py ROOT` lists every violation, or fails
when there is nothing to look at. `layering.py --self-test` plants violations and expects them."""
import fnmatch, pathlib, re, sys, tempfile

ALLOWED = {  # folder -> folders it may include besides itself
    "base": [], "models": ["base"], "kernels": ["base"],
    "sim": ["base", "models"], "calibrate": ["base", "models"],
    "kernels/hardware_engine": ["base", "models", "sim", "kernels"],
    "kernels/train": ["base", "models", "sim", "kernels"],
    "reports": ["base", "models", "sim"],
    "cli": ["base", "models", "sim", "kernels", "kernels/hardware_engine", "kernels/train",
            "calibrate", "reports"],
    "tests": ["base", "models", "sim", "kernels", "kernels/hardware_engine", "kernels/train",
              "calibrate", "reports", "cli"]}
DOORS = {  # third party -> the files that may include it
    r"nlohmann/": ["base/*.cpp"], r"yaml-cpp/": ["base/*.cpp"], r"CLI/": ["cli/app.cpp", "cli/arguments.cpp"],
    r"boost/": ["sim/verify.cpp", "models/hardware/*", "models/workload/*", "sim/outer/*", "sim/jobs/*"],
    r"Eigen/": ["calibrate/*", "sim/convergence/linear_algebra.cpp", "kernels/*_cpu.cpp"],
    r"simgrid/|xbt/": ["sim/engine/simgrid*.cpp"], r"(smpi/)?mpi\.h": ["kernels/*", "cli/mpi_sweep.cpp"],
    r"cuda|cublas|nccl|nvml": ["kernels/*"], r"catch2/": ["tests/*"], r"benchmark/": ["tests/*", "kernels/measure_benchmark.cpp"]}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)', re.MULTILINE)


def folder_of(file):
    return max((f for f in ALLOWED if file.startswith(f + "/")), key=len, default=None)


def problem(root, file, quote, target):
    here, there = folder_of(file), folder_of(target)
    if quote == '"':
        if not (root / target).is_file():
            return "no such file from the source root"
        return None if there == here or there in ALLOWED[here] else f"{here} must not include {there}"
    doors = next((d for pattern, d in DOORS.items() if re.match(pattern, target)), ["*"])
    return None if any(fnmatch.fnmatch(file, d) for d in doors) else f"only in {', '.join(doors)}"


def check(root):
    files = sorted(p for folder in ALLOWED if "/" not in folder for p in (root / folder).rglob("*")
                   if p.suffix in (".hpp", ".cpp", ".cu", ".cuh", ".def"))
    found = []
    for path in files:
        file, text = path.relative_to(root).as_posix(), path.read_text()
        for m in INCLUDE.finditer(text):
            why = problem(root, file, m[1], m[2])
            if why:
                found.append(f"{file}:{text.count(chr(10), 0, m.start(2)) + 1}: {m[2]}: {why}")
    return files, found


def self_test():
    planted = {"base/a.hpp": '#include "models/m.hpp"\n', "models/m.hpp": '#include "base/b.hpp"\n',
               "base/b.hpp": "#include <vector>\n", "base/b.cpp": "#include <yaml-cpp/yaml.h>\n",
               "models/x.cpp": "#include <nlohmann/json.hpp>\n", "sim/s.cpp": '#include "reports/r.hpp"\n',
               "reports/r.hpp": '  #  include "s.hpp"\n', "cli/app.cpp": "#include <CLI/CLI.hpp>\n", "cli/c.cpp": "#include <CLI/CLI.hpp>\n",
               "sim/engine/e.cpp": "#include <CLI/CLI.hpp>\n#include <simgrid/s4u.hpp>\n",
               "sim/t.cpp": '#include "tests/t.hpp"\n', "tests/t.hpp": '#include "cli/c.cpp"\n',
               "kernels/hardware_engine/h.cpp": '#include "sim/s.cpp"\n', "kernels/k.cpp": '#include "sim/s.cpp"\n',
               "kernels/train/t.cpp": '#include "sim/s.cpp"\n#include "kernels/k.cpp"\n#include "cli/c.cpp"\n',
               "kernels/l.cpp": '#include "kernels/train/t.cpp"\n'}
    expected = ["base/a.hpp:1", "models/x.cpp:1", "kernels/k.cpp:1", "sim/s.cpp:1", "reports/r.hpp:1", "cli/c.cpp:1",
                "sim/engine/e.cpp:1", "sim/engine/e.cpp:2", "sim/t.cpp:1", "kernels/l.cpp:1",
                "kernels/train/t.cpp:3"]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in planted.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        got = [line.split(": ")[0] for line in check(pathlib.Path(folder))[1]]
    return [] if sorted(got) == sorted(expected) else [f"expected {sorted(expected)}, got {sorted(got)}"]


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        failures = self_test()
    else:
        files, failures = check(pathlib.Path(sys.argv[1]))
        failures += [] if files else [f"no sources below {sys.argv[1]}"]
    print("\n".join(failures) or "layering: fine")
    sys.exit(bool(failures))
