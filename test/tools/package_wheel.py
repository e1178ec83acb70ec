"""The wheel: its tag, contents and size, and its use in a new environment, without a network and without libraries from outside."""

# REQUIRES: compiler && venv
# ONE TEST: to write the wheel takes most of the time

import base64
import hashlib
import tarfile
import zipfile
from pathlib import Path

from package import *

BUILD = Path(os.environ["SLUICE_LIBRARIES"]).parent
sys.path.insert(0, str(ROOT / "tools" / "python"))
import build_backend  # noqa: E402
import wheel  # noqa: E402

TARGETS = list(build_backend.TARGETS)
USE = """
import array, sluice
model = sluice.load("mlp", kind="zoo")
plan = sluice.compile(model, {"mesh.shard": 2})
with sluice.Trainer(plan) as trainer:
    entry = next(entry for entry in trainer.description["entries"] if entry["name"] == "train_step")
    inputs = {}
    for port in entry["inputs"]:
        count = 1
        for extent in port["shape"]:
            count *= extent
        letter = {"f32": "f", "i32": "i", "i64": "q"}[port["dtype"]]
        inputs[port["name"]] = memoryview(array.array(letter, [1] * count)).cast("B").cast(letter, port["shape"])
    print(trainer.step(inputs) == trainer.last.loss, sluice.__file__)
"""


@helpers.functools.cache
def built():
    """The wheel of this build."""
    return SCRATCH / "wheel" / wheel.write(BUILD, SCRATCH / "wheel")


@helpers.functools.cache
def environment():
    """A new environment with the wheel; its Python."""
    folder = SCRATCH / "environment"
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--no-index", "--disable-pip-version-check", built())
    return folder / "bin" / "python"


def clean(**more):
    """An environment without the paths of this test."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(SCRATCH), "LC_ALL": "C.UTF-8", **more}


@test
def tag_size_and_record():
    name = built().name
    match = re.fullmatch(r"sluice-([\d.]+)-py3-none-manylinux_2_(\d+)_x86_64\.whl", name)
    expect(match and int(match[2]) <= 35, f"{name}, expected a glibc of at most 2.35")
    expect(built().stat().st_size <= 40 << 20, f"{built().stat().st_size} bytes")
    with zipfile.ZipFile(built()) as archive:
        names = archive.namelist()
        *rows, last = archive.read(f"{wheel.info_folder()}/RECORD").decode().splitlines()
        for row in rows:
            path, digest, size = row.split(",")
            data = archive.read(path)
            wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            expect((digest, size) == (wanted, str(len(data))), f"RECORD of {path}")
        expect_equal(sorted([row.split(",")[0] for row in rows] + [last.split(",")[0]]), sorted(names), "entries of RECORD")
    for entry in ("sluice/__init__.py", "sluice/py.typed", "sluice/torch.py", "sluice/lib/libsluice.so", "sluice/lib/libsluice-compiler.so", "sluice/lib/libgomp.so.1"):
        expect(entry in names, f"the wheel has no '{entry}'")
    second = SCRATCH / "again" / wheel.write(BUILD, SCRATCH / "again")
    expect(second.read_bytes() == built().read_bytes(), "two wheels of one build differ")


@test
def use_in_a_new_environment():
    """LD_DEBUG lists the libraries that the loader takes: those of Linux and of the wheel."""
    done = try_run(environment(), "-c", USE, env=clean(LD_DEBUG="libs"), cwd=SCRATCH)
    expect(done.returncode == 0 and done.stdout.startswith("True") and "site-packages" in done.stdout, f"{done.stdout}\n{done.stderr[-2000:]}")
    loaded = set(re.findall(r"calling init: (\S+)", done.stderr))
    expect(any("libdnnl" in path for path in loaded), f"loaded: {loaded}")
    outside = [path for path in loaded if not path.startswith((str(SCRATCH), sys.base_prefix)) and not wheel.PROVIDED.search(path) and "python" not in path]
    needed = [path for path in outside if Path(path).name in wheel.dependencies(BUILD / "lib" / "libsluice.so")]
    expect_equal(needed, [], "libraries from outside of the wheel")


@test
def pip_builds_it():
    """`pip install .` without a network. In a build that is complete nothing is compiled."""
    folder = SCRATCH / "built"
    run(sys.executable, "-m", "venv", folder)
    done = try_run(folder / "bin" / "python", "-m", "pip", "install", "--no-index", "--disable-pip-version-check", ROOT, env={**os.environ, "SLUICE_BUILD": str(BUILD)})
    expect(done.returncode == 0, f"pip install: {done.stdout}{done.stderr}")
    done = try_run(folder / "bin" / "python", "-c", USE, env=clean(), cwd=SCRATCH)
    expect(done.returncode == 0 and str(folder) in done.stdout, f"{done.stdout}{done.stderr}")


@test
def hooks_of_the_backend():
    commands, info = [], SCRATCH / "info"
    record = lambda command, **options: commands.append([str(word) for word in command])
    kept, build_backend.subprocess.run = build_backend.subprocess.run, record
    try:
        os.environ["SLUICE_BUILD"] = str(SCRATCH / "fresh")
        expect_equal(build_backend.build(), SCRATCH / "fresh", "the folder of the build")
        os.environ["SLUICE_BUILD"] = str(BUILD)
        build_backend.build()
    finally:
        build_backend.subprocess.run = kept
    expect_equal([command[:2] for command in commands], [["cmake", "-G"], ["cmake", "--build"], ["cmake", "--build"]], "commands")
    expect_equal(commands[2][2:], [str(BUILD), "--target", *TARGETS], "targets")
    info.mkdir()
    expect_equal(build_backend.prepare_metadata_for_build_wheel(info), wheel.info_folder(), "metadata")
    with zipfile.ZipFile(built()) as archive:
        expect_equal((info / wheel.info_folder() / "METADATA").read_bytes(), archive.read(f"{wheel.info_folder()}/METADATA"), "METADATA of both hooks")
    if (ROOT / ".git").exists():
        with tarfile.open(SCRATCH / build_backend.build_sdist(SCRATCH)) as archive:
            names = archive.getnames()
        for name in ("PKG-INFO", "pyproject.toml", "CMakeLists.txt", "tools/python/sluice/__init__.py"):
            expect(f"sluice-{wheel.version()}/{name}" in names, f"the source archive has no '{name}'")


@test
def problems_of_a_build():
    def message(function):
        try:
            function()
        except SystemExit as problem:
            return str(problem)
        return "no error"
    (SCRATCH / "empty").mkdir()
    expect("libsluice.so' is missing" in message(lambda: wheel.write(SCRATCH / "empty", SCRATCH / "out")), "a build without libraries")
    bare = SCRATCH / "bare" / "lib"
    bare.mkdir(parents=True)
    shutil.copy("/lib/x86_64-linux-gnu/libm.so.6", bare / "libsluice.so")
    expect("libsluice.so has no RPATH $ORIGIN" in message(lambda: wheel.write(bare.parent, SCRATCH / "out")), "a library without an RPATH")
    kept, wheel.LARGEST = wheel.LARGEST, 1000
    expect("expected at most 1000" in message(lambda: wheel.write(BUILD, SCRATCH / "large")), "a wheel that is too large")
    wheel.LARGEST = kept


main()
