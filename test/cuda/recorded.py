"""Plans of every model and recipe key, compiled for CUDA, run by the executor on a device that only records:
each call is compared with the plan (cuda-plans --record). The list has every model of the zoo, every reference case of a family and every recipe key that a
plan may have.
"""

# REQUIRES: compiler
# ONE TEST: both functions need the list of plans, and the models of the list are imported once

from concurrent.futures import ThreadPoolExecutor

from sluice import *

# The device that records has no cuDNN.
CUDA = ["target.device=cuda", "target.arch=sm_90", "kernels.attention=own"]
MEGATRON = "sharding.tensor=megatron"
# Axes that no plan has yet, and a key of the CPU.
EXCLUDED = {"mesh.context", "mesh.pipeline", "target.isa"}

plans, given = [], set()


def add(name, model, *settings):
    plans.append((name, model, list(settings) + CUDA))
    given.update(setting.split("=")[0] for setting in plans[-1][2])


def reference_cases():
    for case in sorted(REFERENCE.glob("*/cases/*.json")):
        of = case.parent.parent.name
        recipe = json.loads(case.read_text())["recipe"]
        mesh, precision, optimizer = recipe["mesh"], recipe["precision"], recipe["optimizer"]
        settings = [f"mesh.{axis}={size}" for axis, size in mesh.items()]
        settings += [f"precision.{key}={precision[key]}" for key in ("compute", "reduce")]
        settings += [f"optimizer.{key}={value}" for key, value in optimizer.items()]
        if of == "conv-tiny":
            sizes = [f"{key}={value}" for key, value in recipe["sizes"].items()]
            model = zoo("conv", *sizes, "height=24", "width=24")
        else:
            model = hugging_face(of, recipe["rows_per_rank"], recipe["sequence"])
            settings += [f"gradient.microbatches={recipe['microbatches']}", f"recompute.policy={recipe['recompute']}"]
            settings += [f"sharding.strategy={recipe['strategy']}"] if recipe["world"] > 1 else []
            settings += [f"gradient.clip_norm={recipe['clip_norm']}", f"gradient.clip_type={recipe['clip_type']}"] \
                if recipe["clip_norm"] else []
        add(f"{of}-{case.stem}", model, *settings)


def zoo_models():
    listed = re.findall(r"^(\S+):", run("sluice-import", "zoo", "--list").stdout, re.M)
    for name in listed:
        small = ("stem=4", "hidden=8", "height=24", "width=20") if name == "conv" else ()
        add(f"{name}-2", zoo(name, *small), "mesh.shard=2")
        add(f"{name}-3x2", zoo(name, *small), "mesh.shard=3", "mesh.replicate=2", "gradient.microbatches=2")


def every_key():
    toy = zoo("transformer")
    two, four = "mesh.shard=2", "mesh.shard=4"
    rows = {
        "strategies": [[f"sharding.strategy={strategy}", two, *more] for more in ([], ["mesh.replicate=2"])
                       for strategy in ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_grad_op")
                       if more or not strategy.startswith("hybrid")],
        "reshard": [[two, f"sharding.reshard_after_forward={value}"] for value in ("true", "false", "default")] +
                     [[four, "sharding.reshard_after_forward=2"],
                      [two, "sharding.reshard_before_backward=true", "sharding.reshard_after_forward=false"],
                      [two, "sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last", "gradient.microbatches=2"],
                      [two, "sharding.unshard_in_backward=true"]],
        "units": [[two, "sharding.units=root"], [two, "sharding.units=bytes:4096"],
                  [two, 'sharding.replicated=["*.bias"]'], [two, 'parameters.frozen=["layers.0.*"]'],
                  ["mesh.shard=3", "sharding.dim=largest"], ["mesh.shard=3", "sharding.dim=flat"]],
        "precision": [[two, f"precision.compute={compute}", f"precision.reduce={reduce}", f"precision.output={compute}"]
                      for compute, reduce in (("bf16", "f32"), ("bf16", "bf16"), ("f64", "f64"))] +
                     [[two, "precision.compute=f16", "precision.loss_scale=1024"],
                      [two, "precision.compute=f16", "precision.reduce=f16", "precision.loss_scale=dynamic"],
                      [two, "precision.parameter=f64", "precision.compute=f64"]],
        "gradients": [[two, "gradient.microbatches=3", f"gradient.sync={value}"] for value in ("last", "every", "[false, true, true]")] +
                     [[two, "mesh.replicate=2", "gradient.microbatches=2", "gradient.sync=reduce_scatter_only"],
                      [two, "gradient.divide=3"], [two, "gradient.force_sum=true"], [two, "gradient.divide=2", "gradient.force_sum=true"],
                      [two, "gradient.clip_norm=1.0", "gradient.clip_type=inf"]],
        "optimizers": [[two, "optimizer.name=adam", "optimizer.betas=[0.8, 0.9]", "optimizer.eps=1e-6", "optimizer.lr=0.1"],
                       [two, "optimizer.name=sgd", "optimizer.momentum=0.9", "optimizer.nesterov=true", "optimizer.weight_decay=0.1"],
                       [two, 'optimizer.no_decay=["*.bias"]', "lr_schedule.name=cosine", "lr_schedule.warmup_steps=2",
                        "lr_schedule.total_steps=10", "lr_schedule.min_lr=0.0001"],
                       [two, "optimizer.no_decay=norms-and-biases", "lr_schedule.name=linear", "lr_schedule.total_steps=10"],
                       [two, "lr_schedule.name=wsd", "lr_schedule.total_steps=10", "lr_schedule.decay_steps=3"]],
        "schedule": [[two, f"schedule.forward_prefetch={forward}", f"schedule.backward_prefetch={backward}", "schedule.order=loop"]
                     for forward, backward in (("0", "0"), ("2", "pre"), ("1", "post"), ("0", "none"))] +
                    [[two, "schedule.reduce_buffers=2", "collective.register=false"], [two, "memory.budget=64MiB"],
                     [two, "collective.max_ctas=8"], [two, "collective.max_ctas=8", "collective.copy_engines=true"],
                     [two, "schedule.overlap_steps=false"], [two, "schedule.overlap_steps=true", "gradient.microbatches=2"]],
        "recompute": [[two, "recompute.policy=block", "recompute.save=[]"]],
    }
    for group, list_of in rows.items():
        for number, settings in enumerate(list_of):
            add(f"{group}-{number}", toy, *settings)
    add("marked", zoo("nested-recompute"), two, "recompute.policy=marked")
    add("statistics", zoo("conv", "stem=4", "hidden=8", "height=24", "width=20"), two, "statistics.sync=last")
    add("tokens", hugging_face("gpt2-tiny", 1, 32), two, "loss.mean=tokens", "gradient.microbatches=2")
    # A model of one backward pass: the check of reduced elements counts each unit once.
    add("per-pass", hugging_face("gpt2-tiny", 1, 32), two, "gradient.reduce_per_pass=true")
    add("in-backward", hugging_face("gpt2-tiny", 1, 32), two, "optimizer.in_backward=true")
    add("rank-losses", hugging_face("gpt2-tiny", 1, 32), two, "loss.per_rank=true")
    add("chunked", hugging_face("gpt2-tiny", 1, 32), two, "loss.chunk_rows=8")
    add("tensor", hugging_face("gpt2-tiny", 1, 32), "mesh.tensor=2", two, MEGATRON, "sharding.sequence=true", "gradient.clip_norm=1.0")
    add("experts", zoo("moe", "batch=4"), "mesh.expert=2", two, 'sharding.expert=["*.experts.*"]', "gradient.clip_norm=1.0")
    add("tensor-llama", hugging_face("llama-tiny", 1, 32), "mesh.tensor=2", MEGATRON, "target.threads=2")


