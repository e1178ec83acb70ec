"""Reads the JUnit files of ctest and lit, prints failures with their output, each skip with its reason, and the counts.

usage: summary.py FILE...

Exits 1 on a failure, on a file that is missing, and where no test ran. A test that ctest could not start is a failure, not a skip.
"""

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


def read(path):
    """(name, "passed" | "failed" | "skipped", text) of each test in a file."""
    for case in ElementTree.parse(path).iter("testcase"):
        name, group = case.get("name").partition("  # GetParam()")[0], case.get("classname")
        if path.endswith("lit.xml"):
            # lit writes a point in the name of a folder or script as an underscore.
            group = re.sub(r"_py$", ".py", group.removeprefix("sluice."))
            name = f"{group}/{name}"
        failure, skip = case.find("failure"), case.find("skipped")
        message = skip.get("message") or "" if skip is not None else ""
        could_not_start = case.get("status") == "notrun" and message not in CTEST_SKIPS
        if failure is not None or could_not_start:
            yield name, "failed", "\n".join(filter(None, (failure is not None and failure.text, message, case.findtext("system-out"))))
        elif skip is not None:
            yield name, "skipped", reason_of(case, message)
        else:
            yield name, "passed", ""


def main():
    tests, unreadable = [], 0
    for path in sys.argv[1:]:
        try:
            tests += read(path)
        except (OSError, ElementTree.ParseError) as problem:
            print(f"error: cannot read the results {path}: {problem}")
            unreadable += 1
    count = {state: sum(1 for test in tests if test[1] == state) for state in ("passed", "failed", "skipped")}
    for name, state, text in tests:
        if state == "failed":
            print(f"failed: {name}\n" + "\n".join(text.splitlines()[-40:]) + "\n")
    for name, state, text in tests:
        if state == "skipped":
            print(f"skipped: {name}: {text}")
    print(f"{count['passed']} passed, {count['failed'] + unreadable} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or unreadable or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
