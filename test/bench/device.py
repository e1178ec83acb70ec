#!/usr/bin/env python3
"""Registers, spills, shared memory and blocks an SM of each kernel of device code, by ptxas. Prints a table for docs/benchmarks-notebook.md; needs nvcc.

  test/bench/device.py FILE.cu...        files of runtime/kernel/cuda
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
ARCHITECTURES = {"80": 164, "90": 228, "100": 228}  # KiB of shared memory of an SM

FORMS = """
#include "runtime/kernel/cuda/device/AttentionTensorGrad.h"
#include <cstdio>
#include <initializer_list>
using namespace sluice::cuda;
int main() {
  for (const HeadForm &form : headForms)
    std::printf("attentionTensor%d %d %d\\n", form.D, headThreads, attentionTensorShared(form));
  for (const HeadForm &form : queryForms)
    std::printf("attentionTensorQueries%d %d %d\\n", form.D, headThreads, queriesTensorShared(form));
  for (const HeadForm &form : keyForms)
    for (const char *of : {"Keys", "Values"})
      std::printf("attentionTensor%s%d %d %d\\n", of, form.D, headThreads, keysTensorShared(form));
}
"""


def shapes():
    """Threads and bytes of shared memory of kernels whose header says them; others have 256 threads and 256 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "forms.cpp"), os.path.join(folder, "forms")
        with open(source, "w") as file:
            file.write(FORMS)
        subprocess.run(["c++", "-std=c++20", "-I", ROOT, "-o", program, source], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
    return {name: (int(threads), int(shared)) for name, threads, shared in (line.split() for line in lines if line)}


def blocks_of_sm(registers, threads, shared, memory):
    warps = threads // 32
    by = {"registers": 65536 // (-(-registers * 32 // 256) * 256 * warps), "threads": 64 // warps,
          "shared memory": (memory << 10) // (shared + 1024)}
    least = min(by, key=lambda name: by[name])
    return by[least], least


def compiled(files):
    nvcc = os.environ.get("SLUICE_NVCC", "nvcc")
    known = shapes()
    rows = {}
    for file in files:
        for arch, memory in ARCHITECTURES.items():
            path = os.path.join(ROOT, "runtime/kernel/cuda", os.path.basename(file))
            result = subprocess.run([nvcc, "-std=c++20", "-O3", "--fmad=true", "-Wno-deprecated-gpu-targets", "-I", ROOT, "-gencode",
                                     f"arch=compute_80,code=sm_{arch}", "-Xptxas", "-v", "-cubin", "-o", os.devnull, path],
                                    capture_output=True, text=True)
            if result.returncode != 0:
                sys.exit(f"error: {nvcc} of {path}, expected device code but got: {result.stderr[-400:]}")
            for name, spills, registers in re.findall(r"'(\w+)' for.*?(\d+) bytes spill stores.*?Used (\d+) registers", result.stderr, re.S):
                short = re.sub(r"^sluice_|_(f16|bf16)$", "", name)
                threads, shared = known.get(short, (256, 256))
                blocks, limit = blocks_of_sm(int(registers), threads, shared, memory)
                rows.setdefault((short, threads, shared), {}).setdefault(arch, set()).add((int(registers), int(spills), blocks, limit))
    print("| kernel | threads | shared memory | " + " | ".join(f"sm_{arch}: registers, spilled bytes, blocks, limit" for arch in ARCHITECTURES) + " |")
    print("|---|---|---|" + "---|" * len(ARCHITECTURES))
    for (short, threads, shared), by_arch in sorted(rows.items()):
        cells = ["; ".join(f"{r}, {s}, {b}, {l}" for r, s, b, l in sorted(by_arch[arch])) for arch in ARCHITECTURES]
        print(f"| `{short}` | {threads} | {shared / 1024:.1f} KB | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    compiled(sys.argv[1:])
