"""terminal.py COMMAND...: runs the command on a terminal of 100 columns, prints what it shows with ESC and CR spelled out."""

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
        piece = os.read(terminal, 4096)
    except OSError:  # the other side is closed
        break
    if not piece:
        break
    shown += piece
text = shown.decode().replace("\r\n", "\n").replace("\033", "<ESC>").replace("\r", "<CR>\n")
sys.stdout.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)
