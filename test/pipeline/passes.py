"""Every pass of every phase has an effect: without it the plan differs, or compilation fails.

The pipeline runs once with all passes and once without each. If a required pass is missing, compilation fails. If an optional pass is missing, the plan
differs as the table states. A pass that verifies changes no valid module: EDITS has an invalid one for each.
"""

from phases import *

BASE = ("mesh.shard=4", "recompute.policy=block", "gradient.microbatches=2", "gradient.clip_norm=1.0")
NO_DECAY = BASE + ('optimizer.no_decay=["*.bias"]',)
TENSOR = ("mesh.tensor=2", "sharding.tensor=megatron")
TENSOR_NORM = TENSOR + ("mesh.shard=2", "gradient.clip_norm=1.0")
IN_HOST = BASE + ('memory.offload=["parameters", "optimizer"]',)
ACTIVATIONS = ("mesh.shard=2", 'memory.offload=["activations"]')
ONE_RANK = ("mesh.shard=1",)
NARROW = ("mesh.shard=2", "precision.compute=bf16")
GPU = ("mesh.shard=2", "precision.compute=bf16", "target.device=cuda", "target.arch=sm_90")
FROZEN = ("mesh.shard=2", 'parameters.frozen=["wpe.weight"]')
IN_BACKWARD = ("mesh.shard=2", "optimizer.in_backward=true")
RANK_LOSSES = ("mesh.shard=2", "loss.per_rank=true")
TOKENS = ("mesh.shard=2", "loss.mean=tokens")
# A model with running statistics.
STATISTICS = ("zoo conv", "mesh.shard=2", "statistics.sync=last")
EXPERT = ("zoo moe", "mesh.expert=2", 'sharding.expert=["*.experts.*"]')


def has_more_parts(complete, plan):
    return complete.text.count(" part dim ") > plan.text.count(" part dim ")


def refused(complete, plan, error):
    return plan is None and "error: " in error and "PLEASE submit a bug report" not in error


def shows(claim):
    """An optional pass: without it there is a plan, which differs by the claim from the plan of all passes."""
    return lambda complete, plan, error: plan is not None and claim(complete, plan)


def checks(complete, plan, error):
    """A pass that verifies: the plan is the same without it."""
    return plan is not None and plan.text == complete.text


def small_budget(text):
    """One byte is less than any plan needs."""
    return text.replace("model.recipe = {", "model.recipe = {memory.budget = 1 : i64, ", 1)


def second_write(text):
    """One state of a parameter is written twice, another one never."""
    return text.replace('state "exp_avg",', 'state "exp_avg_sq",', 1)


def without_release(text):
    """A gathered unit is not released after the forward."""
    return re.sub(r"^ *spmd\.release .*\n", "", text, count=1, flags=re.M)


def without_wait(text):
    """Compute does not wait for the second gather."""
    wait = list(re.finditer(r"^ *plan\.wait \d+ on @compute.*\n", text, re.M))[1]
    return text[:wait.start()] + text[wait.end():]


def shared_bytes(text):
    """The second buffer is at the offset of the first."""
    return text.replace("offset = 16384 : i64", "offset = 0 : i64", 1)


