"""Arenas are hardly larger than the peak of live buffers, and plans do not grow with ranks or micro-batches."""

from sluice import *

LIMIT = 1.02
# GPT-2 as Hugging Face's `gpt2` (124 M parameters).
GPT2 = {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
        "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
# The same with sizes that 1,024 ranks divide: no rank has padding.
EVEN = {**GPT2, "vocab_size": 50176, "n_embd": 1024, "n_head": 16}


def expect_tight_arena(plan, what):
    arena = plan.arena()
    expect(arena["peak_live"] <= arena["bytes"] <= LIMIT * arena["peak_live"],
           f"{what}: expected an arena of at most {LIMIT} x {arena['peak_live']} bytes but got {arena['bytes']}")


def shape(plan):
    """The instructions and tables of a plan, without sizes and counts."""
    issued = [(one.stream, one.when, one.phase, one.unit, one.what) for one in plan.instructions()]
    tables = [line.split()[0] for line in plan.text.splitlines() if re.match(r"(arena|stream|unit|entry|buffer|  parameter)\b", line)]
    return issued, tables


@test
def arenas_of_small_models():
    for model in (gpt2_tiny(), hugging_face(demo_config(), 4, 64)):
        for ranks, strategy, policy, count in itertools.product((1, 2, 4), ("full_shard", "shard_grad_op", "no_shard"),
                                                                ("none", "block"), (1, 2)):
            settings = (f"mesh.shard={ranks}", f"sharding.strategy={strategy}", f"recompute.policy={policy}",
                        f"gradient.microbatches={count}")
            expect_tight_arena(Plan(model, settings), f"{model.stem} {settings}")


@test
def ranks_with_padding():
    model = hugging_face(GPT2, 8, 1024)
    few, many = (Plan(model, [f"mesh.shard={ranks}"]) for ranks in (8, 1024))
    for plan, ranks in ((few, 8), (many, 1024)):
        expect_tight_arena(plan, f"gpt2 on {ranks} ranks")
    # 1,024 ranks do not divide some dims: one fill for the padding of each such parameter, and nothing else differs.
    fills = many.count_instructions("fill") - few.count_instructions("fill")
    expect(0 <= fills <= len(few.parameters()), f"{fills} more fills for {len(few.parameters())} parameters")
    expect_equal([i for i in shape(many)[0] if i[4] != "fill"], [i for i in shape(few)[0] if i[4] != "fill"], "instructions except fills")
    expect_equal(shape(many)[1], shape(few)[1], "tables")
    expect(len(many.bytes) <= 1.1 * len(few.bytes), f"{len(many.bytes)} bytes, {len(few.bytes)} at 8 ranks")


@test
def ranks_and_microbatches():
    model = hugging_face(EVEN, 1, 64)
    few, many = (Plan(model, [f"mesh.shard={ranks}", "gradient.microbatches=2"]) for ranks in (8, 1024))
    once, often = Plan(model, ["mesh.shard=8"]), Plan(model, ["mesh.shard=8", "gradient.microbatches=64"])
    expect(shape(few) == shape(many), "8 and 1,024 ranks: the shapes of the plans differ")
    expect(shape(few) == shape(often), "2 and 64 micro-batches: the shapes of the plans differ")
    for plan in (many, often):
        # A plan leaves out numbers that have their defaults.
        expect(abs(len(plan.bytes) - len(few.bytes)) <= 0.01 * len(few.bytes), f"expected about {len(few.bytes)} bytes but got {len(plan.bytes)}")
    # Only one micro-batch has nothing to add up or to divide.
    extra = collections.Counter(o.what for o in often.instructions()) - collections.Counter(o.what for o in once.instructions())
    # The first gather of later micro-batches waits for compute; that of the first only for the previous step.
    # A gradient has a launch that begins the sum and one that adds to it. The loss, the tied embedding and the gradient of the positions, which
    # is that of the activations in a batch of one row, are added by "accumulate".
    expect_equal(set(extra), {"accumulate", "layer_norm_grad", "matmul", "reduce_sum", "scale", "record", "wait"},
                 "instructions that only 64 micro-batches have")
    expect_equal(extra["accumulate"], 6, "launches that only add")
    expect_equal((extra["scale"], extra["record"], extra["wait"]), (1, 1, 1), "numbers of these instructions")
    expect_equal(len(once.instructions()) + sum(extra.values()), len(often.instructions()), "instructions of 64 micro-batches")


main()
