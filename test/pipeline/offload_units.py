"""Parameters and optimizer states of some units in host memory: the bits of the plan without offload, exact peaks, only these units' tensors in
the host's arena, copies with the units' prefetch."""

from sluice import *

TWO = ["mesh.shard=2"]
HALF = 'memory.offload={"h.0"=["parameters", "optimizer"], "h.2"=["parameters", "optimizer"]}'
# Each of the four sets of tensors, by name, by glob and for the root.
MIXED = 'memory.offload={"h.0"=["parameters", "optimizer"], "h.1"=["optimizer"], "h.2"=["parameters"], "h.*"=[]}'
ROOT_UNIT = 'memory.offload={root=["optimizer"], "h.*"=[]}'
F32 = 4
ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]
SGD = ["optimizer.name=sgd", "optimizer.lr=0.01"]


def expect_same_bits_with_offload(model, recipe, offload, steps=2):
    """Losses, norms and weights of the plan without offload; the measured bytes of each memory space are the predicted ones."""
    wanted = train(Plan(model, recipe), steps=steps)
    plan = Plan(model, recipe + [offload])
    found = train(plan, steps=steps)
    expect_same_bits(found, wanted, f"{recipe}, {offload}")
    for space in ("device", "host"):
        arena = plan.arena(space)
        expect_equal(found.summary["measured_peak"][space], arena["bytes"] + arena["workspace"], f"{recipe}, {offload}: bytes in {space} memory")
    return plan


def persistent(plan, space, kind):
    return sum(buffer.bytes for buffer in plan.buffers() if buffer.space == space and not buffer.entry and buffer.kind == kind)


def unit_bytes(plan):
    """Bytes of each unit's parameters on a rank."""
    return {unit["name"]: sum(math.prod(parameter["local"]) * F32 for parameter in unit["parameters"]) for unit in plan.description["units"]}


@test
def same_bits_for_every_mesh_and_recompute_policy():
    for mesh in ([], TWO, ["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=2"], ["mesh.shard=3"]):
        for policy, offload in (("none", MIXED), ("block", HALF), ("none", ROOT_UNIT)):
            expect_same_bits_with_offload(gpt2_tiny(), mesh + [f"recompute.policy={policy}"], offload)


@test
def same_bits_for_other_settings():
    for recipe in (["precision.compute=bf16"], ["precision.compute=f16", "precision.loss_scale=dynamic"], ["gradient.microbatches=3"],
                   ["gradient.microbatches=3", "gradient.sync=every"], ["gradient.microbatches=3", "gradient.sync=every", "recompute.policy=block"],
                   ["gradient.clip_norm=0.5"], ["gradient.divide=3"], ["sharding.reshard_after_forward=false"], ["sharding.strategy=no_shard"],
                   ["schedule.forward_prefetch=0", "schedule.backward_prefetch=0"], ["schedule.forward_prefetch=3"],
                   ["schedule.backward_prefetch=post"], ["schedule.reduce_buffers=2"], ["memory.pinned=false"], SGD,
                   SGD + ["optimizer.momentum=0.9"], ["loss.mean=tokens", "gradient.microbatches=2"], ['parameters.frozen=["h.0.*"]']):
        expect_same_bits_with_offload(gpt2_tiny(), TWO + recipe, MIXED)
    # A list of micro-batches for the units that are not offloaded.
    expect_same_bits_with_offload(gpt2_tiny(), TWO + ["gradient.microbatches=3", 'gradient.sync={"h.3"=[true, false, true]}'], HALF)
    expect_same_bits_with_offload(gpt2_tiny(), ["mesh.shard=2", "mesh.tensor=2", "sharding.tensor=megatron"], MIXED)
    expect_same_bits_with_offload(gpt2_tiny(), TWO, 'memory.offload={"h.0"=["optimizer", "activations"], "h.1"=["activations"], "h.2"=["parameters"]}')
    expect_same_bits_with_offload(zoo("conv", "height=16", "width=16", "stem=8", "hidden=8"), TWO, 'memory.offload={root=["parameters", "optimizer"]}')


@test
def only_these_units_are_in_host_memory():
    plan = Plan(gpt2_tiny(), TWO + ADAM + [MIXED])
    units = unit_bytes(plan)
    expect_equal(persistent(plan, "host", "parameter"), units["h.0"] + units["h.2"], "parameters")
    expect_equal(persistent(plan, "host", "optimizer"), 2 * (units["h.0"] + units["h.1"]), "optimizer states")
    everything = sum(units.values())
    expect_equal(persistent(plan, "device", "parameter"), everything - units["h.0"] - units["h.2"], "parameters on the device")
    expect_equal(persistent(plan, "device", "optimizer"), 2 * (everything - units["h.0"] - units["h.1"]), "optimizer states on the device")


