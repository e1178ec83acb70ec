"""kill_training.py PLAN LAUNCHER RANKS KILLS [SEED]: a training that is killed again and again ends with the bits of an undisturbed one.

The script runs the plan with a checkpoint after every step, kills a random process with SIGKILL and starts the same command again, until
KILLS processes were killed and the run is complete. Each run that completes is compared and begins again in an empty folder. LAUNCHER is
threads (all ranks in one process), torchrun (the script starts the processes with its environment) or mpirun.

A kill happens at a random moment, often during the start, or soon after the checkpoint of a random step exists (the first kill, so that the run
continues from a checkpoint on a machine of any speed), or, with one process per rank, before a random instruction of the plan (sluice-train-faults). A victim of the first kind is stopped first, so that its phase can be read: start (it has not connected to all ranks),
load (no step since), step, save (a partial checkpoint exists), or end (it has printed the summary). After each kill the script expects:

- the other ranks end within a second, and name the dead rank and its last instruction. The second does not depend on the load of the machine: counted are
  the time in which all their threads sleep, and the processor time of the busiest thread, but no waits for a processor or the disk. In the phase start
  they may not know it yet, and are ended by SIGTERM, as a launcher does. In MPI_Init and MPI_Finalize (start and end) mpirun ends them,
  which takes it one or two seconds;
- no process, file of MPI or listening port is left, and the folder has only checkpoints, partial ones and the lock;
- the next start continues from the newest checkpoint that was complete at the kill.
"""

import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import processes

STEPS = 12
# Seconds until the other ranks end; until mpirun ends them; and in which they end on a machine of any load.
LIMIT, MPIRUN_LIMIT, HANGS = 1.0, 3.0, 120
FOLDER = Path("killed")


