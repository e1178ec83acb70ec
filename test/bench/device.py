#!/usr/bin/env python3
"""What the compiler says of the device code, and what a GPU could make of it at most: no GPU is needed.

  test/bench/device.py                   bytes and flops of a step's kernels, and the least time of each on three GPUs
  test/bench/device.py FILE.cu...        registers, spills, shared memory and blocks an SM of each kernel (needs nvcc)

Files are those of runtime/kernel/cuda. Both print tables for docs/benchmarks.md.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
ARCHITECTURES = {"80": 164, "90": 228, "100": 228}  # KiB of shared memory of an SM
# Dense bf16 with f32 sums, and memory, by NVIDIA's data sheets (SXM).
DEVICES = {"A100": (312e12, 2.039e12), "H100": (989e12, 3.35e12), "H200": (989e12, 4.8e12)}

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


def roofline():
    """GPT-2 124M in bf16, 32 rows of 1,024 tokens: each launch of a layer, of the loss and of the update."""
    batch, length, width, heads, vocabulary, parameters = 32, 1024, 768, 12, 50257, 124.4e6
    rows = batch * length

    def product(m, k, n):
        return 2 * (m * k + k * n + m * n), 2 * m * k * n

    def pointwise(tensors, elements, flops=8):
        return 2 * tensors * elements, flops * elements

    def with_gelu(m, k, n):
        # In addition the matrix of gelu's inputs; its operations are negligible.
        moved, flops = product(m, k, n)
        return moved + 2 * m * n, flops

    scores = batch * heads * length * length * 64 // 2
    table = [
        ("`matmul`: Q, K, V", *product(rows, width, 3 * width)), ("`matmul`: attention's result", *product(rows, width, width)),
        ("`matmul_gelu`: up", *with_gelu(rows, width, 4 * width)), ("`matmul_gelu_grad`", *with_gelu(rows, width, 4 * width)),
        ("`matmul`: down", *product(rows, 4 * width, width)), ("`matmul`: logits", *product(rows, width, vocabulary)),
        ("`attention`, causal", 2 * 4 * rows * width, 2 * 2 * scores),
        ("`attention_grad`, 7 products instead of 5", 2 * 8 * rows * width, 7 * 2 * scores),
        ("`layer_norm`", *pointwise(2, rows * width)), ("`layer_norm_grad`", *pointwise(3, rows * width, 16)),
        ("`cross_entropy`", *pointwise(1, rows * vocabulary, 4)), ("`cross_entropy_grad`, in place", *pointwise(2, rows * vocabulary, 4)),
        ("`embedding`", *pointwise(2, rows * width, 0)), ("`cast` of the parameters", 6 * parameters, 0),
        ("`power_sum` of the gradients", 4 * parameters, 2 * parameters), ("`adamw`, all parameters, f32", 28 * parameters, 16 * parameters),
    ]
    print("| kernel | MB | GFLOP | FLOP a byte | " + " | ".join(f"{name}, ms" for name in DEVICES) + " | limit |")
    print("|---|---|---|---|" + "---|" * len(DEVICES) + "---|")
    for name, moved, flops in table:
        # Other work runs on plain cores, at a fifteenth of the tensor cores' rate.
        rate = 1 if name.startswith(("`matmul", "`attention")) else 15
        times = [max(flops * rate / peak, moved / memory) for peak, memory in DEVICES.values()]
        limits = {"arithmetic" if flops * rate / peak > moved / memory else "memory" for peak, memory in DEVICES.values()}
        print(f"| {name} | {moved / 1e6:,.0f} | {flops / 1e9:,.1f} | {flops / moved:,.0f} | " + " | ".join(f"{1e3 * t:.3f}" for t in times)
              + " | " + ", ".join(sorted(limits)) + " |")


if __name__ == "__main__":
    compiled(sys.argv[1:]) if len(sys.argv) > 1 else roofline()
