"""The build backend of `pip install .` (PEP 517): CMake builds the two libraries in build/, or $SLUICE_BUILD, and wheel.py writes the wheel.

An existing build is continued. Nothing is downloaded."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wheel  # noqa: E402

TARGETS = ("sluice_capi", "sluice_compiler_capi")


def build():
    """Builds the libraries; the folder of the build."""
    folder = Path(os.environ.get("SLUICE_BUILD", wheel.ROOT / "build"))
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-G", "Ninja", "-S", wheel.ROOT, "-B", folder, "-DSLUICE_TESTS=OFF", "-DSLUICE_BENCHMARKS=OFF"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", *TARGETS], check=True)
    return folder


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return wheel.write(build(), wheel_directory)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = Path(metadata_directory) / wheel.info_folder()
    info.mkdir()
    (info / "METADATA").write_text(wheel.metadata())
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: sluice\nRoot-Is-Purelib: false\n")
    return info.name


def build_sdist(sdist_directory, config_settings=None):
    """The files of the repository that git tracks."""
    name = f"sluice-{wheel.version()}"
    listed = subprocess.run(["git", "-C", wheel.ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout
    information = Path(sdist_directory) / "PKG-INFO"
    information.write_text(wheel.metadata())
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.add(information, f"{name}/PKG-INFO")
        for path in sorted(filter(None, listed.split(b"\0"))):
            archive.add(os.path.join(wheel.ROOT, os.fsdecode(path)), f"{name}/{os.fsdecode(path)}")
    information.unlink()
    return f"{name}.tar.gz"