def read(path):
    """The text of a file of /proc; empty if the process has ended."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def is_running(pid):
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])


def threads_of(pids):
    """(state, seconds on a processor, seconds of waits for one) of each thread of the processes."""
    found = {}
    for task in (task for pid in pids for task in Path(f"/proc/{pid}/task").glob("*")):
        state, times = read(task / "stat").rpartition(")")[2].split()[:1], read(task / "schedstat").split()
        if state and len(times) == 3:
            found[task] = state[0], int(times[0]) / 1e9, int(times[1]) / 1e9
    return found


def counted(before, after, seconds):
    """The part of these seconds that counts for the limit: all if all threads slept, else the processor time of the busiest one."""
    if after and before == after and all(state == "S" for state, *_ in after.values()):
        return seconds
    return max((after[thread][1] - before[thread][1] for thread in after.keys() & before.keys()), default=0)


def catches_sigterm(pid):
    """True for a rank that has connected to all others: it catches signals since then."""
    caught = re.search(r"^SigCgt:\s*(\w+)", read(f"/proc/{pid}/status"), re.M)
    return bool(caught) and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def newest_step():
    return max((int(path.name[5:]) for path in FOLDER.glob("step-*") if path.name[5:].isdigit()), default=0)


def ends_within(process, seconds):
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


class Job:
    """The processes of one start."""

    def __init__(self, launcher, ranks, command, fault=""):
        self.launcher, self.ranks = launcher, ranks
        self.launcher_hung = False
        # Of every rank that was seen.
        self.pids = {}
        self.mark = f"SLUICE_TEST_JOB={os.getpid()}-{time.monotonic_ns()}"
        self.scratch = tempfile.mkdtemp(prefix="sluice-kills-")
        environment = dict(os.environ, SLUICE_TEST_JOB=self.mark.partition("=")[2], TMPDIR=self.scratch, TERM="dumb",
                           OMPI_MCA_orte_tmpdir_base=self.scratch, OMPI_MCA_btl_vader_backing_directory=self.scratch)
        if fault:
            environment["SLUICE_FAULT"] = fault
        with open("output", "w") as output:
            kind = "torchrun" if launcher == "threads" else launcher
            if launcher == "threads":
                self.children = [subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)]
            else:
                self.children = processes.start(kind, str(ranks), command, environment, stdout=output, stderr=output)
        self.port = read(f"/proc/{self.children[0].pid}/environ").partition("MASTER_PORT=")[2].partition("\0")[0]

    def rank_processes(self):
        """The process of each rank that runs, by rank."""
        if self.launcher != "mpirun":
            self.pids.update({rank: child.pid for rank, child in enumerate(self.children)})
            return {rank: child.pid for rank, child in enumerate(self.children) if child.poll() is None}
        found = {}
        for pid in read(f"/proc/{self.children[0].pid}/task/{self.children[0].pid}/children").split():
            rank = re.search(r"\0OMPI_COMM_WORLD_RANK=(\d+)", read(f"/proc/{pid}/environ"))
            if rank and is_running(pid):
                found[int(rank[1])] = int(pid)
        self.pids.update(found)
        return found

    def phase_of(self, pid):
        if self.launcher != "threads" and not catches_sigterm(pid):
            return "start"
        if "predicted peak" in read("output"):
            return "end"
        if not re.search(r"^step ", read("output"), re.M):
            return "load"
        return "save" if list(FOLDER.glob("*.partial")) else "step"

    def end_others(self, victim, phase):
        """Waits for the other ranks, then for the launcher. Returns the seconds from the victim's end until that of the ranks that count
        for the limit, all of them, and the exit codes."""
        # A system call that waits for the disk ends before the process does.
        while is_running(self.pids.get(victim, 0)):
            time.sleep(0.001)
        begin = last = time.monotonic()
        before, seconds, told = {}, 0.0, False
        while running := [pid for rank, pid in self.rank_processes().items() if rank != victim]:
            now, after = time.monotonic(), threads_of(running)
            seconds += counted(before, after, now - last)
            before, last = after, now
            if phase == "start" and self.launcher == "torchrun" and now - begin > 0.3 and not told:
                told, seconds = True, 0.0
                for child in self.children:
                    child.terminate()
            if now - begin > HANGS:
                seconds = now - begin
                for child in self.children:
                    child.kill()
                break
            time.sleep(0.002)
        passed = time.monotonic() - begin
        if self.launcher == "mpirun" and phase == "start" and not ends_within(self.children[0], 20):
            # Open MPI 4.1 may wait forever for a rank that was killed while it connects to mpirun.
            self.launcher_hung = True
            self.children[0].kill()
        return seconds, passed, [child.wait(600) for child in self.children]

    def check_remains(self):
        """What the job has left that no other rank or later start removes."""
        orphans = processes.left_over(self.mark)
        if orphans:
            return f"processes {orphans}"
        if self.launcher_hung:
            shutil.rmtree(self.scratch)
            os.mkdir(self.scratch)
        if files := [str(path) for path in Path(self.scratch).rglob("*")]:
            return f"files {files}"
        if self.port and any(line.split()[1].endswith(f":{int(self.port):04X}") and line.split()[3] == "0A"
                             for line in read("/proc/net/tcp").splitlines()[1:]):
            return f"listening port {self.port}"
        if others := [path.name for path in FOLDER.glob("*") if not re.fullmatch(r"\.lock|step-(\d{8}|probe)(\.partial)?", path.name)]:
            return f"folders {others}"
        if files := [path for path in os.listdir(".") if path.startswith(("weights.", "run.jsonl."))]:
            return f"files {files}"
        os.rmdir(self.scratch)
        return ""


def losses(path):
    return [(row["step"], row["loss"], row["grad_norm"]) for row in map(json.loads, open(path)) if "step" in row]


def main():
    plan, launcher, ranks, kills = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(1 << 30)
    chance = random.Random(seed)
    options = ["--data", "random:1", "--order", "shuffled", "--steps", str(STEPS), "--every", "1", "--checkpoint", str(FOLDER)]

    killed, completed, resumed, instructions, hung, late = 0, 0, 0, 0, 0, []
    phases = collections.Counter()
    longest = 0.0

    def fail(text):
        sys.exit(f"kill_training: seed {seed}, kill {killed}: {text}\n{read('output')}")

    # Twice, so that the second duration has no pages to read.
    for _ in range(2):
        shutil.rmtree(FOLDER, ignore_errors=True)
        begin = time.monotonic()
        job = Job(launcher, ranks, ["sluice-train", plan, *options, "--save", "undisturbed", "--log", "undisturbed.jsonl"])
        if any(child.wait(600) for child in job.children):
            fail("the undisturbed run failed")
        duration = time.monotonic() - begin
    shutil.rmtree(FOLDER)
    wanted, wanted_losses = Path("undisturbed/model.safetensors").read_bytes(), losses("undisturbed.jsonl")
    description = json.loads(subprocess.run(["sluice-plan", "describe", plan, "--json"], check=True, capture_output=True).stdout)
    last_instruction = max(event["instruction"] for event in description["events"])
    options += ["--keep", "2", "--save", "weights", "--log", "run.jsonl"]

    while killed < kills or not completed:
        expected_step = newest_step()
        by_fault = launcher != "threads" and killed < kills and chance.random() < 0.25
        victim = chance.randrange(ranks if launcher != "threads" else 1)
        moment = chance.uniform(0, duration * (0.35 if chance.random() < 0.4 else 1))
        # 0 is the start.
        step = chance.choice([0, chance.randint(1, STEPS - 1)]) if killed else 1
        fault = f"kill:{victim}:{chance.randint(1, last_instruction)}:{chance.randint(1, STEPS)}" if by_fault else ""
        job = Job(launcher, ranks, ["sluice-train-faults" if by_fault else "sluice-train", plan, *options], fault)
        phase = ""
        if by_fault:
            while (running := job.rank_processes()).keys() >= {victim} or (not running and job.children[0].poll() is None):
                time.sleep(0.001)
            phase = "instruction"
        elif killed < kills:
            if step > expected_step:
                while newest_step() < step and any(child.poll() is None for child in job.children):
                    time.sleep(0.001)
                moment *= 1 / STEPS if killed else 0
            time.sleep(moment)
            pid = job.rank_processes().get(victim)
            while pid is None and job.children[0].poll() is None:
                pid = job.rank_processes().get(victim)
            if pid is not None:
                try:
                    os.kill(pid, signal.SIGSTOP)
                    phase = job.phase_of(pid)
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    phase = ""
        seconds, passed, codes = job.end_others(victim, phase)
        output = read("output")
        if phase and any(codes):
            killed += 1
            phases[phase] += 1
            instructions += "its last instruction was " in output
            in_mpi = launcher == "mpirun" and phase in ("start", "end")
            hung += job.launcher_hung
            longest = max(longest, 0 if in_mpi else seconds)
            if passed > LIMIT and not in_mpi:
                late.append((phase, round(passed, 2)))
            if seconds > (MPIRUN_LIMIT if in_mpi else LIMIT):
                fail(f"{phase}: the other ranks ended after {seconds:.2f} s without waits for a processor or the disk, {passed:.2f} s with them")
            # The others may have done all their work.
            others_failed = launcher == "mpirun" or any(code for rank, code in enumerate(codes) if rank != victim)
            if launcher != "threads" and phase not in ("start", "end") and others_failed and not re.search(
                    rf"rank {victim} has died \(.*\), it(s last instruction was \w+, instruction \d+ | has run no instruction| was reading or writing files)", output):
                fail(f"{phase}: no other rank names rank {victim} and its last instruction; exit codes {codes} after {passed:.2f} s")
        if (remains := job.check_remains()):
            fail(f"{phase}: expected nothing to be left but got {remains}")
        if (found := re.search(r"continuing after step (\d+) of", output)):
            resumed += 1
            if int(found[1]) != expected_step:
                fail(f"expected to continue after step {expected_step}")
        if any(code not in (0, 5, -signal.SIGKILL, -signal.SIGTERM) and not (launcher == "mpirun" and code > 0) for code in codes) or (
                any(codes) and not phase):
            fail(f"{phase or 'no kill'}: exit codes {codes}")
        if any(codes):
            continue
        if Path("weights/model.safetensors").read_bytes() != wanted:
            fail("the weights differ from those of the undisturbed run")
        if losses("run.jsonl") != wanted_losses:
            fail("the losses differ from those of the undisturbed run")
        # A start after the last step saves nothing, and only a save removes what was left.
        left = [path.name for path in FOLDER.iterdir() if not re.fullmatch(r"\.lock|step-\d{8}", path.name)]
        if left and expected_step < STEPS:
            fail(f"the complete run has left {left}")
        completed += 1
        shutil.rmtree(FOLDER)
    print(f"seed {seed}: {', '.join(f'{phase} {count}' for phase, count in sorted(phases.items()))}; "
          f"{instructions} messages with an instruction; {resumed} starts from a checkpoint; slowest end {longest:.2f} s; "
          f"over {LIMIT:g} s because of waits: {late}"
          + (f"; mpirun hung after {hung}" if hung else ""))
    print(f"{killed} kills, {completed} complete runs with the same losses and weights, nothing lost")


main()
