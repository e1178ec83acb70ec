"""Recompute frees the expected bytes.

usage: recompute.py CONFIG BATCH SEQUENCE FOLDER

Under `block` the bytes that are live at the end of the forward are computed from the config: persistent buffers, the batch, the parameters of the
root that the backward reads, each block's input and the values that the root saves. Under `none` each block saves the values that its derivatives
read. The forward kernels of each region are in the backward, before the kernels of the block's backward.
"""

import json
import sys
from pathlib import Path

from plans import compile_plan, import_model

FORWARD = ["layer_norm", "matmul", "attention", "matmul", "layer_norm", "matmul_gelu", "matmul"]
F32 = 4


def main():
    config, batch, sequence, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    sizes = json.loads(Path(config).read_text())
    width, layers, heads, words = sizes["n_embd"], sizes["n_layer"], sizes["n_head"], sizes["vocab_size"]
    rows = batch * sequence
    folder.mkdir(parents=True, exist_ok=True)
    model = import_model(config, folder / "model.mlir", batch, sequence)
    blocks = [f"h.{layer}" for layer in range(layers)]

    # The input of the last norm, its output, mean and reciprocal deviation, the logits, as the loss begins.
    root = rows * (width + width + 2 + words) * F32
    # x, norm, q k v, attention and its row statistics, residual, norm, the wide one before and after gelu.
    saved = {"block": rows * width * F32,
             "none": rows * (16 * width + 2 * 2 + heads) * F32}
    unread = (sizes["n_positions"] + 1) * width * F32
    for ranks in (1, 2, 4):
        for policy in ("block", "none"):
            plan = compile_plan(model, folder / "plan", f"mesh.shard={ranks}", f"recompute.policy={policy}")
            # A rank that holds all gathers nothing; positions and the last norm's bias are read by no derivative.
            gathered = 0 if ranks == 1 else next(u["bytes"] for u in plan.described["units"] if u["name"] == "root") - unread
            tokens = 2 * rows * 4
            expected = plan.point("start") + tokens + gathered + layers * saved[policy] + root
            actual = plan.point("after_forward")
            assert actual == expected, f"{ranks} ranks, {policy}: expected {expected} live bytes but got {actual}"
            check_regions(plan, blocks, policy == "block")
    print("recompute frees to the byte")


def check_regions(plan, blocks, are_recomputed):
    for block in blocks:
        launches = [one for one in plan.instructions if one.unit == block and one.stream == "compute" and
                    one.what not in ("record", "wait", "release", "fill")]
        forward = [one.what for one in launches if one.phase == "forward"]
        assert forward == FORWARD, f"{block}: forward {forward}"
        backward = [one for one in launches if one.phase == "backward"]
        repeated = [one.what for one in backward if one.recompute]
        # The last product makes the block's output, which no derivative within the block reads.
        wanted = FORWARD[:-1] if are_recomputed else []
        assert repeated == wanted, f"{block}: recomputed {repeated}, expected {wanted}"
        assert all(one.recompute for one in backward[:len(wanted)]), f"{block}: the region does not stand first"
        assert not any(one.recompute for one in launches if one.phase != "backward"), block
    happened = [e["unit"] for e in plan.described["events"] if e["what"] == "recompute" and e["entry"] == "train_step"]
    assert happened == (blocks[::-1] if are_recomputed else []), f"recompute events of {happened}"


if __name__ == "__main__":
    main()
