"""A file holds one idea: over 400 lines is a warning, over 800 an error."""

import lint

WARN, FAIL = 400, 800


def check(root):
    for name, path in lint.files(root, suffixes=lint.SOURCES + (".py", ".sh")):
        count = len(lint.lines(path))
        if count > FAIL:
            yield f"{name}:{count}: expected at most {FAIL} lines but got {count}"
        elif count > WARN:
            yield f"{name}:{count}: warning: over {WARN} lines, look for a second idea"


CLEAN = {"runtime/a.cpp": "\n" * WARN, "test/reference/a.json": "\n" * 2000}
PLANTED = [({"runtime/b.cpp": "\n" * (FAIL + 1)}, "runtime/b.cpp:801: expected at most 800 lines"),
           ({"passes/b.td": "\n" * (WARN + 1)}, "passes/b.td:401: warning: over 400 lines")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
