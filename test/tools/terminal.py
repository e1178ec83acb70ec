"""terminal.py COMMAND...: runs the command on a terminal of 100 columns, prints its output with ESC and CR as text."""

import fcntl
import os
import pty
import struct
import sys
import termios

child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b""
while True:
    try:
        chunk = os.read(terminal, 4096)
    except OSError:  # the command has ended
        break
    if not chunk:
        break
    shown += chunk
text = shown.decode().replace("\r\n", "\n").replace("\033", "<ESC>").replace("\r", "<CR>\n")
sys.stdout.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)
