"""A page in a headless browser: the DOM after a script ran in it, and the pixels of a screenshot."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
# A container has no user namespace for the sandbox, and often a small /dev/shm. The pages are our own.
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1")
RESULT = "result-of-the-test"


def find():
    """The path of a browser; None without one."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def run(page, script, *flags):
    """Opens a copy of the page to which the script is added. The script may call finish(text)."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "page.html")
        finish = f"const finish = text => {{ const at = document.createElement('pre'); at.id = '{RESULT}'; at.hidden = true; " \
                 "at.textContent = btoa(unescape(encodeURIComponent(text))); document.body.append(at); };"
        copy.write_text(Path(page).read_text() + f"<script>{finish}{script}</script>")
        done = subprocess.run([find(), *FLAGS, f"--user-data-dir={folder}/profile", *flags, copy.as_uri()], timeout=120, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"the browser ended with exit code {done.returncode}:\n{done.stderr}")
        return done.stdout


def evaluate(page, script, size=(1400, 1000)):
    """The text that the script gives to finish()."""
    import base64
    import re
    dom = run(page, script, f"--window-size={size[0]},{size[1]}", "--dump-dom")
    found = re.search(rf'id="{RESULT}"[^>]*>([^<]*)<', dom)
    if not found:
        sys.exit(f"the script did not finish:\n{dom[-2000:]}")
    return base64.b64decode(found[1]).decode()


class Pixels:
    """The pixels of a PNG file of 8 bits a channel, without interlacing."""

    def __init__(self, path):
        data, at, compressed = Path(path).read_bytes(), 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + length]
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
                assert depth == 8 and colour in (2, 6) and not interlace, (depth, colour, interlace)
                self.channels = 3 if colour == 2 else 4
            elif kind == b"IDAT":
                compressed += body
            at += 12 + length
        raw, stride, previous = zlib.decompress(compressed), self.width * self.channels, None
        self.rows = []
        for y in range(self.height):
            begin = y * (stride + 1)
            previous = self.unfilter(raw[begin], bytearray(raw[begin + 1:begin + 1 + stride]), previous or bytearray(stride))
            self.rows.append(previous)

    def unfilter(self, kind, line, above):
        step = self.channels
        for i in range(len(line) if kind else 0):
            left, up, corner = line[i - step] if i >= step else 0, above[i], above[i - step] if i >= step else 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            else:
                p = left + up - corner
                guess = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
            line[i] = (line[i] + guess) & 255
        return line

    def at(self, x, y):
        """The colour as "#rrggbb"."""
        begin = int(x) * self.channels
        return "#" + bytes(self.rows[int(y)][begin:begin + 3]).hex()


def screenshot(page, script="", size=(1400, 1000), keep=None):
    with tempfile.TemporaryDirectory() as folder:
        path = keep or os.path.join(folder, "shot.png")
        run(page, script, f"--window-size={size[0]},{size[1]}", f"--screenshot={path}")
        return Pixels(path)
