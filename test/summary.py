"""Reads the JUnit files of ctest and lit, prints failures with their output, each skip with its reason, and the counts.

usage: summary.py [--limit SECONDS] FILE...

Exits 1 on a failure, on a file that is missing, and where no test ran. A test that ctest could not start is a failure, not a skip. So is a
test that has not finished within SECONDS: lit's results have it (testformat.py). ctest's have it only as a failure without a reason, or not at all
if it was not started, so NAME.log (ctest's output) and NAME.json (its list of tests) are read if they are in the folder of NAME.xml.
"""

import argparse
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

CTEST_SKIPS = ("SKIP_REGULAR_EXPRESSION_MATCHED", "SKIP_RETURN_CODE")


def reason_of(case, message):
    """ctest gives no reason but the test's output, in which GoogleTest prints it in the line after 'Skipped'."""
    if message not in CTEST_SKIPS:
        return message
    found = re.search(r": Skipped\n(.*)", case.findtext("system-out") or "")
    return found[1].strip() if found else "no reason given"


def short(name):
    return name.partition("  # GetParam()")[0]


def beside(path, suffix):
    """The text of a file that ctest writes in addition to its results, or an empty one."""
    other = path.removesuffix(".xml") + suffix
    if not os.path.exists(other):
        return ""
    with open(other, errors="replace") as file:
        return file.read()


def read(path, limit):
    """(name, "passed" | "failed" | "skipped", text) of each test in a file."""
    found = set()
    ended = {short(name) for name in re.findall(r"^\s+\d+ - (.+) \(Timeout\)$", beside(path, ".log"), re.M)}
    for case in ElementTree.parse(path).iter("testcase"):
        name, group = short(case.get("name")), case.get("classname")
        found.add(name)
        if path.endswith("lit.xml"):
            # lit writes a point in the name of a folder or script as an underscore.
            group = re.sub(r"_py$", ".py", group.removeprefix("sluice."))
            name = f"{group}/{name}"
        failure, skip = case.find("failure"), case.find("skipped")
        message = skip.get("message") or "" if skip is not None else ""
        could_not_start = case.get("status") == "notrun" and message not in CTEST_SKIPS
        if name in ended:
            yield name, "failed", f"not finished within {float(case.get('time')):.0f} s, the limit of all tests is {limit} s"
        elif failure is not None or could_not_start:
            yield name, "failed", "\n".join(filter(None, (failure is not None and failure.text, message, case.findtext("system-out"))))
        elif skip is not None:
            yield name, "skipped", reason_of(case, message)
        else:
            yield name, "passed", ""
    for test in json.loads(beside(path, ".json") or '{"tests": []}')["tests"]:
        if short(test["name"]) not in found:
            yield short(test["name"]), "failed", f"not finished within {limit} s: not started"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int)
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    tests, unreadable = [], 0
    for path in given.files:
        try:
            tests += read(path, given.limit)
        except (OSError, ElementTree.ParseError) as problem:
            print(f"error: cannot read the results {path}: {problem}")
            unreadable += 1
    count = {state: sum(1 for test in tests if test[1] == state) for state in ("passed", "failed", "skipped")}
    for name, state, text in tests:
        if state == "failed":
            first, *others = text.splitlines() or [""]
            if not first.startswith("not finished within "):
                first, others = "", [first, *others]
            print(f"failed: {name}" + (first and f": {first}"), *others[-40:], *([""] if others else []), sep="\n")
    for name, state, text in tests:
        if state == "skipped":
            print(f"skipped: {name}: {text}")
    print(f"{count['passed']} passed, {count['failed'] + unreadable} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or unreadable or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