# pass: (settings, a claim on the plan without it)
TABLE = {
    "input": {
        "model-verify-input": (BASE, checks),
        "model-make-evaluation": (BASE, shows(lambda complete, plan: "entry eval_step" in complete.text and
                                              "entry eval_step" not in plan.text)),
    },
    "prepare": {
        "model-freeze-parameters": (FROZEN, shows(lambda complete, plan: frozen(complete) == ["wpe.weight"] and not frozen(plan))),
        "model-flatten-blocks": (BASE, refused),
        # The loss of every token has the same weight: one more number is reduced over all ranks.
        "model-count-loss": (TOKENS, shows(lambda complete, plan: scalars_reduced(complete) == scalars_reduced(plan) + 1)),
        "model-apply-precision": (NARROW, shows(lambda complete, plan: {"bf16"} == {
            c["dtype"] for c in complete.description["collectives"] if c["kind"] == "all_gather"} and "f32" in {
            c["dtype"] for c in plan.description["collectives"] if c["kind"] == "all_gather"})),
        "model-fuse": (BASE, shows(lambda complete, plan: complete.count_instructions("add", phase="forward") <
                                   plan.count_instructions("add", phase="forward"))),
    },
    "differentiate": {
        "model-differentiate": (BASE, refused),
        # Fewer launches and no more memory; training has the same bits.
        "model-fuse-backward": (BASE, shows(
            lambda complete, plan: complete.count_instructions("gelu") == complete.count_instructions("gelu_grad") == plan.count_instructions("matmul_gelu") == 0 and
            complete.count_instructions("matmul_gelu_grad") == plan.count_instructions("gelu_grad") > 0 and complete.count_instructions("matmul_gelu") == plan.count_instructions("gelu") > 0 and
            complete.arena()["bytes"] <= plan.arena()["bytes"] and trained_weights(complete) == trained_weights(plan))),
    },
    "optimize": {"model-apply-optimizer": (BASE, refused)},
    "recompute": {
        "model-recompute": (BASE, shows(lambda complete, plan: complete.point("after_forward") < plan.point("after_forward") and
                                        complete.count_instructions("matmul_gelu", phase="backward") > 0 == plan.count_instructions("matmul_gelu", phase="backward"))),
        "model-record-program": (BASE, refused),
        "model-verify-output": (BASE, checks),
    },
    "partition": {
        "spmd-shard-parameters{axis=expert}": (EXPERT, shows(has_more_parts)),
        "spmd-propagate-shardings{axis=expert}": (EXPERT, refused),
        "spmd-insert-reshards{axis=expert}": (EXPERT, refused),
        "spmd-localize{axis=expert}": (EXPERT, refused),
        "spmd-lower-reshards": (BASE, refused),
        "spmd-shard-parameters{axis=tensor}": (TENSOR, shows(has_more_parts)),
        "spmd-propagate-shardings{axis=tensor}": (TENSOR, refused),
        "spmd-insert-reshards{axis=tensor}": (TENSOR, refused),
        "spmd-localize{axis=tensor}": (TENSOR, refused),
        "spmd-assign-units": (BASE, refused),
        "spmd-partition": (BASE, refused),
        "spmd-insert-data-reshards": (BASE, refused),
        "spmd-group-reshards": (BASE, refused),
        # The root is gathered once, not again for the backward.
        "spmd-elide-reshards": (BASE, shows(lambda complete, plan: complete.count_instructions("all_gather") < plan.count_instructions("all_gather"))),
        "spmd-accumulate-gradients": (BASE, refused),
        "spmd-return-rank-losses": (RANK_LOSSES, shows(lambda complete, plan: "output rank_loss" in complete.text and "rank_loss" not in plan.text)),
        "spmd-localize-update": (BASE, refused),
        "spmd-join-reductions": (TENSOR_NORM, shows(lambda complete, plan: complete.count_instructions("all_reduce") < plan.count_instructions("all_reduce"))),
        "spmd-sync-statistics": (STATISTICS, refused),
        "spmd-fold-unit-axes": (ONE_RANK, refused),
        "spmd-offload": (IN_HOST, refused),
        "spmd-offload-activations": (ACTIVATIONS, shows(lambda complete, plan: complete.arena("host")["bytes"] > plan.arena("host")["bytes"])),
        "spmd-verify": (BASE, checks),
    },
    "prefetch": {
        # h.1 is gathered before its use and before h.0 is released.
        "spmd-hoist-gathers": (BASE, shows(
            lambda complete, plan: complete.events().index("U(h.1)") < complete.events().index("R(h.0)") and
            plan.events().index("R(h.0)") < plan.events().index("U(h.1)"))),
        # Compute waits for the reduction of a unit after the backward of the previous unit.
        "spmd-sink-waits": (BASE, shows(lambda complete, plan: reduction_waits(complete) > 0 == reduction_waits(plan))),
        # The next step gathers the root first, so the root is updated first.
        "spmd-order-updates": (NO_DECAY, shows(lambda complete, plan: root_is_first(complete) and not root_is_first(plan))),
        # One launch for each unit instead of one for each parameter, with no more memory; training has the same bits.
        "spmd-merge-updates": (BASE, shows(
            lambda complete, plan: complete.count_instructions("adamw") == len(complete.units()) and plan.count_instructions("adamw") == len(updated(plan)) and
            updated(complete) == updated(plan) and complete.arena()["bytes"] <= plan.arena()["bytes"] and trained_weights(complete) == trained_weights(plan))),
        # Each unit is updated in the backward, after its reduction.
        "spmd-hoist-updates": (IN_BACKWARD, shows(
            lambda complete, plan: complete.count_instructions("adamw", phase="backward") == len(complete.units()) > 0 ==
            plan.count_instructions("adamw", phase="backward") and trained_weights(complete) == trained_weights(plan))),
    },
    "lower": {
        "plan-lower": (BASE, refused),
        "plan-fuse-column-sums": (GPU, shows(lambda complete, plan: complete.count_instructions("layer_norm_grad_and_sum") ==
                                             plan.count_instructions("reduce_sum") - complete.count_instructions("reduce_sum") > 0 ==
                                             plan.count_instructions("layer_norm_grad_and_sum"))),
        "plan-place-destinations": (BASE, shows(lambda complete, plan: complete.count_instructions("copy", phase="backward") <
                                                plan.count_instructions("copy", phase="backward"))),
        # The logits are read once.
        "plan-fuse-loss": (GPU, shows(lambda complete, plan: complete.count_instructions("cross_entropy_and_grad") == plan.count_instructions("cross_entropy_grad") > 0 ==
                                      complete.count_instructions("cross_entropy_grad") and complete.arena()["bytes"] <= plan.arena()["bytes"])),
        "plan-accumulate-in-launches": (BASE, shows(lambda complete, plan: complete.count_instructions("accumulate") <
                                                    plan.count_instructions("accumulate"))),
    },
    "streams": {
        "plan-choose-kernels": (GPU, shows(lambda complete, plan: "cudnn = 1" in complete.text and "cudnn = 1" not in plan.text)),
        "plan-assign-streams": (BASE, refused),
        "plan-insert-events": (BASE, refused),
        "plan-elide-events": (BASE, shows(lambda complete, plan: complete.count_instructions("wait") < plan.count_instructions("wait") and
                                          complete.count_instructions("record") < plan.count_instructions("record"))),
        "plan-verify-streams": (BASE, checks),
    },
    "memory": {
        "plan-reuse-in-place": (ONE_RANK, shows(lambda complete, plan: complete.arena()["bytes"] < plan.arena()["bytes"])),
        "plan-carry-events": (BASE, shows(lambda complete, plan: " carried" in complete.text and " carried" not in plan.text)),
        # One launch for the casts of a unit's parameters, with no more memory; training has the same bits.
        "plan-merge-launches": (NARROW, shows(
            lambda complete, plan: complete.count_instructions("cast") < plan.count_instructions("cast") and
            complete.arena()["bytes"] <= plan.arena()["bytes"] and trained_weights(complete) == trained_weights(plan))),
        "plan-compute-lifespans": (BASE, refused),
        "plan-place-buffers": (BASE, refused),
        "plan-check-budget": (BASE, checks),
        "plan-verify-memory": (BASE, checks),
    },
}

