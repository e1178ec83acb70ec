"""expect.py CODE COMMAND...: runs the command; succeeds if it exits with that code. Output passes through."""

import subprocess
import sys

code = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode
if code != int(sys.argv[1]):
    print(f"expect: expected exit code {sys.argv[1]} but got {code}", file=sys.stderr, flush=True)
    sys.exit(1)
