"""Runs the programs that ctest knows and the lit suite, lists failures and skips, and counts.

usage: run_tests.py ROOT BUILD

Where neither a file of the tree, nor a program, nor an installed package, nor SLUICE_* has changed since a run without a
failure, it says so and gives that run's count. SLUICE_TEST_AGAIN=1 runs all in any case.

A GoogleTest program counts by its tests, another program as one. A program that dies counts as one failure beside the
tests that it finished. The long ones, and lit, run in parts, so that every worker has something to do until the end.
"""

import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LIT = "/usr/lib/llvm-22/bin/lit"
TIMEOUT = 900
# For two cores: tests of ranks wait for each other's processes and files a tenth of their time.
WORKERS = 3
# Programs that run in parts, and in how many; lit as well.
PARTS = {"numeric": 6}
LIT_PARTS = 8
# Tests of lit that wait for time-outs more than they compute: one worker more runs them beside the rest.
WAITING = r"faults\.test"


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []


def tail(text, lines=40):
    return "\n".join(text.splitlines()[-lines:])


def run_program(name, command, folder, results, part=0, parts=1):
    """Runs one program of ctest's list, or one part of its tests; returns what it counted."""
    tally = Tally()
    title = name if parts == 1 else f"{name}-{part + 1}"
    report = results / f"{title}.xml"
    report.unlink(missing_ok=True)
    environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(parts), GTEST_SHARD_INDEX=str(part))
    try:
        done = subprocess.run(command + [f"--gtest_output=xml:{report}"], cwd=folder, timeout=TIMEOUT, text=True,
                              env=environment if parts > 1 else None, errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        partial = late.stdout or ""
        code, output = f"no end after {TIMEOUT} s", partial if isinstance(partial, str) else partial.decode(errors="replace")
    except OSError as error:
        code, output = "never begun", str(error)
    (results / f"{title}.log").write_text(output)
    if not report.exists():
        if code == 0:
            tally.passed += 1
        else:
            tally.failed.append((name, f"exit {code}\n{tail(output)}"))
        return tally
    for case in ElementTree.parse(report).iter("testcase"):
        title = f"{name}: {case.get('classname')}.{case.get('name')}"
        failures = [failure.get("message", "") for failure in case.findall("failure")]
        skip = case.find("skipped")
        if failures:
            tally.failed.append((title, "\n".join(failures)))
        elif skip is not None:
            reason = skip.get("message") or skip.text or "no reason given"
            tally.skipped.append((title, reason.strip().splitlines()[-1]))
        elif case.get("status") == "run":
            tally.passed += 1
    if code != 0 and not tally.failed:
        tally.failed.append((name, f"exit {code}\n{tail(output)}"))
    return tally


def programs_of(build):
    """Name, command and folder of each program, those in parts first."""
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True, text=True, stdout=subprocess.PIPE)
    programs = []
    for test in json.loads(listing.stdout)["tests"]:
        folder = next((p["value"] for p in test.get("properties", []) if p["name"] == "WORKING_DIRECTORY"), str(build))
        # ctest gives no command where the program was not built.
        programs.append((test["name"], test.get("command", [test["name"]]), folder))
    return sorted(programs, key=lambda program: program[0] not in PARTS)


def run_lit(root, build, results, title, *selection):
    """Runs the tests of lit that the options select."""
    tally = Tally()
    report = results / f"{title}.json"
    report.unlink(missing_ok=True)
    environment = dict(os.environ, SLUICE_BUILD=str(build))
    try:
        # In order of name: lit's own order changes with what the other parts have just run, and parts are cut from it.
        done = subprocess.run([LIT, "-q", "-j1", "--order=lexical", *selection, "-o", str(report), str(root / "test")], env=environment,
                              timeout=TIMEOUT, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        tally.failed.append(("lit", f"no end after {TIMEOUT} s"))
        return tally
    (results / f"{title}.log").write_text(done.stdout)
    if not report.exists():
        tally.failed.append(("lit", f"exit {done.returncode}\n{tail(done.stdout)}"))
        return tally
    for test in json.loads(report.read_text())["tests"]:
        name, code, output = test["name"], test["code"], test.get("output", "")
        if code in ("PASS", "XFAIL", "FLAKYPASS"):
            tally.passed += 1
        elif code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            tally.skipped.append((name, output.strip().splitlines()[-1] if output.strip() else code.lower()))
        else:
            tally.failed.append((name, f"{code}\n{tail(output)}"))
    return tally


def state_of(root, build):
    """A digest of all that a test may read; none where the tree is no checkout."""
    listing = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    if listing.returncode != 0:
        return None
    files = [root / os.fsdecode(name) for name in sorted(set(listing.stdout.split(b"\0"))) if name]
    files += sorted((build / "bin").iterdir()) + [Path("/var/lib/dpkg/status")]
    digest = hashlib.sha256()
    for setting in sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("SLUICE_")):
        digest.update(setting.encode() + b"\0")
    for path in files:
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
        digest.update(f"{path} {content}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def say_unchanged(record):
    for name, reason in record["skipped"]:
        print(f"skipped: {name}: {reason}")
    print(f"tests: nothing has changed since these ran, at {record['ended']}; SLUICE_TEST_AGAIN=1 runs them again")
    print(f"{record['passed']} passed, 0 failed, {len(record['skipped'])} skipped")


def main():
    root, build = Path(sys.argv[1]), Path(sys.argv[2])
    results = build / "results"
    results.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    green, state = results / "green.json", state_of(root, build)
    if green.exists() and state is not None and "SLUICE_TEST_AGAIN" not in os.environ:
        record = json.loads(green.read_text())
        if record["state"] == state:
            return say_unchanged(record)
    green.unlink(missing_ok=True)
    tallies = []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool, concurrent.futures.ThreadPoolExecutor(1) as beside:
        jobs = [("lit, what waits", beside.submit(run_lit, root, build, results, "lit-waiting", f"--filter={WAITING}"))]
        programs = programs_of(build)
        for program in programs:
            parts = PARTS.get(program[0], 0)
            jobs += [(f"{program[0]}, part {part + 1} of {parts}", pool.submit(run_program, *program, results, part, parts))
                     for part in range(parts)]
        jobs += [(f"lit, part {part + 1} of {LIT_PARTS}",
                  pool.submit(run_lit, root, build, results, f"lit-{part + 1}", f"--filter-out={WAITING}", f"--num-shards={LIT_PARTS}",
                              f"--run-shard={part + 1}")) for part in range(LIT_PARTS)]
        jobs += [(program[0], pool.submit(run_program, *program, results))
                 for program in programs if program[0] not in PARTS]
        for name, job in jobs:
            tally = job.result()
            print(f"tests: {name}: {tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped", flush=True)
            tallies.append(tally)
    failed = [item for tally in tallies for item in tally.failed]
    skipped = [item for tally in tallies for item in tally.skipped]
    for name, text in failed:
        print(f"failed: {name}\n{text}\n")
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
    print(f"tests: {time.monotonic() - begin:.0f} s; logs are in {results}")
    passed = sum(tally.passed for tally in tallies)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    if failed:
        sys.exit(1)
    if state is not None and state == state_of(root, build):
        ended = time.strftime("%Y-%m-%d %H:%M:%S")
        green.write_text(json.dumps({"state": state, "ended": ended, "passed": passed, "skipped": skipped}))


if __name__ == "__main__":
    main()
