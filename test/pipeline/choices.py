"""Prefetch, units and reductions in flight that the compiler chooses for a machine."""

# REQUIRES: compiler

from sluice import *

sys.path.insert(0, str(ROOT / "test" / "bench"))
import prediction

MACHINE = ROOT / "tools" / "machines" / "h100-8x4.toml"
GPU = ["precision.compute=bf16", "target.device=cuda", "target.arch=sm_90"]
AUTO = ["schedule.forward_prefetch=auto", "schedule.backward_prefetch=auto"]
ALL = AUTO + ["schedule.reduce_buffers=auto", "sharding.reshard_after_backward=auto"]


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


def machine_bytes(plan):
    """Memory of a rank on the machine: the plan's, and that of the libraries."""
    return json.loads(run("sluice-plan", "memory", plan.path, "--machine", MACHINE, "--json").stdout)["machine"]["process"]["known"]


def with_decisions(model, settings):
    path = SCRATCH / f"decisions-{next(numbers)}.json"
    plan = Plan(model, settings, "--machine", MACHINE, "--decisions", path)
    return plan, json.loads(path.read_text())


def measured(arguments):
    """The model of a plan whose step test/bench/prediction.py measures."""
    path = SCRATCH / f"measured-{next(numbers)}.mlir"
    run("sluice-import", *arguments, "-o", path)
    return path


# Gathers that are shorter and longer than the compute of a unit, between hosts too; several micro-batches; units that
# stay gathered; recompute; optimizer in the backward.
BENCHMARKS = [
    (llama, ["mesh.shard=8"]),
    (llama, ["mesh.shard=32", "recompute.policy=block"]),
    (gpt2, ["mesh.shard=32", "gradient.microbatches=4"]),
    (gpt2, ["mesh.shard=16", "optimizer.in_backward=true"]),
]
# Those that are measured on CPUs, with the rates of a GPU: latencies decide.
BENCHMARKS += [(functools.partial(measured, arguments), settings) for _, arguments, settings in prediction.PLANS]


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
def not_slower_than_any_number_of_reductions():
    """And in the same time with no more memory."""
    improved = 0
    for make, settings in BENCHMARKS:
        model, settings = make(), settings + GPU
        plan, decisions = with_decisions(model, settings + ["schedule.reduce_buffers=auto"])
        plan.check()
        compared, = decisions["compared"]
        expect_equal(compared["key"], "schedule.reduce_buffers", "key")
        chosen = seconds(plan), bytes_of(plan)
        expect(abs(chosen[0] - decisions["step_s"]) < 1e-9, f"{settings}: step {chosen[0]}, by the decisions {decisions['step_s']}")
        expect_equal([one["value"] for one in compared["alternatives"]][:2], ["1", "2"][:len(compared["alternatives"])], "values")
        for number in range(1, 2 + len(plan.units())):
            fixed = Plan(model, settings + [f"schedule.reduce_buffers={number}"])
            time = seconds(fixed)
            expect(chosen[0] <= time * (1 + 1e-9), f"{settings}: {chosen[0]} s, with {number} reductions {time} s")
            expect(chosen[0] < time * (1 - 1e-9) or chosen[1] <= bytes_of(fixed),
                   f"{settings}: {chosen[1]} bytes, with {number} reductions {bytes_of(fixed)}")
            improved += number == 1 and chosen[0] < time * (1 - 1e-6)
    expect(improved >= 2, f"{improved} plans are faster than with one reduction in flight")


