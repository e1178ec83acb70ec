"""registered.py FOLDER: of each script below the folder, the @test functions in its text are those that it registers when it runs.

A script is imported with --list, so it must not compile anything outside of its functions.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from functions import Script


def difference(path):
    found = Script(path).functions
    if not found:
        return ""
    done = subprocess.run([sys.executable, path, "--list"], capture_output=True, text=True)
    registered = done.stdout.split()
    return "" if found == registered and done.returncode == 0 else f"{path}: found {found}, registered {registered}\n{done.stderr}"


with ThreadPoolExecutor(2) as pool:
    different = [text for text in pool.map(difference, sorted(Path(sys.argv[1]).rglob("*.py"))) if text]
print("\n".join(different))
sys.exit(1 if different else 0)
