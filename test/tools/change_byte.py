"""change_byte.py FROM TO OFFSET: copies a file, with one bit changed."""

import sys

data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[3])] ^= 1
open(sys.argv[2], "wb").write(data)
