"""process_name.py COMMAND...: starts a training, prints after its first step what ps and pgrep show of the process, and ends it."""

import os
import pathlib
import shutil
import subprocess
import sys

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
try:
    assert any(line.startswith("step 1/") for line in process.stdout), "the command ended before a step"
    folder = pathlib.Path("/proc") / str(process.pid)
    name = (folder / "comm").read_text().strip()
    if shutil.which("ps"):
        assert subprocess.check_output(["ps", "-o", "comm=", "-p", str(process.pid)], text=True).strip() == name
        assert str(process.pid) in subprocess.check_output(["pgrep", "-x", name], text=True).split()
    print("comm", name)
    print("arguments", *(folder / "cmdline").read_text().split("\0")[:2])
    print("executable", os.path.basename(os.readlink(folder / "exe")))
    environment = dict(entry.split("=", 1) for entry in (folder / "environ").read_text().split("\0") if "=" in entry)
    print("environment", "of the caller" if environment == dict(os.environ) else "that differs from the caller's")
finally:
    process.kill()
    process.wait()