def large_models():
    """Short sequences: the host receives the logits, in memory that is allocated."""
    gpt2 = hugging_face({"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "vocab_size": 50257, "n_positions": 1024}, 1, 128)
    add("gpt2-124M", gpt2, "mesh.shard=4", "precision.compute=bf16")
    add("gpt2-124M-alone", gpt2, "precision.compute=bf16")
    llama = hugging_face({
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
        "tie_word_embeddings": False, "hidden_act": "silu"}, 1, 64)
    add("llama-8B", llama, "mesh.shard=2", "precision.compute=bf16", "recompute.policy=block")


def the_demo():
    example = ROOT / "docs" / "examples" / "gpt2-small-demo"
    model = hugging_face(demo_config(), 4, 64)
    plans.append(("demo", model, ["--recipe", example / "recipe.toml"] + set_options(CUDA)))


def offloaded():
    """The host computes nothing of a plan that only copies activations."""
    for number, what in enumerate(('["parameters"]', '["optimizer"]', '["parameters", "optimizer"]')):
        add(f"offload-{number}", zoo("transformer"), "mesh.shard=2", f"memory.offload={what}", "gradient.microbatches=2")
    add("activations", hugging_face("gpt2-tiny", 1, 32), "mesh.shard=2", 'memory.offload=["activations"]', "gradient.microbatches=2")
    add("offload-alone", zoo("mlp"), 'memory.offload=["parameters", "optimizer"]', "memory.pinned=true")


def compiled(plan):
    name, model, settings = plan
    path = SCRATCH / f"{name}.plan"
    run("sluice-compile", model, *(settings if settings[0] == "--recipe" else set_options(settings)), "-o", path)
    return path


@functools.cache
def add_every_plan():
    for add_some in (reference_cases, zoo_models, every_key, large_models, the_demo, offloaded):
        add_some()


@test
def every_recipe_key_is_covered():
    add_every_plan()
    shown = run("sluice-compile", zoo("mlp"), "--print-recipe").stdout
    known = set(re.findall(r"^(?:# )?([a-z_.]+) (?:=|is off)", shown, re.M))
    expect(len(known) > 40, f"keys of a recipe, expected more than 40 but got {len(known)}")
    expect_equal(sorted(known - given - EXCLUDED), [], "keys that no row has")


@test
def every_call_is_in_the_plan():
    add_every_plan()
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(compiled, plans))
    done = try_run("cuda-plans", "--record", *paths)
    lines = done.stdout.splitlines()
    expect(done.returncode == 0, done.stdout)
    expect_equal(len(lines), len(plans), "lines")
    expect(any(line.startswith("llama-8B.plan: 2 ranks") for line in lines), done.stdout)
    for line in lines:
        match = re.fullmatch(r"(\S+)\.plan: (\d+) ranks, (\d+) launches, (\d+) moves, (\d+) collectives, (\d+) records and waits, (\d+) calls of the host", line)
        if expect(match, f"unexpected line: {line}"):
            name, numbers = match[1], list(map(int, match.groups()[1:]))
            expect(numbers[1] > 0, f"{name}: no launch was compared")
            expect(numbers[0] == 1 or numbers[3] > 0, f"{name}: no collective was compared")
            expect((numbers[5] > 0) == name.startswith("offload"), f"{name}: {numbers[5]} calls of the host")


main()
