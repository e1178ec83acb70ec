"""trusted_lines.py ROOT [PAGE]: the numbers of lines in the table of docs/what-is-proved.md are those of the files that it names, within 10 %."""

import re
import sys
from pathlib import Path


def main():
    root = Path(sys.argv[1])
    page = Path(sys.argv[2]) if len(sys.argv) > 2 else root / "docs/what-is-proved.md"
    rows = re.findall(r"^\| (`runtime/[^|]*) \| ([\d,]+) \|", page.read_text(), re.M)
    problems = [] if len(rows) >= 4 else [f"expected at least 4 rows with a number of lines but got {len(rows)}"]
    for names, stated in rows:
        lines = 0
        for pattern in re.findall(r"`([^`]+)`", names):
            files = [file for file in root.glob(pattern) if file.is_file()]
            problems += [] if files else [f"no file '{pattern}'"]
            lines += sum(len(file.read_text().splitlines()) for file in files)
        if abs(lines - int(stated.replace(",", ""))) > lines / 10:
            problems.append(f"{names}: expected about {lines} lines but got {stated}")
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