def frozen(plan):
    return re.findall(r"^  parameter ([^:]+):.* frozen$", plan.text, re.M)


def updated(plan):
    """Parameters in the order of their updates."""
    launches = re.findall(r": adamw\((.*?)\) -> ", plan.text)
    return [name for launch in launches for name in re.findall(r"%(\S+?)\.shard:", launch)]


def trained_weights(plan):
    return train(plan, steps=2).weights


def root_is_first(plan):
    order = updated(plan)
    return order.index("ln_f.bias") < order.index("h.0.ln_1.weight")


def scalars_reduced(plan):
    return sum(1 for c in plan.description["collectives"]
               if c["entry"] == "train_step" and c["kind"] == "all_reduce" and c["unit"] is None)


def no_loss(text):
    """Declares an entry point without a scalar result a train step."""
    return text.replace('model.entry = #model.entry<forward>', 'model.entry = #model.entry<train>', 1)


# Passes that verify: an edit of the pass's input that the pass refuses and the rest of the phase accepts; and part of the message with which a later phase or
# the checker refuses the module without the pass, if it makes a wrong plan.
EDITS = {
    "model-verify-input": (no_loss, None),
    "model-verify-output": (second_write, "P10"),
    "spmd-verify": (without_release, "P4"),
    "plan-verify-streams": (without_wait, "P4"),
    "plan-check-budget": (small_budget, None),
    "plan-verify-memory": (shared_bytes, "P2"),
}


