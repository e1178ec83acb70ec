"""capi_symbols.py HEADER MAP LIBRARY: the functions that a C header declares are those of the linker's version script and
those that the shared library exports, and the library needs no library that its users do not have."""

import re
import subprocess
import sys
from pathlib import Path

REFUSED = re.compile(r"LLVM|MLIR|icu|pcre|sentencepiece|mpi|spdlog")


def declared(header):
    return set(re.findall(r"^SLUICE_API\b[^;(]*?\b(sluice_\w+)\(", header, re.M))


def listed(script):
    return set(re.findall(r"^\s+(\w+);$", script, re.M))


def exported(nm):
    """Names of `nm -D --defined-only`, without the node of the version script."""
    return {line.split()[2].partition("@")[0] for line in nm.splitlines() if line.split()[1] != "A"}


def differences(header, script, nm, dynamic):
    functions = declared(header)
    for name, others in (("the version script", listed(script)), ("the library", exported(nm))):
        for function in sorted(functions ^ others):
            yield f"{function}: " + (f"declared, but not in {name}" if function in functions else f"in {name}, but not declared")
    for needed in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
        if REFUSED.search(needed):
            yield f"the library needs {needed}"


def self_test():
    header = "SLUICE_API int sluice_a(void);\nSLUICE_API sluice_status *\nsluice_b(int x);\n"
    script = "X {\n  global:\n    sluice_a;\n    sluice_b;\n  local:\n    *;\n};\n"
    nm = "0000 T sluice_a@@X\n0000 A X\n0000 T sluice_b@@X\n"
    assert not list(differences(header, script, nm, "NEEDED [libc.so.6]"))
    for planted in ((header, script.replace("    sluice_b;\n", ""), nm, ""), (header, script, nm + "0000 T _ZN6sluiceE\n", ""),
                    (header + "SLUICE_API void sluice_c(void);\n", script, nm, ""), (header, script, nm, "NEEDED [libLLVM.so.22]")):
        assert list(differences(*planted)), planted
    print("self-test: 4 planted differences found")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    files = [Path(path).read_text() for path in sys.argv[1:3]]
    outputs = [subprocess.run([*command, sys.argv[3]], check=True, capture_output=True, text=True).stdout
               for command in (["nm", "-D", "--defined-only"], ["readelf", "-d"])]
    found = list(differences(*files, *outputs))
    print("\n".join(found) or f"{len(declared(files[0]))} functions")
    sys.exit(bool(found))
