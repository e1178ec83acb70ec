#!/usr/bin/env python3
"""wheel.py BUILD FOLDER: writes the wheel of the package and the libraries of a build, without a package index.

The wheel has the libraries that Sluice's depend on, with their names, except those that every Linux has by the policy of manylinux. The glibc in its tag is the
newest that a symbol in it needs."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("libsluice.so", "libsluice-compiler.so")
# Of the policies manylinux_2_17 and later. glibc's parts, the loader, and GCC's runtime.
PROVIDED = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libutil|libresolv|libgcc_s|libstdc\+\+)\.so\.\d+$")
# The newest versions that manylinux_2_35 has: those of GCC 12.
GCC_VERSIONS = {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
OLDEST_GLIBC, LARGEST = (2, 17), 40 << 20
REQUIRES = re.compile(r"^  NEEDED\s+(\S+)$", re.M)
RESOLVED = re.compile(r"^\s*(\S+) => (\S+)", re.M)
VERSION = re.compile(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)$", re.M)


def output(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout


def version():
    """That of CMakeLists.txt, which the libraries have too."""
    return re.search(r"^project\(Sluice VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def metadata():
    return f"""Metadata-Version: 2.1
Name: sluice
Version: {version()}
Summary: Compile models for sharded training, predict their memory, and train them
License: see LICENSE
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Provides-Extra: torch
Requires-Dist: torch>=2.9; extra == "torch"
Description-Content-Type: text/markdown

{(ROOT / "README.md").read_text()}"""


def info_folder():
    return f"sluice-{version()}.dist-info"


def dependencies(library):
    """The files of the libraries that the loader takes with this one, by their names, without those of every system."""
    found = dict(RESOLVED.findall(output("ldd", os.fspath(library))))
    pending, names = [os.fspath(library)], {}
    while pending:
        for name in REQUIRES.findall(output("objdump", "-p", pending.pop())):
            if PROVIDED.match(name) or name in names:
                continue
            if not os.path.exists(found.get(name, "")):
                sys.exit(f"error: {library} needs '{name}', which is not on this machine")
            names[name] = found[name]
            pending.append(found[name])
    return names


def needed_glibc(libraries):
    """The newest version of glibc that a symbol needs, as (2, 35)."""
    newest = OLDEST_GLIBC
    for library in libraries:
        for name, text in VERSION.findall(output("objdump", "-p", os.fspath(library)).split("Version References:")[-1]):
            numbers = tuple(map(int, text.split(".")))
            if name == "GLIBC":
                newest = max(newest, numbers[:2])
            elif numbers > GCC_VERSIONS[name]:
                sys.exit(f"error: {library.name} needs {name}_{text}, newer than manylinux_2_35 has")
    return newest


def copyrights(paths):
    """The licenses of other packages' libraries, from where Debian has them."""
    for path in paths:
        for place in (path, os.path.realpath(path), os.path.realpath(path).replace("/usr/lib", "/lib", 1)):
            owner = subprocess.run(["dpkg-query", "-S", place], text=True, capture_output=True).stdout.partition(":")[0]
            text = Path("/usr/share/doc") / owner / "copyright"
            if owner and text.exists():
                yield f"{owner}.txt", text.read_bytes()
                break


def stage(build, folder):
    """Copies the libraries without debug symbols; the paths of those of other packages."""
    others = {}
    for name in LIBRARIES:
        library = Path(build) / "lib" / name
        if not library.exists():
            sys.exit(f"error: '{library}' is missing\nnote: build it first, for example by 'ninja -C {build} wheel'")
        if "$ORIGIN" not in output("readelf", "-d", os.fspath(library)):
            sys.exit(f"error: {name} has no RPATH $ORIGIN: it would not find the libraries of the wheel")
        others.update(dependencies(library))
        shutil.copy(library, folder / name)
    for name, path in others.items():
        shutil.copy(path, folder / name)
    for library in folder.iterdir():
        library.chmod(0o755)
        output("strip", "--strip-unneeded", os.fspath(library))
    return others


class Wheel:
    """A zip file whose last entry lists the others with their digests. Equal contents give equal bytes."""

    def __init__(self, path):
        self.file, self.rows = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6), []

    def add(self, name, data, mode=0o644):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.rows.append(f"{name},sha256={digest},{len(data)}\n")
        self._write(name, data, mode)

    def _write(self, name, data, mode):
        entry = zipfile.ZipInfo(name)  # Of the year 1980.
        entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.file.writestr(entry, data)

    def close(self, record):
        self._write(record, "".join([*self.rows, f"{record},,\n"]).encode(), 0o644)
        self.file.close()


def write(build, folder):
    """Writes the wheel of a build into the folder; its name."""
    folder, info = Path(folder), info_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch)
        others = stage(build, staged)
        libraries = sorted(staged.iterdir())
        tag = "py3-none-manylinux_{}_{}_x86_64".format(*needed_glibc(libraries))
        path = folder / f"sluice-{version()}-{tag}.whl"
        wheel = Wheel(path)
        package = ROOT / "tools" / "python" / "sluice"
        for source in sorted([*package.rglob("*.py"), package / "py.typed"]):
            wheel.add(f"sluice/{source.relative_to(package)}", source.read_bytes())
        for machine in sorted((ROOT / "tools" / "machines").glob("*.toml")):
            wheel.add(f"sluice/machines/{machine.name}", machine.read_bytes())
        for library in libraries:
            wheel.add(f"sluice/lib/{library.name}", library.read_bytes(), 0o755)
        wheel.add(f"{info}/METADATA", metadata().encode())
        wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: sluice\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        wheel.add(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
        for name, text in dict(copyrights(others.values())).items():
            wheel.add(f"{info}/licenses/{name}", text)
        wheel.close(f"{info}/RECORD")
    if path.stat().st_size > LARGEST:
        sys.exit(f"error: {path.name} has {path.stat().st_size} bytes, expected at most {LARGEST}")
    return path.name


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py BUILD FOLDER")
    print(Path(sys.argv[2]) / write(sys.argv[1], sys.argv[2]))


if __name__ == "__main__":
    main()
