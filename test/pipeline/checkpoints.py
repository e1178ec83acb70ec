"""Runs that continue from a checkpoint: the same bits on the same mesh, and near losses on another."""

# REQUIRES: compiler

import os

from sluice import *

TEXT = "/usr/share/common-licenses/GPL-3"
STEPS, BREAK = 5, 2
OPTIONS = ("--order", "shuffled", "--seed", "7")

TINY = dict(reference_config("gpt2-tiny"), n_layer=2, resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.1)


def model():
    return hugging_face(TINY, 2, 16)


def run_steps(plan, steps, *options, data=TEXT):
    """A run's losses, log and weights. The cache of train() does not know what a folder contains."""
    (SCRATCH / "x.jsonl").unlink(missing_ok=True)
    return train_once(plan.path, data, steps, (*OPTIONS, *options))


def expect_continues(plan, what, data=TEXT, after=None, steps=STEPS):
    """Continues the run of `plan`, or of `after`, until its last step; both runs."""
    runs = folder("run")
    full = run_steps(plan, steps, data=data)
    run_steps(plan, BREAK, "--checkpoint", runs, data=data)
    rest = run_steps(after or plan, steps, "--checkpoint", runs, data=data)
    expect_equal([step["step"] for step in rest.steps], list(range(BREAK + 1, steps + 1)), f"{what}: steps")
    if after is None:
        expect_equal(rest.loss, full.loss[BREAK:], f"{what}: losses")
        expect(rest.weights == full.weights, f"{what}: expected the same weights but got others")
    return full, rest


@test
def the_same_bits():
    for settings in (("mesh.shard=2", "gradient.microbatches=2", "gradient.clip_norm=0.5"),
                     ("mesh.shard=2", "precision.compute=bf16", "sharding.strategy=no_shard"),
                     ("mesh.shard=3", "sharding.dim=flat", "optimizer.in_backward=true"),
                     ("mesh.shard=2", "mesh.tensor=2", "sharding.tensor=megatron"),
                     ("mesh.shard=2", 'memory.offload=["parameters", "optimizer"]'),
                     ("mesh.shard=2", 'memory.offload={"h.0"=["parameters", "optimizer"], root=["optimizer"]}'),
                     ("precision.parameter=f64", "precision.compute=f64", "optimizer.name=sgd", "optimizer.momentum=0.9")):
        expect_continues(Plan(model(), settings), settings)


@test
def offload_by_unit_changes_no_checkpoint():
    """Runs with and without it continue each other with the same bits."""
    without, units = ("mesh.shard=2",), ("mesh.shard=2", 'memory.offload={"h.0"=["parameters", "optimizer"], "h.1"=["optimizer"]}')
    for before, after in ((without, units), (units, without)):
        full, rest = expect_continues(Plan(model(), before), f"{before}, {after}", after=Plan(model(), after))
        expect_equal(rest.loss, full.loss[BREAK:], f"{before}, {after}: losses")
        expect(rest.weights == full.weights, f"{before}, {after}: expected the same weights but got others")


@test
def a_dynamic_loss_scale():
    """The gradients of a sum overflow until the scale is small enough: steps and updates differ."""
    plan = Plan(zoo("mlp"), ("mesh.shard=2", "precision.compute=f16", "precision.loss_scale=dynamic"))
    full, rest = expect_continues(plan, "loss scale", data="random:1", steps=8)
    scales = [step["loss_scale"] for step in full.steps]
    expect(len(set(scales[:BREAK + 1])) > 1, f"expected a scale that changes but got {scales}")
    expect_equal([step["loss_scale"] for step in rest.steps], scales[BREAK:], "scales")


@test
def statistics_of_each_rank():
    plan = Plan(zoo("conv", "height=32", "width=32", "stem=8", "hidden=8"), ("mesh.shard=2",))
    expect_continues(plan, "batch norm", data="random:1")


