"""interrupt.py COMMAND...: runs the command, sends Ctrl-C once it has printed its second line, and passes its exit on."""

import signal
import subprocess
import sys

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
for number, line in enumerate(process.stdout):
    sys.stdout.write(line)
    if number == 1:
        process.send_signal(signal.SIGINT)
sys.exit(process.wait() % 256)
