"""saved_dtypes.py WIDE NARROW: the tensors of NARROW are those of WIDE, which are F32, rounded to BF16 to nearest even."""

import struct
import sys

from sluice import split_safetensors


def words(weights, code):
    """The elements of each tensor as integers."""
    header, data = split_safetensors(weights)
    return {name: [word for word, in struct.iter_unpack("<" + code, data[slice(*entry["data_offsets"])])]
            for name, entry in header.items() if name != "__metadata__"}, {entry["dtype"] for name, entry in header.items()
                                                                           if name != "__metadata__"}


def rounded(bits):
    """The nearest of the two neighbours of 16 bits; of a tie, the even one."""
    low, rest = bits >> 16, bits & 0xFFFF
    return low + (rest > 0x8000 or (rest == 0x8000 and low % 2 == 1))


def main():
    wide, narrow = (open(name, "rb").read() for name in sys.argv[1:])
    (a, wide_types), (b, narrow_types) = words(wide, "I"), words(narrow, "H")
    assert wide_types == {"F32"} and narrow_types == {"BF16"}, (wide_types, narrow_types)
    assert a.keys() == b.keys()
    for name in a:
        assert [rounded(bits) for bits in a[name]] == b[name], name
    assert any(bits & 0xFFFF for values in a.values() for bits in values), "nothing to round"
    print(f"{len(a)} tensors rounded to BF16")


if __name__ == "__main__":
    main()
