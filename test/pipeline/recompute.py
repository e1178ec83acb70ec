"""Recompute frees the expected bytes.

Under `block` the bytes that are live at the end of the forward are computed from the config: persistent buffers, the batch, the parameters of the
root that the backward reads, each block's input and the values that the root saves. Under `none` each block saves the values that its derivatives
read. The forward kernels of each region are in the backward, before the kernels of the block's backward.
"""

from sluice import *

FORWARD = ["layer_norm", "matmul", "attention", "matmul", "layer_norm", "matmul_gelu", "matmul"]
F32 = 4


def expect_freed(config, batch, sequence):
    width, layers, heads, words = config["n_embd"], config["n_layer"], config["n_head"], config["vocab_size"]
    rows = batch * sequence
    model = hugging_face(config, batch, sequence)
    # The input of the last norm, its output, mean and reciprocal deviation, the logits, when the loss begins.
    root = rows * (width + width + 2 + words) * F32
    # x, norm, q k v, attention and its row statistics, residual, norm, the wide one before and after gelu.
    saved = {"block": rows * width * F32,
             "none": rows * (16 * width + 2 * 2 + heads) * F32}
    unread = (config["n_positions"] + 1) * width * F32
    for ranks in (1, 2, 4):
        for policy in ("block", "none"):
            plan = Plan(model, [f"mesh.shard={ranks}", f"recompute.policy={policy}"])
            # One rank gathers nothing; no derivative reads the positions and the bias of the last norm.
            gathered = 0 if ranks == 1 else next(u["bytes"] for u in plan.description["units"] if u["name"] == "root") - unread
            tokens = 2 * rows * 4
            expect_equal(plan.point("after_forward"), plan.point("start") + tokens + gathered + layers * saved[policy] + root,
                         f"{ranks} ranks, {policy}: live bytes")
            expect_regions(plan, [f"h.{layer}" for layer in range(layers)], policy == "block")


def expect_regions(plan, blocks, are_recomputed):
    for block in blocks:
        launches = [one for one in plan.instructions() if one.unit == block and one.stream == "compute" and
                    one.what not in ("record", "wait", "release", "fill")]
        expect_equal([one.what for one in launches if one.phase == "forward"], FORWARD, f"{block}: forward")
        backward = [one for one in launches if one.phase == "backward"]
        # The last product computes the block's output, which no derivative within the block reads.
        wanted = FORWARD[:-1] if are_recomputed else []
        expect_equal([one.what for one in backward if one.recompute], wanted, f"{block}: recomputed")
        expect(all(one.recompute for one in backward[:len(wanted)]), f"{block}: the region is not first")
        expect(not any(one.recompute for one in launches if one.phase != "backward"), f"{block}: recompute outside of the backward")
    events = [e["unit"] for e in plan.description["events"] if e["what"] == "recompute" and e["entry"] == "train_step"]
    expect_equal(events, blocks[::-1] if are_recomputed else [], "recompute events")


@test
def tiny_model():
    expect_freed(reference_config("gpt2-tiny"), 2, 16)


@test
def demo_model():
    expect_freed(demo_config(), 4, 64)


main()
