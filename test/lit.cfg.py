# lit's configuration. `lit test` works from any folder; the build is $SLUICE_BUILD, else build/ in the repository.

import glob
import importlib.util
import os
import subprocess
import shutil
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.environ.get("SLUICE_BUILD", os.path.join(root, "build"))
llvm = "/usr/lib/llvm-22/bin"

sys.path.insert(0, os.path.join(root, "test", "python"))
import browser  # noqa: E402
import testformat  # noqa: E402

config.name = "sluice"
# `--param limit=SECONDS` is the time for all tests.
config.test_format = testformat.TestFormat(int(lit_config.params["limit"]) if "limit" in lit_config.params else None)
config.suffixes = [".mlir", ".test", ".py"]
# Files that GoogleTest programs and other tests read; and the fuzz targets, which run for minutes: test/run.sh runs `lit test/fuzz` in CI.
config.excludes = ["Inputs", "graphs", "reference", "unit", "bench", "fuzz", "corpus", "extend"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(build, "test-output")

config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), llvm, os.environ.get("PATH", "")])
# Modules that scripts of more than one folder import.
config.environment["PYTHONPATH"] = os.path.join(root, "test", "python")
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
config.environment["LC_ALL"] = "C.UTF-8"
config.environment["NO_COLOR"] = "1"
for name in ("SLUICE_REFERENCE", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# lit itself, for tests of the test programs.
config.substitutions.append(("%{lit}", os.path.join(llvm, "lit")))
config.substitutions.append(("%root", root))
config.substitutions.append(("%build", build))
# %expect CODE COMMAND...: the command must exit with that code. With `set -o pipefail` of the shell its failure counts.
config.substitutions.append(("%expect", "python3 " + os.path.join(root, "test", "tools", "expect.py")))
# %processes LAUNCHER RANKS COMMAND...: one process per rank. %same A B: two logs of the same run.
config.substitutions.append(("%processes", "python3 " + os.path.join(root, "test", "tools", "processes.py")))
config.substitutions.append(("%same", "python3 " + os.path.join(root, "test", "tools", "same_run.py")))
config.substitutions.append(("%reference", os.environ.get("SLUICE_REFERENCE", os.path.join(root, "test", "reference"))))

if os.path.exists(os.path.join(build, "bin", "sluice-opt")):
    config.available_features.add("compiler")
# Device code is compiled where nvcc is found.
if glob.glob(os.path.join(build, "runtime", "base", "cuda", "*.fatbin")):
    config.available_features.add("device-code")
if os.path.exists(os.path.join(build, "bin", "bench-cuda")):
    config.available_features.add("benchmarks")
if shutil.which("clang++-22") and glob.glob("/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.fuzzer-*.a"):
    config.available_features.add("fuzzer")
if shutil.which("zstd"):
    config.available_features.add("zstd")
if browser.find():
    config.available_features.add("browser")
# Debian has the parts of `python3 -m venv` in a separate package.
if importlib.util.find_spec("ensurepip"):
    config.available_features.add("venv")
# A container may have no pseudo-terminals.
try:
    for end in os.openpty():
        os.close(end)
    config.available_features.add("terminals")
except OSError:
    pass
cache = os.path.join(build, "CMakeCache.txt")
settings = open(cache).read() if os.path.exists(cache) else ""
if shutil.which("mpirun") and "SLUICE_MPI:INTERNAL=ON" in settings:
    config.available_features.add("mpi")
if "SLUICE_HAVE_TOKENIZERS:INTERNAL=ON" in settings:
    config.available_features.add("tokenizers")

# A Python with NumPy, PyTorch, Hugging Face's transformers and JAX: $SLUICE_PYTHON, else python3. This only checks whether they exist.
python = os.environ.get("SLUICE_PYTHON", "python3")
config.substitutions.append(("%hfpython", python))
for name in ("LD_LIBRARY_PATH",):
    if "SLUICE_PYTHON" in os.environ and name in os.environ:
        config.environment[name] = os.environ[name]
looks = "import importlib.util as u; print(*(m for m in ('numpy', 'torch', 'transformers', 'jax') if u.find_spec(m)))"
try:
    modules = subprocess.run([python, "-c", looks], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL).stdout.split()
    config.available_features.update(f"python-with-{module}" for module in modules)
    if {"torch", "transformers"} <= set(modules):
        config.available_features.add("python-with-torch-and-transformers")
except OSError as problem:
    lit_config.fatal(f"SLUICE_PYTHON: {problem}")
