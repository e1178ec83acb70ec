"""For tests of the Python package `sluice`: the functions of the tests' module of that name, and then the package under it.

The package is the one in tools/python with the libraries of the build whose programs are in PATH, unless $SLUICE_PACKAGE names the folder of an installed one."""

import array
import os
import random
import shutil
import struct
import sys

from sluice import *
import sluice as helpers

sys.modules.pop("sluice")
ROOT = helpers.ROOT
sys.path.insert(0, os.environ.get("SLUICE_PACKAGE", str(ROOT / "tools" / "python")))
if "SLUICE_PACKAGE" not in os.environ:
    os.environ.setdefault("SLUICE_LIBRARIES", os.path.join(os.path.dirname(os.path.dirname(shutil.which("sluice-train"))), "lib"))
import sluice  # noqa: E402

SEQUENCE, VOCABULARY = 16, 96


def tensor(values, shape, letter="i"):
    """A view of numbers with a shape, from Python's library only."""
    return memoryview(array.array(letter, values)).cast("B").cast(letter, shape)


def rows(count, seed=3):
    """Inputs of a language model: tokens, and the next tokens as targets."""
    generator = random.Random(seed)
    numbers = [[generator.randrange(VOCABULARY) for _ in range(SEQUENCE + 1)] for _ in range(count)]
    return {"tokens": tensor([n for row in numbers for n in row[:-1]], (count, SEQUENCE)), "targets": tensor([n for row in numbers for n in row[1:]], (count, SEQUENCE))}


def write_rows(path, inputs):
    """The inputs as a safetensors file, for sluice-train."""
    header, data = {}, b""
    for name, view in inputs.items():
        header[name] = {"dtype": "I32", "shape": list(view.shape), "data_offsets": [len(data), len(data) + view.nbytes]}
        data += view.tobytes()
    path.write_bytes(helpers.join_safetensors(header, data))
    return path


def part(inputs, begin, end):
    """Rows of inputs."""
    return {name: view[begin:end] for name, view in inputs.items()}


CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": VOCABULARY, "n_positions": SEQUENCE, "n_embd": 16, "n_layer": 2, "n_head": 2,
          "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


@helpers.functools.cache
def small_model():
    return sluice.load(CONFIG, batch=2, sequence=SEQUENCE)


@helpers.functools.cache
def small_plan(ranks=2, microbatches=1, *settings):
    """A plan of a small GPT-2 with 2 rows in a micro-batch of a rank."""
    recipe = {"mesh": {"shard": ranks}, "gradient.microbatches": microbatches, "optimizer.lr": 0.01}
    recipe.update(setting for setting in settings)
    return sluice.compile(small_model(), recipe)


def expect_error(function, code, *texts):
    """A sluice.Error of this code whose text contains the texts; the error."""
    try:
        function()
    except sluice.Error as error:
        for text in texts:
            expect(text in str(error), f"expected '{text}' but got '{error}'")
        expect_equal(error.code, code, f"the code of '{error}'")
        return error
    expect(False, f"expected an error with {texts}, but the call succeeded")
    return None