@test
def copies_by_unit():
    """The shards of offloaded units are copied before their gathers, at the same distance. The gradients of all units are copied after their
    reductions: the host computes their norm."""
    plan = Plan(gpt2_tiny(), TWO + ADAM + [HALF])
    found = plan.events(None, only="URPFO")
    expect_equal([move for move in found if move[0] not in "FO"], Plan(gpt2_tiny(), TWO + ADAM).events(None, only="URPFO"), "events without copies")
    expect_equal({move[1:] for move in found if move[0] == "F"}, {"(h.0)", "(h.2)"}, "fetches")
    expect_equal(sorted(move[1:] for move in found if move[0] == "O"), sorted(move[1:] for move in found if move[0] == "P"), "copies out")
    for i, move in enumerate(found):
        if move[0] == "F":
            expect_equal(found[i + 1], "U" + move[1:], f"after {move}")
        if move[0] == "O":
            expect("P" + move[1:] in found[:i], f"expected the reduction of {move[1:]} before its copy")
    streams = {event["what"]: event["stream"] for event in plan.description["events"]}
    expect_equal((streams["fetch"], streams["offload"]), ("fetch", "offload"), "streams")


@test
def each_unit_saves_device_memory():
    """Adam: two states and the gradient of each offloaded unit leave the device, and with the parameters their shards."""
    tables = ("{}", '{"h.0"=["optimizer"]}', '{"h.0"=["optimizer"], "h.1"=["optimizer"]}', '{"h.*"=["optimizer"]}', '{"*"=["optimizer"]}',
              '{"*"=["parameters", "optimizer"]}')
    persistents = [Plan(gpt2_tiny(), TWO + ADAM + [f"memory.offload={table}"]).arena()["persistent"] for table in tables]
    expect_equal(persistents, sorted(persistents, reverse=True), "persistent bytes on the device")
    expect_equal(len(set(persistents)), len(tables), "different persistent bytes")
    # A table for all units is the list.
    for of in ('["optimizer"]', '["parameters", "optimizer"]'):
        table, listed = (Plan(gpt2_tiny(), TWO + ADAM + [f"memory.offload={value}"]).description for value in ('{"*"=' + of + "}", of))
        for key in ("arenas", "events", "collectives"):
            expect_equal(table[key], listed[key], f"{of}: {key}")


@test
def refusals():
    for table, message in (('{"g.*"=["optimizer"]}', "'g.*' in 'memory.offload' matches no unit or block"),
                           ('{"h.*"=["optimizer"], "*.1"=["parameters"]}', "value of 'memory.offload' for unit or block 'h.1' is ambiguous"),
                           ('{root=["activations"]}', "value of 'memory.offload' for 'root', expected the name of an outermost block for \"activations\""),
                           ('{"h.0"=["gradients"]}', "value of 'memory.offload', expected")):
        expect_refused(gpt2_tiny(), [f"memory.offload={table}"], message)
    expect_refused(gpt2_tiny(), ["sharding.units=root", 'memory.offload={"h.0"=["optimizer"]}'],
                   "value of 'memory.offload' for 'h.0', expected the name of a unit for \"optimizer\"")
    expect_refused(gpt2_tiny(), ["optimizer.in_backward=true", 'memory.offload={"h.0"=["optimizer"]}'], "cannot be combined with 'optimizer.in_backward'")
    expect_refused(gpt2_tiny(), TWO + ["gradient.microbatches=3", "gradient.sync=[true, false, true]", 'memory.offload={"h.0"=["optimizer"]}'],
                   "for unit 'h.0': a list that reduces in some micro-batches before the last cannot be combined with 'memory.offload'")
    expect_refused(gpt2_tiny(), ["memory.offload=auto"], "'memory.offload' = \"auto\" requires 'recompute.policy' = \"budget\"")
    expect_refused(gpt2_tiny(), ['memory.offload={"h.0"="auto"}'], "value of 'memory.offload', expected")
    budget = ["recompute.policy=budget", "memory.budget=64MiB", "memory.offload=auto"]
    expect_refused(gpt2_tiny(), budget, "\"auto\" in 'memory.offload' with 'recompute.policy' = \"budget\" requires the times of a machine", "--machine FILE")
    expect_refused(gpt2_tiny(), budget + ["optimizer.in_backward=true"], "'memory.offload' = \"auto\" cannot be combined with 'optimizer.in_backward'")


MACHINE = ["--machine", ROOT / "tools" / "machines" / "h100-sxm-80gb.toml"]
CUDA = ["target.device=cuda", "target.arch=sm_90", "precision.compute=bf16", "optimizer.name=adam"]


def config():
    return {"model_type": "gpt2", "n_layer": 6, "n_head": 8, "n_embd": 512, "vocab_size": 512, "n_positions": 256}


