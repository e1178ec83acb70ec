"""stop_token.py TEXT PROMPT: prints the id of the eighth generated token of a text after a prompt of PROMPT bytes.

The text up to the first occurrence of the token goes to stopped.txt.
"""

import re
import sys

text = open(sys.argv[1], "rb").read()
prompt = int(sys.argv[2])
tokens = re.findall(rb"<\d+>|.", text[prompt:-1], re.S)
end = tokens.index(tokens[7])
open("stopped.txt", "wb").write(text[:prompt] + b"".join(tokens[:end]) + b"\n")
print(int(tokens[7][1:-1]) if len(tokens[7]) > 1 else tokens[7][0])
