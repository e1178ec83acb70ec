"""Writes Schemas.inc: the defaults of the arguments of the ops in the tables of this folder, from the schemas of the installed torch.

usage: schemas.py > Schemas.inc

An archive omits an argument that is equal to its default, so the defaults are part of the format.
"""

import re
import sys
from pathlib import Path

import torch

FOLDER = Path(__file__).parent


def case(value):
    """The kind of an argument and its default as text."""
    if value is None:
        return "none", ""
    if isinstance(value, bool):
        return "boolean", str(int(value))
    if isinstance(value, int):
        return "integer", str(value)
    if isinstance(value, float):
        return "number", repr(value)
    if isinstance(value, str):
        return "text", value
    if isinstance(value, (list, tuple)):
        isNumbers = any(isinstance(each, float) for each in value)
        return "numbers" if isNumbers else "integers", ",".join(str(int(each) if isinstance(each, bool) else each) for each in value)
    raise SystemExit(f"error: a default of type {type(value)}")


def main():
    names = set()
    for file in sorted(FOLDER.glob("*.cpp")) + [FOLDER.parent / "Evaluate.cpp"]:
        names |= set(re.findall(r'\{"(\w+\.\w+)",', file.read_text()))
    for name in sorted(names):
        packet, overload = name.rsplit(".", 1)
        op = getattr(getattr(torch.ops.aten, packet), overload)
        for argument in op._schema.arguments:
            if argument.has_default_value():
                kind, text = case(argument.default_value)
                print(f'{{"{name}", "{argument.name}", Kind::{kind}, "{text}"}},')
    print(f"torch {torch.__version__}", file=sys.stderr)


main()
