"""escaped.py FILE: prints its text as it is shown on a terminal: control characters, and bytes that are not UTF-8, are escaped."""

import re
import sys

text = open(sys.argv[1], "rb").read().decode(errors="backslashreplace")
control = r"[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
sys.stdout.write(re.sub(control, lambda found: f"\\u{ord(found[0]):04x}", text))
