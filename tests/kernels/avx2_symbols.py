#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`avx2_symbols.py NM LIBRARY`: the member compiled for AVX2 must share no function with others. Of
equal inline functions the linker keeps any one; a processor without AVX2 could not run it."""
import re, subprocess, sys

nm, library = sys.argv[1:]
text = subprocess.run([nm, "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
members = re.split(r"\n(?=\S+\.o:\n)", text)
own = next((m for m in members if m.lstrip().startswith("eigen_product_avx2_cpu")), None)
if own is None:
    sys.exit("no member eigen_product_avx2_cpu: wrong library?")
shared = [line for line in own.splitlines()[1:]
          if re.match(r"\w+ [WVu] ", line) and "EigenAvx2::" not in line and "DW.ref." not in line]
if "EigenAvx2::" not in own:
    sys.exit("nothing of the renamed namespace: wrong library?")
print("\n".join(shared) or "AVX2 code keeps to itself")
sys.exit(bool(shared))
