"""sluice.fit: the settings with which a job fits its GPUs, as sluice-fit finds them."""

import json
import os
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from . import library
from .model import PathLike
from .progress import interruptible

MACHINES = Path(__file__).resolve().parent / "machines"


def fit(model: PathLike, gpus: str, *, sequence: Optional[int] = None, world: Optional[int] = None, batch: Union[int, Sequence[int], None] = None,
        framework: str = "sluice", size: Optional[Mapping[str, int]] = None, recompute: Optional[Sequence[str]] = None,
        offload: Optional[Sequence[str]] = None, precision: Optional[Sequence[str]] = None, settings: Optional[Mapping[str, Any]] = None,
        asserts: Union[str, Sequence[str]] = ()) -> Any:
    """Compares the settings of a training job by memory and predicted step time; needs no GPU.

    model: a config.json, an archive of torch.export (.pt2), or a model of sluice-import. gpus: "8xh100-sxm-80gb", or bytes, "8x24GiB". sequence: tokens of
    a row, of a config.json. world: the GPUs of all hosts. batch: rows of a micro-batch. framework: "sluice", or "pytorch" for the memory of FSDP2. settings:
    values of the recipe by key, for all rows. asserts: conditions such as "peak<=76GiB".

    Returns what `sluice-fit --json` prints: "rows", and in "best" the positions of up to three of them. Raises Error, with code 3 if no setting fits or an
    assertion fails. Ctrl-C ends the wait."""
    given: Dict[str, Any] = {
        "model": os.fspath(model), "gpus": gpus, "for": framework, "sequence": sequence, "world": world, "size": dict(size or {}),
        "batch": [batch] if isinstance(batch, int) else batch, "recompute": recompute, "offload": offload, "precision": precision,
        "set": [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in (settings or {}).items()],
        "assert": [asserts] if isinstance(asserts, str) else list(asserts)}
    # An installed package has the files; from its sources the library finds them itself.
    if MACHINES.is_dir() and "SLUICE_MACHINES" not in os.environ:
        given["machines"] = os.fspath(MACHINES)
    raw = library.encode_json({name: value for name, value in given.items() if value is not None})
    return interruptible("comparing settings", lambda: json.loads(library.COMPILER.text_of("sluice_fit", raw)))
