"""interrupt.py SIGNAL[:RANK] LINE [LAUNCHER:RANKS] COMMAND...: runs the command, sends it the signal once it has printed a
line with LINE, and passes its exit on.

With a launcher, as in processes.py, the signal is sent to mpirun, or to process RANK of torchrun's environment (default:
all). SIGNAL twice, as in TERM,TERM: each is sent 0.3 s after the line or the first one, so that the next step runs.
"""

import os
import signal
import subprocess
import sys
import time

import processes


def main():
    signals, line, *command = sys.argv[1:]
    signals, _, rank = signals.partition(":")
    if command[0].startswith(("mpirun:", "torchrun:")):
        launcher, _, ranks = command.pop(0).partition(":")
        children = processes.start(launcher, ranks, command, dict(os.environ), stdout=subprocess.PIPE, text=True)
    else:
        children = [subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)]
    waiting = [signal.Signals["SIG" + name] for name in signals.split(",")]
    for text in children[0].stdout:
        sys.stdout.write(text)
        pause = 0.3 if len(waiting) > 1 else 0
        while waiting and line in text:
            time.sleep(pause)
            for child in [children[int(rank)]] if rank else children:
                child.send_signal(waiting[0])
            waiting.pop(0)
    codes = [child.wait() for child in children]
    return next((128 - code if code < 0 else code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
