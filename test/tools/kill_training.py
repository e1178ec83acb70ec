"""kill_training.py PLAN RANKS KILLS [SEED]: a training that is killed again and again ends with the bits of an undisturbed one.

The script runs the plan with a checkpoint after every step, as one process per rank (RANKS, 1: all ranks in one process), kills a random
process with SIGKILL at a random moment, also while it loads or saves, and starts the same command again, until KILLS processes were killed
and the run is complete. Each run that completes is compared and begins again in an empty folder.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from processes import free_port

STEPS = 12


def start(command, ranks):
    if ranks == 1:
        return [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
    port = str(free_port())
    return [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks),
                                      MASTER_ADDR="localhost", MASTER_PORT=port))
            for rank in range(ranks)]


def main():
    plan, ranks, kills = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    command = ["sluice-train", plan, "--data", "random:1", "--order", "shuffled", "--steps", str(STEPS), "--quiet"]
    shutil.rmtree("killed", ignore_errors=True)
    begin = time.monotonic()
    if any(process.wait() for process in start([*command, "--save", "undisturbed", "--checkpoint", "killed", "--every", "1"], ranks)):
        sys.exit("kill_training: the undisturbed run failed")
    duration = time.monotonic() - begin
    shutil.rmtree("killed")
    wanted = Path("undisturbed/model.safetensors").read_bytes()
    command += ["--checkpoint", "killed", "--every", "1", "--keep", "2", "--save", "weights"]
    killed = completed = resumed = 0
    while killed < kills or not completed:
        resumed += os.path.isdir("killed") and any(name.startswith("step-") for name in os.listdir("killed"))
        processes = start(command, ranks)
        time.sleep(chance.uniform(0, duration) if killed < kills else duration)
        victim = chance.choice(processes)
        if killed < kills and victim.poll() is None:
            victim.send_signal(signal.SIGKILL)
            killed += 1
        codes = [process.wait(120) for process in processes]
        if any(code not in (0, 5, -signal.SIGKILL) for code in codes):
            sys.exit(f"kill_training: seed {seed}, kill {killed}: expected exit codes 0, 5 or a kill but got {codes}")
        if any(codes):
            continue
        if Path("weights/model.safetensors").read_bytes() != wanted:
            sys.exit(f"kill_training: seed {seed}, kill {killed}: the weights differ from those of the undisturbed run")
        completed += 1
        shutil.rmtree("killed")
    print(f"{killed} kills, {resumed} starts from a checkpoint, {completed} complete runs with the same weights")


main()
