"""`sharding.tensor` = "auto": the chosen splits, and their collectives next to those of Megatron-LM."""

from sluice import *

EXPORT = REFERENCE / "export"
AUTO = ["sharding.tensor=auto"]


def volume(plan, ranks=2):
    """Number of the step's collectives over the axis, and the bytes that a rank sends in rings."""
    found = [c for c in plan.collectives() if c["axis"] == "tensor"]
    shares = {"all_gather": ranks - 1, "reduce_scatter": (ranks - 1) / ranks, "all_reduce": 2 * (ranks - 1) / ranks,
              "all_to_all": (ranks - 1) / ranks}
    return len(found), sum(shares[c["kind"]] * c["bytes_in"] for c in found)


def widened(name):
    """The config of a tiny model with 64 times its widths: communication pays as in models of practice."""
    config = json.loads((REFERENCE / "families" / name / "config.json").read_text())
    for key in ("hidden_size", "n_embd", "intermediate_size", "n_inner", "ffn_dim", "vocab_size", "word_embed_proj_dim", "head_dim"):
        if config.get(key):
            config[key] *= 64
    for settings in (config.get("rope_parameters"), config.get("rope_scaling")):
        for key, value in (settings or {}).items():
            if isinstance(value, list):
                settings[key] = value * 64
    return config


@test
def families():
    """At most the collectives of the layout by names, and the same parameters are sharded, or more."""
    names = [folder.name for folder in sorted((REFERENCE / "families").iterdir()) if (folder / "config.json").exists()]
    expect(len(names) >= 14, f"expected at least 14 families but got {names}")
    uneven = []
    for name in names:
        config = widened(name)
        model = hugging_face(config, 256, 8)
        found, wanted = (Plan(model, ["mesh.tensor=2", split]) for split in ("sharding.tensor=auto", "sharding.tensor=megatron"))
        (count, sent), (most, all_bytes) = volume(found), volume(wanted)
        expect(most > 0, f"{name}: the layout by names has no collectives")
        # Where the ranks do not divide the heads, others than the layout by names repeat fewer operations.
        if any(config[key] % 2 for key in ("num_attention_heads", "n_head") if key in config):
            uneven.append(name)
            continue
        expect(count <= most and sent <= all_bytes, f"{name}: {count} collectives of {sent} bytes, expected at most {most} of {all_bytes}")
        elements = lambda plan: sum(math.prod(p["local"]) for p in plan.parameters().values())
        expect(elements(found) <= 1.1 * elements(wanted), f"{name}: {elements(found)} elements on a rank, by names {elements(wanted)}")
    expect(len(names) - len(uneven) >= 14, f"the heads of {uneven} are not divided")


def imported(name):
    model = SCRATCH / f"{name}.mlir"
    run("sluice-import", "export", EXPORT / name / "model.pt2", "-o", model, "--weights", model.with_suffix(".safetensors"))
    return model


def trained(name, plan):
    data = SCRATCH / f"{name}-data.safetensors"
    data.write_bytes(join_batches([EXPORT / name / f"inputs.{i}.safetensors" for i in range(3)]))
    return train(plan, "--init", SCRATCH / f"{name}.safetensors", "--order", "sequential", data=data)


@test
def imported_modules():
    """Attention and the layers after it are sharded by heads and by hidden features, whatever their names are."""
    model = SCRATCH / "bert.mlir"
    run("sluice-import", "export", REFERENCE / "export-sharding" / "bert.pt2", "-o", model)
    done = run("sluice-compile", model, "--set", "mesh.tensor=4", "--set", AUTO[0], "-o", SCRATCH / "auto.plan")
    chosen = re.findall(r"remark: 'sharding.tensor' = \"auto\": (\w+) for '([^']*)' and those of 1 equal blocks: replicated [\d.]+ MiB, column", done.stderr)
    expect_equal([(split, name.removeprefix("model.bert.encoder.layer.0.")) for split, name in chosen],
                 [("column", f"attention.self.{part}.weight") for part in ("query", "key", "value")] +
                 [("row", "attention.output.dense.weight"), ("column", "intermediate.dense.weight"), ("row", "output.dense.weight")], "splits of a block")


@test
def numbers():
    """A few tokens, so that it pays to divide the parameters."""
    config = json.loads((REFERENCE / "families" / "llama" / "config.json").read_text()) | {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = hugging_face(config, 1, 4)
    for mesh in (["mesh.tensor=2"], ["mesh.tensor=2", "mesh.shard=2"]):
        plan = Plan(model, mesh + AUTO).check()
        expect(volume(plan)[0] >= 9, f"{mesh}: {volume(plan)} collectives over tensor")
        expect_near_runs(train(plan), train(Plan(model, mesh[1:])), 2e-5, f"{mesh}")


@test
def images():
    """The convolution of the patches is sharded by output channels."""
    model = imported("vit")
    plan = Plan(model, ["mesh.tensor=2", 'sharding.tensor={"*.projection.*"="column"}']).check()
    expect(volume(plan)[0] > 0, "vit: no collectives over tensor")
    expect_near_runs(trained("vit", plan), trained("vit", Plan(model)), 1e-4, "vit")
    for split, ranks in (("column", 2), ("column", 3)):
        channels = Plan(zoo("conv", "height=16", "width=16", "stem=4", "hidden=6"), [f"mesh.tensor={ranks}", f'sharding.tensor={{"blocks.3.weight"="{split}"}}']).check()
        expect(volume(channels)[0] > 0, f"conv by {split} on {ranks} ranks: no collectives over tensor")


@test
def nothing_to_choose():
    model = zoo("mlp-stack")
    done = run("sluice-compile", model, *set_options(AUTO), "-o", SCRATCH / "one.plan")
    expect_equal(done.stderr, "", "remarks with one rank along the axis")
    done = try_run("sluice-opt", "--spmd-shard-parameters=axis=tensor mesh.tensor=2 sharding.tensor=auto", model)
    expect(done.returncode == 1 and "expected a table by parameter glob, 'megatron', or in sluice-compile 'auto', but got auto" in done.stderr, done.stderr)
    expect_refused(model, ["mesh.tensor=2", 'sharding.tensor={"*"="auto"}'], "expected column, row or replicated but got auto")


main(no_empty_loops=True)
