"""The accounts of PyTorch FSDP1 and FSDP2 against published and measured figures, and refusals."""

from sluice import *

MIB = 1 << 20
NORMS = ("stem.1", "blocks.1", "blocks.4", "blocks.7")
# Each batch norm is a unit, as are the rest of the stem, of the blocks and the head.
UNITS = "sharding.units={" + ", ".join(f'"{name}"=["{name}"]' for name in NORMS + ("stem", "blocks", "head")) + "}"


# Measured by PyTorch's tracker: test/reference/fsdp2_memory.py.
MEASURED = json.loads((REFERENCE / "fsdp2-memory.json").read_text())["cases"]


def account(path, framework="fsdp1"):
    return json.loads(run("sluice-plan", "memory", path, "--account", framework, "--json").stdout)


def conv(policy):
    model = zoo("conv", "loss=first-row-square")
    return Plan(model, ["mesh.shard=2", "optimizer.name=sgd", "optimizer.momentum=0.9", f"recompute.policy={policy}", UNITS])


@test
def figures_of_the_memory_test():
    names = ["start", "after_forward", "after_loss", "after_backward", "after_update", "end"]
    for policy, forward in (("none", 340), ("marked", 51)):
        shards = 2
        points = account(conv(policy).path)["points"]
        expect_equal([(point["iteration"], point["name"]) for point in points], list(itertools.product(range(4), names)), f"{policy}: points")
        for point in points:
            first = point["iteration"] == 0
            expected = {
                "start": shards + 1 if first else 2 * shards + 1,
                "after_forward": forward if first else forward + shards,
                "after_loss": forward if first else forward + shards,
                "after_backward": 2 * shards + 1 if first else 3 * shards + 1,
                "after_update": 3 * shards + 1,
                "end": 2 * shards + 1,
            }[point["name"]]
            expect(abs(point["bytes"] / MIB - expected) <= 1,
                   f"{policy}, iteration {point['iteration']}, {point['name']}: expected {expected} MiB but got {point['bytes'] / MIB}")


def model_of(case):
    """The model of a measured case, and the recipe of its root."""
    sizes, batch = case["sizes"], case["batch"]
    if case["model"] == "mlp-sequence":
        return zoo("mlp-sequence", f"count={sizes['count']}", f"dim={sizes['dim']}", f"batch={batch}")
    if case["model"] == "gpt2":
        config = {"model_type": "gpt2", "n_layer": sizes["layers"], "n_embd": sizes["dim"], "n_head": sizes["heads"],
                  "vocab_size": sizes["vocabulary"], "n_positions": sizes["positions"], "resid_pdrop": 0, "embd_pdrop": 0,
                  "attn_pdrop": 0}
    else:
        config = {"model_type": "llama", "num_hidden_layers": sizes["layers"], "hidden_size": sizes["dim"],
                  "num_attention_heads": sizes["heads"], "num_key_value_heads": sizes["key_heads"],
                  "intermediate_size": sizes["hidden"], "vocab_size": sizes["vocabulary"], "max_position_embeddings": 128,
                  "tie_word_embeddings": False}
    return hugging_face(config, *batch, "--train-only")


def settings_of(case):
    recipe = case["recipe"]
    settings = [f"mesh.shard={case['shard']}"]
    if recipe.get("checkpoint"):
        settings.append("recompute.policy=block")
    if recipe.get("reshard") is False:
        settings.append("sharding.reshard_after_forward=false")
    if "compute" in recipe:
        settings.append(f"precision.compute={recipe['compute']}")
    if recipe.get("compute") == "f16":
        settings.append("precision.loss_scale=1")
    if recipe.get("optimizer") == "sgd":
        settings += ["optimizer.name=sgd", "optimizer.momentum=0.9"]
    return settings


@test
def fsdp2_is_what_pytorch_measures():
    expect_equal(len(MEASURED), 18, "measured cases")
    for case in MEASURED:
        found = account(Plan(model_of(case), settings_of(case)).path, "fsdp2")
        expect(abs(found["peak"] / case["peak"] - 1) <= 0.025, f"{case}: expected a peak of {case['peak']} within 2.5 % but got {found['peak']}")
        expect_equal(sum(found["peak_by_purpose"].values()), found["peak"], "sum of the purposes")
        for name, kind in (("parameter", "sharded_param"), ("optimizer", "opt")):
            expect(abs(found["peak_by_purpose"][name] - case["parts"][kind]) <= 1024, f"{case}: {name} {found['peak_by_purpose']}")


@test
def attention_with_dropout_is_one_op_on_a_gpu():
    """Dropout adds its masks, one of the embedding and two of each block, and no weights of attention, which would be 402 MB in each block."""
    rows, width, layers = 8 * 1024, 768, 4
    sizes = [f"layers={layers}", "heads=12", f"dim={width}", "vocab=8192", "max_sequence=1024", "sequence=1024", "batch=8"]
    plain, dropped = (account(Plan(zoo("transformer", *sizes, f"dropout={rate}"), ["optimizer.name=adam", "target.device=cuda"]).path, "fsdp2")["peak"]
                      for rate in (0, 0.1))
    masks = (1 + 2 * layers) * rows * width
    expect(masks <= dropped - plain <= 2 * masks, f"expected {masks} bytes of masks, at most as many of their products, but got {dropped - plain}")


@test
def other_memory_is_refused():
    tensor = Plan(gpt2_tiny(), ["mesh.tensor=2", "sharding.tensor=megatron"])
    batches = Plan(gpt2_tiny(), ["mesh.shard=2", "gradient.microbatches=2"])
    axis = "has no mesh axis 'tensor'\nnote: compile for the axes 'replicate' and 'shard'"
    for plan, framework, error in (
            (tensor, "fsdp1", axis), (tensor, "fsdp2", axis),
            (batches, "fsdp2", "is of one micro-batch, but the plan has 2\nnote: compile with 'gradient.microbatches' = 1")):
        done = try_run("sluice-plan", "memory", plan.path, "--account", framework)
        expect_equal((done.returncode, done.stderr.strip()), (1, f"error: the account of {framework.upper()} {error}"), "refusal")


@test
def peak_is_within_an_iteration():
    """At the peak of the memory test all activations and the gradients of two are live."""
    for policy, least in (("none", 340), ("marked", 289)):
        found = account(conv(policy).path)
        expect(least * MIB <= found["peak"] <= 1.5 * (340 + 7) * MIB, f"{policy}: expected a peak above {least} MiB but got {found['peak'] / MIB}")
        expect(found["peak"] > max(point["bytes"] for point in found["points"]), f"{policy}: expected a peak above all points")


main(no_empty_loops=True)
