"""Prefetch and units that the compiler chooses for a machine."""

from sluice import *

MACHINE = ROOT / "tools" / "machines" / "h100-8x4.toml"
GPU = ["precision.compute=bf16", "target.device=cuda", "target.arch=sm_90"]
AUTO = ["schedule.forward_prefetch=auto", "schedule.backward_prefetch=auto"]


def llama(layers=4):
    return hugging_face({"model_type": "llama", "num_hidden_layers": layers, "hidden_size": 2048, "num_attention_heads": 16,
                         "num_key_value_heads": 16, "intermediate_size": 5504, "vocab_size": 32000, "max_position_embeddings": 4096,
                         "tie_word_embeddings": False}, 1, 1024, "--train-only")


def gpt2():
    return hugging_face({"model_type": "gpt2", "n_layer": 6, "n_embd": 768, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}, 4, 512, "--train-only")


def seconds(plan):
    return json.loads(run("sluice-plan", "simulate", plan.path, "--machine", MACHINE, "--json").stdout)["step_s"]


def bytes_of(plan):
    return plan.arena()["bytes"] + plan.arena()["workspace"]


def with_decisions(model, settings):
    path = SCRATCH / f"decisions-{next(numbers)}.json"
    plan = Plan(model, settings, "--machine", MACHINE, "--decisions", path)
    return plan, json.loads(path.read_text())


# Gathers that are shorter and longer than the compute of a unit, between hosts too; several micro-batches; units that
# stay gathered; recompute; optimizer in the backward.
BENCHMARKS = [
    (llama, ["mesh.shard=8"]),
    (llama, ["mesh.shard=32", "recompute.policy=block"]),
    (gpt2, ["mesh.shard=32", "gradient.microbatches=4"]),
    (gpt2, ["mesh.shard=16", "optimizer.in_backward=true"]),
]


@test
def not_slower_than_any_distance():
    for make, settings in BENCHMARKS:
        model, settings = make(), settings + GPU
        plan, decisions = with_decisions(model, settings + AUTO)
        plan.check()
        chosen = seconds(plan)
        expect(abs(chosen - decisions["step_s"]) < 1e-9, f"{settings}: step {chosen}, by the decisions {decisions['step_s']}")
        for distance in (0, 1, 2, 3, 5):
            fixed = seconds(Plan(model, settings + [f"schedule.forward_prefetch={distance}", f"schedule.backward_prefetch={distance}"]))
            expect(chosen <= fixed * (1 + 1e-9), f"{settings}: {chosen} s, with distance {distance} {fixed} s")


@test
def budgets_hold():
    """Never over the budget, and as good as every distance that is within it."""
    model, settings = llama(), ["mesh.shard=32", "recompute.policy=block"] + GPU
    distances = [Plan(model, settings + [f"schedule.forward_prefetch={d}", f"schedule.backward_prefetch={d}"]) for d in range(3)]
    least, most = bytes_of(distances[0]), bytes_of(distances[2])
    previous = None
    for step in range(2):
        budget = least + (most - least) * step
        plan, decisions = with_decisions(model, settings + AUTO + [f"memory.budget={budget}"])
        expect(bytes_of(plan) <= budget and decisions["feasible"], f"{bytes_of(plan)} bytes with a budget of {budget}")
        times = [seconds(one) for one in distances if bytes_of(one) <= budget]
        expect(seconds(plan) <= min(times) * (1 + 1e-9), f"budget {budget}: {seconds(plan)} s, with distances {times}")
        expect(previous is None or seconds(plan) <= previous * (1 + 1e-9), f"budget {budget}: {seconds(plan)} s, with less memory {previous} s")
        previous = seconds(plan)
    done = try_compile(model, settings + AUTO + ["memory.budget=100MiB"], "--machine", MACHINE)
    expect(done.returncode == 3 and "error: over the memory budget" in done.stderr, done.stderr)


