"""processes.py LAUNCHER RANKS COMMAND...: runs a command as one process per rank, and checks how they end.

LAUNCHER is mpirun, or torchrun: then this script starts the processes with the environment of torchrun. RANKS is
the world size, or SIZE:R,R,... for the ranks to start of a world of SIZE, so that one can be missing or connect twice.
A word `{R=A|B}` of the command is A on rank R and B on the others; a word that is empty then is left out.
Exit code: 0 if all ended with 0, else the first other code in order of rank; 99 if one was killed after 60 s or a
process of the job is left. A rank that ends by a signal counts only if there is no other code.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

LIMIT = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def left_over(mark):
    """Processes whose environment contains the mark of this job."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def is_stopped(child):
    return open(f"/proc/{child.pid}/stat").read().rpartition(")")[2].split()[0] == "T"


def command_of(rank, command):
    words = [re.sub(r"\{(\d+)=([^|}]*)\|([^}]*)\}", lambda m: m[2] if rank == int(m[1]) else m[3], word) for word in command]
    return [new for new, old in zip(words, command) if new or not old]


def start(launcher, ranks, command, environment, **options):
    """The processes of a job: mpirun, or each of the ranks."""
    size, _, listed = ranks.partition(":")
    if launcher == "mpirun":
        line = [shutil.which("mpirun"), "--allow-run-as-root", "--oversubscribe"]
        each = [["-n", "1", *command_of(rank, command), ":"] for rank in range(int(size))] if "{" in " ".join(command) else [["-n", size, *command, ":"]]
        return [subprocess.Popen(line + sum(each, [])[:-1], env=environment, stdin=subprocess.DEVNULL, **options)]
    port = str(free_port())
    each = [int(rank) for rank in listed.split(",")] if listed else range(int(size))
    return [subprocess.Popen(command_of(rank, command), stdin=subprocess.DEVNULL, **options,
                             env=dict(environment, RANK=str(rank), WORLD_SIZE=size, LOCAL_RANK=str(rank),
                                      LOCAL_WORLD_SIZE=size, MASTER_ADDR="localhost", MASTER_PORT=port))
            for rank in each]


def main():
    launcher, ranks, *command = sys.argv[1:]
    mark = f"SLUICE_TEST_JOB={os.getpid()}-{time.monotonic_ns()}"
    children = start(launcher, ranks, command, dict(os.environ, SLUICE_TEST_JOB=mark.partition("=")[2]))
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline and any(child.poll() is None and not is_stopped(child) for child in children):
        time.sleep(0.02)
    codes = []
    for child in children:
        if child.poll() is not None:
            codes.append(child.returncode)
            continue
        # A process that was stopped on purpose does not count as a failure.
        codes.append(-9 if is_stopped(child) else 99)
        child.kill()
        child.wait()
    orphans = left_over(mark)
    if orphans:
        print(f"processes: {orphans} are left", file=sys.stderr)
        return 99
    failures = [code for code in codes if code != 0]
    return next((code for code in failures if code > 0), 137 if failures else 0)


if __name__ == "__main__":
    sys.exit(main())