def device_bytes(plan):
    return plan.arena()["bytes"] + plan.arena()["workspace"]


def units_in_host(plan):
    explained = json.loads(run("sluice-plan", "explain", plan.path, "--json").stdout)
    return [unit["unit"] for unit in explained["host_units"]]


def chosen(model, settings, budget):
    path = SCRATCH / f"decisions-{budget}.json"
    plan = Plan(model, settings + ["recompute.policy=budget", f"memory.budget={budget}"], *MACHINE, "--decisions", path)
    expect(device_bytes(plan) <= budget, f"{settings}: bytes over the budget of {budget}")
    return plan, json.loads(path.read_text())


@test
def a_budget_chooses_the_number_of_units():
    """One row of 64 tokens: parameters and states are most of the memory."""
    model = hugging_face(config(), 1, 64)
    most = device_bytes(Plan(model, CUDA))
    least = device_bytes(Plan(model, CUDA + ['memory.offload=["parameters", "optimizer"]']))
    numbers_of_units, steps = [], []
    for part in (0, 1, 2, 3):
        budget = most - part * (most - least) // 4
        plan, decisions = chosen(model, CUDA + ["memory.offload=auto"], budget)
        offload = decisions["offload"]
        expect_equal([kind["tensors"] for kind in offload["all_units"]], [["optimizer"], ["parameters", "optimizer"]], "kinds")
        expect(0 < offload["all_units"][0]["bytes"] < offload["all_units"][1]["bytes"], f"bytes of kinds: {offload['all_units']}")
        expect_equal(sorted(units_in_host(plan)), sorted(offload["choice"]["units"]), f"{budget}: units in host memory")
        numbers_of_units.append(len(offload["choice"]["units"]))
        steps.append(decisions["step_s"])
        # The recipe in the plan states the choice: compiled again without a choice, it gives the same plan.
        if part == 2:
            same = Plan(model, [line.replace(" = ", "=", 1) for line in plan.description["recipe"] if not line.endswith("= none")])
            expect(same.path.read_bytes() == plan.path.read_bytes(), "expected the same bytes from the recipe that the plan states")
    expect_equal(numbers_of_units[0], 0, "units without need")
    expect(numbers_of_units == sorted(numbers_of_units) and 0 < numbers_of_units[1] < numbers_of_units[3], f"numbers of units: {numbers_of_units}")
    # A smaller budget is not faster.
    expect_equal(steps, sorted(steps), "predicted steps")


@test
def no_fixed_number_of_units_is_faster():
    """Against plans with each number of units, in the order in which the compiler offloads them, for both kinds."""
    model = hugging_face(config(), 1, 64)
    most = device_bytes(Plan(model, CUDA))
    least = device_bytes(Plan(model, CUDA + ['memory.offload=["parameters", "optimizer"]']))
    order = ["root"] + [f"h.{i}" for i in range(6)]
    for part in (1, 2, 3):
        budget = most - part * (most - least) // 4
        fixed = {}
        for of, count in itertools.product(('["optimizer"]', '["parameters", "optimizer"]'), range(len(order) + 1)):
            table = ", ".join(f'"{unit}"={of}' for unit in order[:count])
            settings = CUDA + [f"memory.offload={{{table}}}", "recompute.policy=budget", f"memory.budget={budget}"]
            done = try_compile(model, settings, *MACHINE, "--decisions", SCRATCH / "fixed.json")
            if done.returncode == 0:
                fixed[of, count] = json.loads((SCRATCH / "fixed.json").read_text())["step_s"]
        plan, decisions = chosen(model, CUDA + ["memory.offload=auto"], budget)
        expect(2 <= len(fixed) < 16, f"some of the numbers are within the budget: {fixed}")
        expect(decisions["step_s"] <= min(fixed.values()), f"{decisions['offload']['choice']}: {decisions['step_s']} s, fixed {fixed}")


@test
def a_budget_below_all_choices():
    model = hugging_face(config(), 1, 64)
    done = try_compile(model, CUDA + ["recompute.policy=budget", "memory.budget=100KiB", "memory.offload=auto"], *MACHINE)
    expect(done.returncode == 3, done.stderr)
    least = int(re.search(r"note: memory.budget = (\d+) .*is enough", done.stderr)[1])
    plan, decisions = chosen(model, CUDA + ["memory.offload=auto"], least)
    expect_equal(len(decisions["offload"]["choice"]["units"]), 7, "units")
    # It is a remedy of a recipe without it.
    done = try_compile(model, CUDA + [f"memory.budget={least}"], *MACHINE)
    expect(done.returncode == 3 and "note: recompute.policy = budget, memory.offload = auto: " in done.stderr, done.stderr)


main()