@test
def two_entry_points():
    plan, runs = Plan(zoo("mlp-sequence"), ("mesh.shard=2",)), folder("entries")
    entries = ("--entries", "train_step,train_first")
    full = run_steps(plan, STEPS, *entries, data="random:1")
    run_steps(plan, BREAK, *entries, "--checkpoint", runs, data="random:1")
    rest = run_steps(plan, STEPS, *entries, "--checkpoint", runs, data="random:1")
    expect(rest.weights == full.weights, "two entry points: expected the same weights but got others")


@test
def another_mesh():
    """The global batch has four rows in each plan."""
    model_of = {rows: hugging_face(dict(TINY, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0), rows, 16) for rows in (1, 2, 4)}
    first = Plan(model_of[2], ("mesh.shard=2",))
    for rows, settings in ((4, ()), (1, ("mesh.shard=4", "sharding.dim=flat")), (1, ("mesh.shard=2", "mesh.replicate=2")),
                           (2, ("mesh.shard=2", "mesh.tensor=2", "sharding.tensor=megatron")),
                           (2, ("mesh.shard=2", "sharding.units=root", "sharding.strategy=shard_grad_op")),
                           (2, ("gradient.microbatches=2", 'memory.offload=["optimizer"]')),
                           (2, ("mesh.shard=2", "precision.compute=bf16"))):
        full, rest = expect_continues(first, settings, after=Plan(model_of[rows], settings))
        tolerance = 2e-2 if "precision.compute=bf16" in settings else 1e-5
        expect_near(rest.loss, full.loss[BREAK:], tolerance, f"{settings}: losses")


@test
def one_process_per_rank():
    """Checkpoints of threads continue as processes and the reverse; each process writes its shard."""
    plan, processes = Plan(model(), ("mesh.shard=2",)), ROOT / "test" / "tools" / "processes.py"
    full, runs, saved = run_steps(plan, STEPS), folder("processes"), folder("saved")
    command = ("python3", processes, "torchrun", 2, "sluice-train", plan.path, "--data", TEXT, *OPTIONS, "--quiet", "--checkpoint", runs)
    run(*command, "--steps", 2, "--every", 1)
    expect_equal(sorted(os.listdir(runs)), [".lock", "step-00000001", "step-00000002"], "folders")
    expect_equal(sorted(os.listdir(runs / "step-00000002")),
                 ["config.json", "model.safetensors.index.json", *(f"shard-0000{rank}-model-00001-of-00001.safetensors" for rank in (1, 2)), "state.json"], "files")
    run_steps(plan, 3, "--checkpoint", runs)
    run(*command, "--steps", STEPS, "--save", saved)
    expect((saved / "model.safetensors").read_bytes() == full.weights, "processes: expected the same weights but got others")


@test
def the_log_continues():
    plan, runs, log = Plan(model(), ("mesh.shard=2",)), folder("log"), SCRATCH / "continued.jsonl"
    full = run_steps(plan, STEPS)
    command = ("sluice-train", plan.path, "--data", TEXT, *OPTIONS, "--quiet", "--log", log, "--checkpoint", runs)
    run(*command, "--steps", BREAK)
    # A step that was logged and not saved is repeated.
    log.write_text(log.read_text() + json.dumps({"step": BREAK + 1, "loss": 0}) + '\n{"step": 4, "lo')
    run(*command, "--steps", STEPS)
    steps, _ = read_log(log)
    expect_equal([(step["step"], step["loss"]) for step in steps], list(enumerate(full.loss, 1)), "log")


@test
def after_an_interrupt():
    plan, script = Plan(model(), ("mesh.shard=2",)), ROOT / "test" / "tools" / "interrupt.py"
    for signal in ("INT", "TERM"):
        runs = folder("interrupt")
        run("python3", script, signal, "step 2/", "sluice-train", plan.path, "--data", TEXT, *OPTIONS, "--steps", 100000, "--checkpoint", runs)
        stopped = int(max(os.listdir(runs)).removeprefix("step-"))
        full = run_steps(plan, stopped + 2)
        rest = run_steps(plan, stopped + 2, "--checkpoint", runs)
        expect_equal(rest.loss, full.loss[stopped:], f"{signal}: losses")
        expect(rest.weights == full.weights, f"{signal}: expected the same weights but got others")


main()
