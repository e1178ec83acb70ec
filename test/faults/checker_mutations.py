"""Switches off each refusal of the plan checker and the plan reader, one at a time, and expects a unit test to fail.

usage: python3 test/faults/checker_mutations.py [--list] [--file NAME] [--folder FOLDER]

A copy of the sources is built once, with a condition on the environment variable SLUICE_MUTANT at each site (checker_sites.py). Each test of its
unit-plan, unit-proof and unit-compiled-plans runs once and lists the sites where a mutant decides differently; then these tests run with the mutant of each
site until one fails. checker_equivalent.py has the sites without a difference. Plans are compiled by the build in $SLUICE_BUILD, else build/.
--list prints the sites without a build. --file takes the sites of one file, for example Updates.cpp. --folder keeps the copy and its build in a folder. Exits 1
if a site survives: no test fails without it.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from checker_equivalent import EQUIVALENT
from checker_sites import HEADER, ROOT, find_sources

# Slow tests of memory and random plans are left out.
PROGRAMS = {"unit-plan": "-Fuzz.*:Allocation.*", "unit-proof": "*", "unit-compiled-plans": "*"}
# Tests of a site that run one by one before the others.
FIRST = 3
# Address space of a test program: a mutant may allocate without an end.
MOST_BYTES = 4 << 30


def write(path, data):
    """Leaves a file that has these bytes unchanged, so that it is not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def build(sources, folder):
    """The folder of the test programs of a copy of the sources with all sites."""
    tracked = subprocess.run(["git", "ls-files", "-z", "CMakeLists.txt", "runtime", "passes/solver", "tools", "test"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = tracked.stdout.split("\0")
    # A kept folder may have files that were removed since.
    for path in folder.glob("[!b]*/**/*.*"):
        if path.is_file() and str(path.relative_to(folder)) not in names:
            path.unlink()
    mutated = {source.name: source.mutated().encode() for source in sources}
    for name in names:
        if name and (ROOT / name).is_file():
            write(folder / name, mutated.get(name) or (ROOT / name).read_bytes())
    write(folder / "runtime/plan/check/Mutant.h", HEADER.encode())
    environment = dict(os.environ, CCACHE_BASEDIR=str(folder), CCACHE_NOHASHDIR="1")
    tools = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")) / "bin"
    if not (tools / "sluice-compile").exists():
        sys.exit(f"error: '{tools}/sluice-compile' does not exist: build the compiler first")
    settings = (f"-DSLUICE_TOOLS={tools}", "-DSLUICE_COMPILER=OFF", "-DSLUICE_BENCHMARKS=OFF", "-DSLUICE_CUDA=OFF", "-DSLUICE_TOKENIZERS=OFF",
                "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS")
    for command in (["cmake", "-G", "Ninja", "-S", ".", "-B", "build", *settings], ["ninja", "-C", "build", *PROGRAMS]):
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"error: '{' '.join(command)}' failed in the copy\n{done.stdout[-8000:]}")
    # Plans of an older compiler are compiled again.
    plans = folder / "build/plans"
    shutil.rmtree(plans, ignore_errors=True)
    plans.mkdir()
    return folder / "build/bin"


def run(program, tests, seconds, **variables):
    """True if the tests pass, which take `seconds` without a mutation. A crash, a test without an end and one that takes all memory are failures."""
    # Tests write files, and several run at once.
    with tempfile.TemporaryDirectory(prefix="checker-mutations-") as scratch:
        environment = dict(os.environ, TEST_TMPDIR=scratch, TMPDIR=scratch, SLUICE_KEPT_PLANS=str(program.parent.parent / "plans"), **variables)
        command = ["prlimit", f"--as={MOST_BYTES}", program, "--gtest_fail_fast", "--gtest_brief=1", "--gtest_filter=" + ":".join(tests)]
        try:
            return subprocess.run(command, env=environment, timeout=30 + 20 * seconds, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def tests_of(program, selection):
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={selection}"], check=True, capture_output=True, text=True).stdout
    suite = ""
    for line in listed.splitlines():
        name = line.partition("#")[0].rstrip()
        if name.startswith("  "):
            yield suite + name.strip()
        elif name.endswith("."):
            suite = name


class Tests:
    """The tests that distinguish the mutant of each site: those in which it decides differently. All other tests are the same with it."""

    def __init__(self, folder, pool):
        self.folder, self.seconds, self.of_site = folder, {}, {}
        tests = [(name, test) for name, selection in PROGRAMS.items() for test in tests_of(folder / name, selection)]
        for test, sites in zip(tests, pool.map(self.reached, tests)):
            for site in sites:
                self.of_site.setdefault(site, set()).add(test)

    def reached(self, test):
        """The sites of one test, which must pass."""
        with tempfile.NamedTemporaryFile(prefix="checker-mutations-") as file:
            start = time.monotonic()
            # The first test of a plan compiles it.
            if not run(self.folder / test[0], [test[1]], 30, SLUICE_MUTANT="-1", SLUICE_MUTANT_REACHED=file.name):
                sys.exit(f"error: {test[0]} {test[1]} fails without any mutation")
            self.seconds[test] = time.monotonic() - start
            return [int(line) for line in pathlib.Path(file.name).read_text().split()]

    def survives(self, site, owner):
        """True if all tests pass with the mutant. Short tests come first, before them those of the refusal whose condition the site is in."""
        of_owner = self.of_site.get(owner, set())
        tests = sorted(self.of_site.get(site, ()), key=lambda test: (test not in of_owner, self.seconds[test]))
        programs = {}
        for name, test in tests[FIRST:]:
            programs.setdefault(name, []).append(test)
        for name, group in [(name, [test]) for name, test in tests[:FIRST]] + list(programs.items()):
            seconds = sum(self.seconds[name, test] for test in group)
            if not run(self.folder / name, group, seconds, SLUICE_MUTANT=str(site)):
                return False
        return True


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--file", default="")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    sources = find_sources()
    sites = [(source, *site) for source in sources if source.name.endswith(options.file) for site in source.sites]
    text_of = lambda source, begin, end: " ".join(source.text[begin:end].split())
    if options.list:
        found = set()
        for source, number, kind, begin, end in sites:
            print(f"{source.name}:{source.line(begin)}: {kind}: {text_of(source, begin, end)}")
            found.add((source.name, kind, text_of(source, begin, end)))
        missing = [] if options.file else sorted(set(EQUIVALENT) - found)
        for name, kind, text in missing:
            print(f"{name}: is listed as equivalent, but does not exist: {kind}: {text}")
        return 1 if missing else 0
    with tempfile.TemporaryDirectory(prefix="checker-mutations-") as scratch:
        programs = build(sources, options.folder or pathlib.Path(scratch))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            tests = Tests(programs, pool)
            alive = pool.map(lambda site: tests.survives(site[1], site[0].owner.get(site[1])), sites)
            count, survivors, equivalent, unused = {}, 0, 0, set(EQUIVALENT) if not options.file else set()
            for (source, number, kind, begin, end), lives in zip(sites, alive):
                killed, all_of_kind = count.get(kind, (0, 0))
                count[kind] = killed + (not lives), all_of_kind + 1
                text = text_of(source, begin, end)
                if lives and (source.name, kind, text) in EQUIVALENT:
                    unused.discard((source.name, kind, text))
                    equivalent += 1
                elif lives:
                    survivors += 1
                    unreached = "" if number in tests.of_site else ", it decides no test"
                    print(f"{source.name}:{source.line(begin)}: survives{unreached}: {kind}: {text[:160]}", flush=True)
    for name, kind, text in sorted(unused):
        print(f"{name}: is listed as equivalent, but a test fails or it does not exist: {kind}: {text}")
    print(f"{len(sites)} sites: " + ", ".join(f"{kind} {killed} of {total} killed" for kind, (killed, total) in count.items()) +
          f", {survivors} survive, {equivalent} equivalent")
    return 1 if survivors or unused else 0


if __name__ == "__main__":
    sys.exit(main())