@test
def units_stay_gathered_between_micro_batches():
    """As fast as each fixed choice of the first units, and never over the budget."""
    model, settings = gpt2(), ["mesh.shard=32", "gradient.microbatches=4"] + GPU
    auto = settings + ["sharding.reshard_after_backward=auto"]
    always = Plan(model, settings)
    plan, decisions = with_decisions(model, auto)
    plan.check()
    expect(seconds(plan) < 0.95 * seconds(always), f"{seconds(plan)} s, with gathers in each micro-batch {seconds(always)} s")
    units = ["root"] + [f"h.{i}" for i in range(6)]
    for count in range(len(units) + 1):
        kept = ", ".join(f'"{unit}" = "last"' for unit in units[:count])
        stay = ", ".join(f'"{unit}" = false' for unit in units[:count])
        fixed = Plan(model, settings + [f"sharding.reshard_after_backward={{{kept}}}", f"sharding.reshard_after_forward={{{stay}}}"]) if count else always
        expect(seconds(plan) <= seconds(fixed) * (1 + 1e-9), f"{seconds(plan)} s, with {count} units {seconds(fixed)} s")
    least, most = bytes_of(always), bytes_of(plan)
    for budget in (least, (least + most) // 2, most):
        within, decisions = with_decisions(model, auto + [f"memory.budget={budget}"])
        expect(bytes_of(within) <= budget and decisions["feasible"], f"{bytes_of(within)} bytes with a budget of {budget}")
        expect(seconds(within) <= seconds(always) * (1 + 1e-9), f"budget {budget}: {seconds(within)} s")
        compared, = decisions["compared"]
        expect(all(one["live_bytes"] > 0 and one["step_s"] > 0 for one in compared["alternatives"]), f"{compared}")
    expect_equal(seconds(within), seconds(plan), "step with the bytes of the choice")
    # A unit that the recipe reshards after the forward is not kept, nor one with a value.
    resharded, _ = with_decisions(model, auto + ["sharding.reshard_after_forward=true"])
    expect_equal(resharded.instructions(), Plan(model, settings + ["sharding.reshard_after_forward=true"]).instructions(), "with units that are resharded")
    table, _ = with_decisions(model, settings + ['sharding.reshard_after_backward={"root"="always", "*"="auto"}'])
    expect(re.search(r'"root" = "always"', table.text), "root has another value than its entry")
    # One micro-batch has nothing to keep.
    _, decisions = with_decisions(model, ["mesh.shard=32", "sharding.reshard_after_backward=auto"] + GPU)
    expect_equal(len(decisions["compared"][0]["alternatives"]), 1, "alternatives with one micro-batch")


@test
def memory_of_the_machine_is_a_limit():
    """Without a budget: a choice that a GPU cannot hold is of no use."""
    model, settings = gpt2(), ["mesh.shard=32", "gradient.microbatches=4"] + GPU
    auto = settings + ["sharding.reshard_after_backward=auto"]
    always, unlimited = Plan(model, settings), Plan(model, auto, "--machine", MACHINE)
    # The first unit that may stay gathered has about half of the bytes of all.
    memory = (machine_bytes(always) + 3 * machine_bytes(unlimited)) // 4
    machine = SCRATCH / "small.toml"
    machine.write_text(f'base = "{MACHINE}"\nname = "small"\n[figures]\nmemory_bytes = {{ value = {memory}, from = "datasheet" }}\n')
    plan = Plan(model, auto, "--machine", machine)
    expect(machine_bytes(plan) <= memory < machine_bytes(unlimited),
           f"{machine_bytes(plan)} bytes on a GPU of {memory}, without a limit {machine_bytes(unlimited)}")
    expect(seconds(plan) < seconds(always), f"{seconds(plan)} s, with gathers in each micro-batch {seconds(always)} s")


@test
def gathered_units_are_worth_their_memory():
    """Without a budget, units stay gathered only if they save as large a part of the step as they take of the GPU's memory."""
    model, settings = gpt2(), ["mesh.shard=32", "gradient.microbatches=3", "sharding.reshard_after_backward=auto"] + GPU
    most = machine_bytes(Plan(model, settings, "--machine", MACHINE))
    machine = SCRATCH / "full.toml"
    machine.write_text(f'base = "{MACHINE}"\nname = "full"\n[figures]\nmemory_bytes = {{ value = {most}, from = "datasheet" }}\n')
    path = SCRATCH / "full.json"
    plan = Plan(model, settings, "--machine", machine, "--decisions", path)
    compared, = json.loads(path.read_text())["compared"]
    plans = compared["alternatives"]
    chosen, largest = plans[compared["choice"]], plans[-1]
    expect(largest["feasible"] and largest["step_s"] < chosen["step_s"] < plans[0]["step_s"], f"{compared}")

    def is_worth(a, b):
        return 1 - a["step_s"] / b["step_s"] >= (a["live_bytes"] - b["live_bytes"]) / most

    expect(is_worth(chosen, plans[0]) and not is_worth(largest, chosen), f"{compared}")
    # With a budget the memory is there to be used.
    within, _ = with_decisions(model, settings + [f"memory.budget={most}"])
    expect_equal(seconds(within), largest["step_s"], "step within a budget")


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
        # The distances of a direction end with the first one whose live bytes are over the budget.
        expect(step > 0 or decisions["plans"] <= 16, f"budget {budget}: {decisions['plans']} plans")
    path = SCRATCH / "infeasible.json"
    done = try_compile(model, settings + AUTO + ["memory.budget=100MiB"], "--machine", MACHINE, "--decisions", path)
    expect(done.returncode == 3 and "error: over the memory budget" in done.stderr, done.stderr)
    # Those with a distance of 1 and with gathers at their uses.
    expect_equal(json.loads(path.read_text())["plans"], 2, "plans without one within the budget")


@test
def recompute_and_schedule_share_a_budget():
    model, settings = llama(), ["mesh.shard=32", "gradient.microbatches=2", "gradient.sync=every"] + GPU
    none, block = (bytes_of(Plan(model, settings + [f"recompute.policy={policy}"])) for policy in ("none", "block"))
    budget = (none + block) // 2
    plan, decisions = with_decisions(model, settings + ALL + ["recompute.policy=budget", f"memory.budget={budget}"])
    expect(bytes_of(plan) <= budget, f"{bytes_of(plan)} bytes with a budget of {budget}")
    fixed = Plan(model, settings + ["recompute.policy=budget", f"memory.budget={budget}"], "--machine", MACHINE)
    expect(seconds(plan) <= seconds(fixed) * (1 + 1e-9), f"{seconds(plan)} s, with a distance of 1 {seconds(fixed)} s")
    expect(decisions["decisions"], "no decisions about blocks")
    expect_equal([one["key"] for one in decisions["compared"]], ["sharding.reshard_after_backward", "schedule.reduce_buffers"], "compared settings")


@test
def the_plan_states_the_choice():
    model, settings = llama(), ["mesh.shard=32", "gradient.microbatches=2"] + GPU
    plan, decisions = with_decisions(model, settings + ALL)
    keys = "schedule.forward_prefetch", "schedule.backward_prefetch", "schedule.reduce_buffers", "sharding.reshard_after_backward", "sharding.reshard_after_forward"
    wanted = [line for line in re.findall(r"^recipe (.*)$", plan.text, re.M) if line.split(" = ")[0] in keys]
    expect_equal(len(wanted), len(keys), f"lines of the recipe in the plan: {wanted}")
    expect("auto" not in " ".join(wanted), f"{wanted}")
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
    for key in ("schedule.reduce_buffers", "sharding.reshard_after_backward"):
        expect_refused(model, ["mesh.shard=2", f"{key}=auto"], f"'{key}' = \"auto\" requires the times of a machine", "--machine FILE")
    expect_refused(model, ["mesh.shard=2", "sharding.reshard_after_backward=auto", "sharding.reshard_before_backward=true"],
                   "'sharding.reshard_after_backward' = \"auto\" cannot be combined with 'sharding.reshard_before_backward'")
    done = try_compile(model, ["mesh.shard=2"] + AUTO, "--machine", MACHINE)
    expect(done.returncode == 1 and "is for 'cuda', but the plan's target.device is 'cpu'" in done.stderr, done.stderr)


main()