@test
def recompute_and_prefetch_share_a_budget():
    model, settings = llama(), ["mesh.shard=32"] + GPU
    none, block = (bytes_of(Plan(model, settings + [f"recompute.policy={policy}"])) for policy in ("none", "block"))
    budget = (none + block) // 2
    plan, decisions = with_decisions(model, settings + AUTO + ["recompute.policy=budget", f"memory.budget={budget}"])
    expect(bytes_of(plan) <= budget, f"{bytes_of(plan)} bytes with a budget of {budget}")
    fixed = Plan(model, settings + ["recompute.policy=budget", f"memory.budget={budget}"], "--machine", MACHINE)
    expect(seconds(plan) <= seconds(fixed) * (1 + 1e-9), f"{seconds(plan)} s, with a distance of 1 {seconds(fixed)} s")
    expect(decisions["decisions"], "no decisions about blocks")


@test
def the_plan_states_the_choice():
    model, settings = llama(), ["mesh.shard=32"] + GPU
    plan, decisions = with_decisions(model, settings + AUTO)
    wanted = re.findall(r"^recipe (schedule\.(?:forward|backward)_prefetch = .*)$", plan.text, re.M)
    expect_equal(len(wanted), 2, f"lines of the recipe in the plan")
    recipe = SCRATCH / "chosen.toml"
    recipe.write_text("\n".join(wanted) + "\n")
    expect_equal(Plan(model, settings, "--recipe", recipe).instructions(), plan.instructions(), "instructions of the stated recipe")
    for one in decisions["prefetch"]:
        expect(one["bytes"] > 0 and one["s"] > 0 and one["phase"] in ("forward", "backward"), f"{one}")


@test
def units_are_divided_where_it_is_better():
    """The embedding is released after its use, so it is not live at the peak."""
    model, settings = llama(2), ["mesh.shard=8"] + GPU
    block = Plan(model, settings)
    plan, decisions = with_decisions(model, settings + ["sharding.units=auto"])
    expect_equal(decisions["units"], "embedding and head", "units")
    expect_equal(sorted(plan.units()), sorted(["root", "embedding", "head", "model.layers.0", "model.layers.1"]), "units")
    expect(seconds(plan) <= seconds(block) * (1 + 1e-9), f"{seconds(plan)} s, with blocks {seconds(block)} s")
    # Without a machine the plan with less memory is chosen.
    smaller = Plan(model, settings + ["sharding.units=auto"])
    expect(bytes_of(smaller) <= bytes_of(block), f"{bytes_of(smaller)} bytes, with blocks {bytes_of(block)}")
    # A tied embedding is read at both ends, so the root stays a unit.
    expect("root" in Plan(gpt2(), ["mesh.shard=8", "sharding.units=auto"]).units(), "gpt2 has no root")
    # No block, nothing to divide.
    expect_equal(Plan(zoo("double-linear"), ["mesh.shard=2", "sharding.units=auto"]).units(), Plan(zoo("double-linear"), ["mesh.shard=2"]).units(), "double-linear")


@test
def units_change_no_bit():
    model = hugging_face("llama-tiny", 2, 16)
    for settings in (["mesh.shard=4"], ["mesh.shard=2", "gradient.microbatches=2"]):
        expect_same_bits(train(Plan(model, settings + ["sharding.units=auto"])), train(Plan(model, settings)), f"{settings}")


@test
def contradictions_are_refused():
    model = hugging_face("llama-tiny", 2, 16)
    expect_refused(model, ["mesh.shard=2", "schedule.forward_prefetch=auto"],
                   "'schedule.forward_prefetch' = \"auto\", expected 'schedule.backward_prefetch' = \"auto\" too but got 1")
    expect_refused(model, ["mesh.shard=2", "schedule.forward_prefetch=2", "schedule.backward_prefetch=auto"],
                   "'schedule.backward_prefetch' = \"auto\", expected 'schedule.forward_prefetch' = \"auto\" too but got 2")
    expect_refused(model, ["mesh.shard=2"] + AUTO, "'schedule.forward_prefetch' = \"auto\" requires the times of a machine", "--machine FILE")
    expect_refused(model, ["mesh.shard=2", "sharding.units=auto", 'precision.compute={"root"="bf16"}'],
                   "'sharding.units' = \"auto\" cannot be combined with a table by unit in 'precision.compute'")
    done = try_compile(model, ["mesh.shard=2"] + AUTO, "--machine", MACHINE)
    expect(done.returncode == 1 and "is for 'cuda', but the plan's target.device is 'cpu'" in done.stderr, done.stderr)


main()
