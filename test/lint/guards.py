"""Include guards are spelled from the full path, and each file's first line has its name and purpose."""

import re

import lint


def check(root):
    for name, path in lint.files(root, ("dialect", "passes", "runtime", "tools", "test"), (".h", ".cpp")):
        text = path.read_text(errors="replace")
        if not text.startswith("//"):
            yield f"{name}:1: expected a head comment"
        if not name.endswith(".h"):
            continue
        guard = "SLUICE_" + re.sub(r"[^A-Z0-9]", "_", name.upper())
        if f"#ifndef {guard}\n#define {guard}\n" not in text or not text.rstrip().endswith(f"#endif // {guard}"):
            yield f"{name}:1: expected the include guard {guard}"


CLEAN = {"runtime/base/A.h": "// A.h - a\n#ifndef SLUICE_RUNTIME_BASE_A_H\n#define SLUICE_RUNTIME_BASE_A_H\n"
                             "#endif // SLUICE_RUNTIME_BASE_A_H\n"}
PLANTED = [({"runtime/B.h": "// B\n#ifndef SLUICE_BASE_B_H\n#define SLUICE_BASE_B_H\n#endif // SLUICE_BASE_B_H\n"},
            "expected the include guard SLUICE_RUNTIME_B_H"),
           ({"runtime/C.cpp": "int a;\n"}, "expected a head comment")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
