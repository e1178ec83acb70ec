"""Splits the header that flatc generates, so that who only reads a plan in memory does not compile how one is stored.

usage: split_schema.py GENERATED FOLDER

Writes into FOLDER, from GENERATED (NAME_generated.h):
  NAME_generated.h     enumerations and the structures in memory (NameT)
  NAME_format.h        what stands in the file: tables, builders, verification, packing and unpacking
  NAME_generated.cpp   copies and ends of the structures, which are inline in what flatc writes
"""

import re
import sys
from pathlib import Path

COPY = re.compile(r"inline (?:(\w+)::\1\(const \1 &|(\w+) &\2::operator=\(\2 |void \w+Union::Reset\()")
KEPT = re.compile(r"struct \w+;|enum class |inline .*\bEnum(?:Name|Names|Values)\w*\(|template<.*> struct \w+(?:Union)?Traits\b"
                  r"|struct \w+Union \{|struct \w+T : public flatbuffers::NativeTable")


def blocks_of(lines):
    """Declarations at the outermost level, each with the comments before it."""
    block = []
    for line in lines:
        if not line.strip() and not block:
            continue
        block.append(line)
        is_comment = line.startswith("//")
        if line.startswith("}") or (line[:1] not in (" ", "") and line.endswith(";") and not is_comment):
            yield block
            block = []
    if block:
        raise SystemExit(f"split_schema: a declaration does not end: {block[0]}")


def with_end(block, name):
    """The structure with its destructor declared where its copies are."""
    default = f"  {name}() = default;"
    if default not in block:
        return block, False
    at = block.index(default)
    return block[:at + 1] + [f"  ~{name}();"] + block[at + 1:], True


def main():
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    lines = source.read_text().split("\n")
    name = source.name.removesuffix("_generated.h")
    opened = [i for i, line in enumerate(lines) if re.fullmatch(r"namespace \w+ \{", line)]
    closed = [i for i, line in enumerate(lines) if re.fullmatch(r"\}  // namespace \w+", line)]
    if not opened or len(opened) != len(closed):
        raise SystemExit(f"split_schema: {source}: expected as many namespaces to end as begin")
    begin, end = lines[:opened[-1] + 1], lines[closed[0]:]
    structures, form, ends = [], [], []
    for block in blocks_of(lines[opened[-1] + 1:closed[0]]):
        head = next(line for line in block if not line.startswith("//"))
        if COPY.match(head):
            ends += [head.removeprefix("inline ")] + block[block.index(head) + 1:] + [""]
        elif KEPT.match(head):
            struct = re.match(r"struct (\w+T) :", head)
            if struct:
                block, has_copies = with_end(block, struct[1])
                if has_copies:
                    ends += [f"{struct[1]}::~{struct[1]}() = default;", ""]
            structures += block + [""]
        else:
            form += block + [""]
    spaces = [lines[i] for i in opened]
    closing = [lines[i] for i in closed]
    folder.joinpath(f"{name}_generated.h").write_text("\n".join(begin + [""] + structures + end))
    folder.joinpath(f"{name}_format.h").write_text("\n".join(
        ["// Split from what the FlatBuffers compiler generates, do not modify", "#pragma once", "",
         f'#include "{name}_generated.h"', ""] + spaces + [""] + form + closing + [""]))
    folder.joinpath(f"{name}_generated.cpp").write_text("\n".join(
        ["// Split from what the FlatBuffers compiler generates, do not modify", f'#include "{name}_generated.h"', ""]
        + spaces + [""] + ends + closing + [""]))


if __name__ == "__main__":
    main()
