#!/usr/bin/env python3
"""What nvcc and ptxas make of the kernels of dense operands.

  device_code.py FOLDER             compiles the files to FOLDER
  device_code.py --text FILE        checks the text of one file of PTX
  device_code.py --classes FOLDER   prints the table of docs/cuda-kernels.md from files that were compiled to FOLDER, and compares it with the page

For each kernel of LISTED: its PTX loads and stores 128 bits (or 64 bits, where two types of different size meet; a column sum stores one number), has no arithmetic in f64 and no
division of 64 bits; by ptxas for sm_90 it spills no register, and as many blocks as stated run on an SM (65,536 registers, 2,048 threads, 227 KiB). Exit
code 77 without nvcc.
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.environ.get("SLUICE_ROOT") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FILES = ["Columns", "Dense", "DenseLosses", "DenseNorms", "DenseRope", "DenseSoftmax", "LossAndGradient", "SortedRows"]
TYPES = "(f32|bf16|f16)"
# Kernel, threads, bytes of shared memory, least number of threads on an SM.
LISTED = [
    (rf"(unary|binary|swigluGrad)Dense_{TYPES}", 256, 256, 1024),
    (rf"((cast|accumulate)Dense|castList)_{TYPES}_{TYPES}", 256, 256, 1536),
    (rf"columnSums_{TYPES}", 256, 8320, 1536),
    (r"dense(Layer|Rms)Norm[234]_b?f16", 128, 20608, 1024),
    (r"dense(Layer|Rms)Norm[468]_f32", 128, 41152, 640),
    (rf"dense(Layer|Rms)NormGrad[234]_{TYPES}", 256, 98432, 512),
    (rf"denseCrossEntropyGrad_{TYPES}", 256, 256, 1536),
    (rf"crossEntropyAndGrad_{TYPES}", 512, 100768, 1024),
    (rf"denseRope_{TYPES}", 128, 512, 1280),
    (r"denseSoftmax[234]_b?f16", 128, 16512, 1024),
    (r"denseSoftmax[468]_f32", 128, 32896, 768),
    (rf"denseSoftmaxGrad[234]_{TYPES}", 128, 32896, 768),
    (rf"sumTilesDense_{TYPES}_{TYPES}", 256, 528, 768),
    (r"takeRowsDense", 256, 256, 1536),
]
WIDE = {"ld": re.compile(r"\bld(\.global|\.shared|\.nc|\.L\S+)*\.(v[24]\.[bfu](32|64)|v4\.[bu]16)\b"), "st": re.compile(r"\bst(\.global)?\.(v[24]\.[bfu](32|64)|v4\.[bu]16)\b")}
DOUBLE = re.compile(r"\b(add|sub|mul|fma|div|sqrt|rcp)(\.\w+)*\.f64\b")
DIVISION = re.compile(r"\b(div|rem)\.[su]64\b")


# Kernels of the two benchmark plans, of which --classes counts the PTX instructions.
COUNTED = ["castList_f32_bf16", "binaryDense_bf16", "swigluGradDense_bf16", "columnSums_bf16", "denseLayerNorm3_bf16", "denseLayerNormGrad3_bf16",
           "denseRmsNorm4_bf16", "denseRmsNormGrad4_bf16", "crossEntropyAndGrad_bf16", "denseRope_bf16", "sumTilesDense_bf16_f32", "takeRowsDense"]
FLOAT = r"(add|sub|mul|fma|mad|neg|abs|min|max|setp|selp|set|copysign|testp)(\.\w+)*"
# The first class whose pattern an instruction matches.
CLASSES = [
    ("global", r"(ld|st|atom|red)(\.volatile|\.relaxed)?\.global|ld\.nc|cp\.async\.(ca|cg)"),
    ("shared", r"(ld|st|atom)(\.volatile)?\.shared|ldmatrix"),
    ("special", r"(ex2|lg2|rcp|sqrt|rsqrt|sin|cos|tanh|div)(\.\w+)*\.(f32|f64)"),
    ("conversion", r"cvt(\.\w+)*\.(bf16|f16|f32|f64)(x2)?\b"),
    ("f64", FLOAT + r"\.f64"),
    ("f32", FLOAT + r"\.f32"),
    ("integer", r"(cvt|add|addc|sub|subc|mul|mad|div|rem|min|max|abs|neg|setp|selp|and|or|xor|not|shl|shr|shf|prmt|bfe|bfi|bfind|popc|clz|brev|cnot|lop3|slct|cvta|lea|dp4a|vote|activemask|match)\b"),
    ("control", r"(bra|brx|ret|exit|call|bar|barrier|shfl|membar|fence|cp\.async\.(wait|commit)|griddepcontrol|nanosleep|trap)"),
    ("move", r"(mov|ld\.param|ld\.const|ld\.local|st\.local|ld|st|ld\.v|st\.v)\b"),
]


def counts(text):
    """Instructions by class."""
    found = dict.fromkeys((name for name, _ in CLASSES), 0)
    body = text[text.index("{"):]
    for line in re.sub(r"//.*|\.loc[^;\n]*", "", body).replace("\n", " ").split(";"):
        match = re.search(r"(?:^|[{}\s:])(?:@!?%\w+\s+)?([a-z][a-z0-9_]*(?:\.[\w:]+)*)\s+[^:]*$", line.strip())
        if not match or line.strip().startswith("."):
            continue
        name = next((name for name, pattern in CLASSES if re.match(pattern, match.group(1))), None)
        if name is None:
            raise SystemExit(f"error: no class of instruction '{match.group(1)}'")
        found[name] += 1
    return found


def class_table(folder):
    found = {name: counts(text) for file in FILES for name, text in kernels(os.path.join(folder, f"{file}.ptx")) if name in COUNTED}
    columns = [name for name, _ in CLASSES]
    lines = ["| kernel | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in COUNTED:
        lines.append(f"| `{name}` | " + " | ".join(str(found[name][column]) for column in columns) + " |")
    return "\n".join(lines)


def compiled(folder, name):
    ptx = os.path.join(folder, f"{name}.ptx")
    subprocess.run(["nvcc", "-std=c++20", "-O3", "--fmad=true", "-I", ROOT, "-arch=compute_90", "-ptx", "-o", ptx,
                    os.path.join(ROOT, "runtime/kernel/cuda", f"{name}.cu")], check=True)
    return ptx


def kernels(ptx):
    with open(ptx) as file:
        text = file.read()
    for part in re.split(r"\.visible \.entry sluice_", text)[1:]:
        yield re.match(r"\w+", part).group(), part


def usage(ptx):
    """(registers, spilled bytes) by kernel."""
    result = subprocess.run(["ptxas", "-arch=sm_90", "-v", "-o", os.devnull, ptx], check=True, capture_output=True, text=True)
    found = re.findall(r"'sluice_(\w+)' for.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", result.stderr, re.S)
    return {name: (int(registers), int(stores) + int(loads)) for name, stores, loads, registers in found}


def threads_of_sm(registers, threads, shared):
    warps = threads // 32
    blocks = min(65536 // (-(-registers * 32 // 256) * 256 * warps), 2048 // threads, (227 << 10) // (shared + 1024), 32)
    return blocks * threads


def main():
    os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"
    if not shutil.which("nvcc") or not shutil.which("ptxas"):
        print("skipped: expected nvcc and ptxas of CUDA 13")
        sys.exit(77)
    if sys.argv[1] == "--classes":
        table = class_table(sys.argv[2])
        print(table)
        with open(os.path.join(ROOT, "docs", "cuda-kernels.md")) as file:
            if table not in file.read():
                sys.exit("error: docs/cuda-kernels.md differs from the table")
        return
    given = sys.argv[2:] if sys.argv[1] == "--text" else []
    if not given:
        os.makedirs(sys.argv[1], exist_ok=True)
    wrong, seen, met = [], 0, set()
    for ptx in given or [compiled(sys.argv[1], name) for name in FILES]:
        used = {} if given else usage(ptx)
        for name, text in kernels(ptx):
            for entry in LISTED:
                if not re.fullmatch(entry[0], name):
                    continue
                seen += 1
                met.add(entry)
                _, threads, shared, least = entry
                words = ("ld",) if name.startswith("columnSums") else ("ld", "st")
                wrong += [f"{name}: no {word} of 64 or 128 bits" for word in words if not WIDE[word].search(text)]
                # One thread computes the loss of a row.
                if not name.startswith("crossEntropyAndGrad"):
                    wrong += [f"{name}: arithmetic in f64: {match.group()}" for match in [DOUBLE.search(text)] if match]
                wrong += [f"{name}: division of 64 bits: {match.group()}" for match in [DIVISION.search(text)] if match]
                if given:
                    continue
                registers, spilled = used[name]
                if spilled:
                    wrong.append(f"{name}: {spilled} bytes of registers are spilled")
                if threads_of_sm(registers, threads, shared) < least:
                    wrong.append(f"{name}: {registers} registers, expected {least} threads on an SM but got {threads_of_sm(registers, threads, shared)}")
    if not given:
        wrong += [f"no kernel is named {entry[0]}" for entry in LISTED if entry not in met]
    for line in wrong:
        print(f"error: {line}")
    print(f"{seen} kernels")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