def reduction_waits(plan):
    """The largest number of launches of compute between a reduction of a unit and the wait for it."""
    most = since = 0
    pending = False
    for one in plan.instructions():
        if one.what == "reduce_scatter":
            pending, since = True, 0
        elif pending and one.stream == "compute" and one.what == "wait":
            most, pending = max(most, since), False
        elif pending and one.stream == "compute" and one.what not in ("record", "release"):
            since += 1
    return most


@test
def table_has_every_pass():
    # spmd-lower-reshards runs once for each axis of parts and once for the data axes.
    expect_equal({phase: list(dict.fromkeys(passes)) for phase, passes in phases_and_passes().items()},
                 {phase: list(rows) for phase, rows in TABLE.items()}, "phases and passes")


@test
def every_pass_is_needed():
    phases = phases_and_passes()
    for phase, rows in TABLE.items():
        for name, (settings, claim) in rows.items():
            plan, error = plan_without(phases, phase, name, settings)
            expect(claim(plan_of(settings), plan, error), f"without {name}: {error[:300] or 'the plan does not show it'}")


@test
def all_passes_give_the_plan_of_the_compiler():
    plan, error = plan_without(phases_and_passes(), "memory", None, BASE)
    expect(plan is not None, error)
    expect_equal(plan.text, plan_of(BASE).text, "the plan of the passes and that of the compiler")


@test
def every_pass_that_verifies_is_edited():
    expect_equal(list(EDITS), [name for rows in TABLE.values() for name, (_, claim) in rows.items() if claim is checks], "passes that verify")
    # sluice-opt also has passes that are in no phase.
    named = re.findall(r"^ +--((?:model|spmd|plan)-(?:\S*-)?(?:verify|check)\S*)", run("sluice-opt", "--help").stdout, re.M)
    expect_equal(sorted(EDITS), sorted(named), "passes that verify, by name")


@test
def passes_that_verify():
    phases = phases_and_passes()
    for name, (edit, refusal) in EDITS.items():
        phase = next(p for p, passes in phases.items() if name in passes)
        at = phases[phase].index(name)
        edited = module_before(phases, phase, BASE)
        if at:
            edited, _ = run_phase(phases, phase, phases[phase][:at], BASE)
        text = edit(edited.read_text())
        expect(text != edited.read_text(), f"{name}: the edit changes nothing")
        edited = SCRATCH / "edited.mlir"
        edited.write_text(text)
        after, _ = run_phase(phases, phase, phases[phase][at:], BASE, edited)
        expect(after is None, f"{name}: accepts the invalid module")
        after, error = run_phase(phases, phase, phases[phase][at + 1:], BASE, edited)
        if expect(after is not None, f"{name}: the invalid module is refused without it: {error}") and refusal:
            done = try_compile(after, [])
            expect(done.returncode == 1 and refusal in done.stderr, f"{name}: expected '{refusal}' but got exit {done.returncode} {done.stderr}")


main()
