"""Reads docs/behaviours.md (or another page); exits with 1 where a row names a test that does not exist, or has no answer."""

import os
import re
import sys

root = sys.argv[1]
page = sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "docs", "behaviours.md")
problems = []
rows = 0
for number, line in enumerate(open(page), 1):
    if not line.startswith("| `"):
        continue
    rows += 1
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    answer = cells[-1]
    if len(cells) == 3 and answer.startswith("open: ") and len(answer) > 8:
        continue
    match = re.fullmatch(r"`(\S+)(?: (\w+))?`", answer)
    path = os.path.join(root, "test", match[1]) if match else ""
    if len(cells) != 3 or not match or not os.path.isfile(path):
        problems.append(f"{page}:{number}: test, expected a file below test/ or open: but got {answer}")
    elif match[2] and not re.search(rf"TEST(_P|_F)?\(\w+, {match[2]}\)", open(path).read()):
        problems.append(f"{page}:{number}: test, expected one of {match[1]} but got {match[2]}")
if rows < 50:
    problems.append(f"{page}: rows, expected at least 50 but got {rows}")
print("\n".join(problems), file=sys.stderr)
sys.exit(1 if problems else 0)
