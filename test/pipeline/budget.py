"""Recompute by op and by budget: memory, choices and bits."""

# REQUIRES: compiler

from sluice import *

SELECTIVE = ["recompute.policy=selective", 'recompute.save=["matmul*", "attention"]']


def model():
    return hugging_face(demo_config(), 4, 64)


def bytes_of(plan):
    return plan.arena()["bytes"] + plan.arena()["workspace"]


def budgeted(settings, budget, *options, of=None):
    return Plan(of or model(), [*settings, "recompute.policy=budget", f"memory.budget={budget}"], *options)


def with_decisions(settings, budget, *options, of=None):
    """The plan of a budget and the content of --decisions."""
    path = SCRATCH / f"decisions-{next(numbers)}.json"
    plan = budgeted(settings, budget, "--decisions", path, *options, of=of)
    return plan, json.loads(path.read_text())


def recomputed(plan):
    return [one.what for one in plan.instructions() if one.recompute and one.what not in ("record", "wait")]


@test
def selective_keeps_the_named_ops():
    for mesh in (["mesh.shard=1"], ["mesh.shard=4", "gradient.microbatches=2"]):
        none, block, selective = (Plan(model(), mesh + list(policy)) for policy in ((), ("recompute.policy=block",), SELECTIVE))
        live = [plan.point("after_forward") for plan in (block, selective, none)]
        expect(live[0] < live[1] < live[2], f"{mesh}: expected bytes after the forward of block, selective, none to rise but got {live}")
        again = recomputed(selective)
        expect("layer_norm" in again and not any(what.startswith(("matmul", "attention")) for what in again),
               f"{mesh}: recomputed {again}")
        expect_same_bits(train(selective), train(none), f"{mesh}: selective")


@test
def tables_choose_blocks():
    policy = 'recompute.policy={"h.*" = "selective", "h.1" = "block", "h.2" = "none"}'
    save = 'recompute.save={"h.0" = ["matmul*"], "h.3" = ["layer_norm"]}'
    plan = Plan(model(), [policy, save])
    found = {block: [one.what for one in plan.instructions() if one.recompute and one.unit == block] for block in plan.units()}
    expect("matmul" not in found["h.0"] and "layer_norm" in found["h.0"], f"h.0: {found['h.0']}")
    expect("matmul" in found["h.1"] and "layer_norm" in found["h.1"], f"h.1: {found['h.1']}")
    expect_equal(found["h.2"], [], "h.2")
    expect("matmul" in found["h.3"] and "layer_norm" not in found["h.3"], f"h.3: {found['h.3']}")
    expect_same_bits(train(plan), train(Plan(model())), "tables")


@test
def names_are_checked():
    selective = ["recompute.policy=selective"]
    expect_refused(model(), selective + ['recompute.save=["matmull"]'], "unknown op in 'recompute.save'", "'matmul'", "'matmull'", "--set recompute.save")
    expect_refused(model(), ['recompute.policy={"g.*" = "block"}'], "'g.*' in 'recompute.policy' matches no block")
    expect_remark(model(), selective + ['recompute.save=["dropout"]'], "'dropout' in 'recompute.save' matches no op of a recomputed block")
    expect_remark(model(), ['recompute.save=["matmul"]'], "'recompute.save' has no effect without a policy \"selective\"")


@test
def budgets_are_kept():
    for mesh in (["mesh.shard=1"], ["mesh.shard=4", "gradient.microbatches=2"],
                 ["mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron", "precision.compute=bf16"]):
        none = Plan(model(), mesh)
        most = bytes_of(none)
        least = with_decisions(mesh, 10 * most)[0]
        expect_equal(least.instructions(), none.instructions(), f"{mesh}: instructions with a large budget")
        block = bytes_of(Plan(model(), mesh + ["recompute.policy=block"]))
        costs = []
        for step in range(5):
            budget = block + (most - block) * step // 4
            plan, decisions = with_decisions(mesh, budget)
            plan.check()
            expect(bytes_of(plan) <= budget, f"{mesh}: expected at most {budget} bytes but got {bytes_of(plan)}")
            expect_equal(decisions["peak"], bytes_of(plan), f"{mesh}: peak of the decisions")
            expect(decisions["feasible"], f"{mesh}: a plan that is not feasible")
            expect(decisions["bound"]["flops"] <= decisions["cost"]["flops"], f"{mesh}: bound {decisions['bound']}, cost {decisions['cost']}")
            costs.append(decisions["cost"]["flops"])
            expect_same_bits(train(plan), train(none), f"{mesh}, {budget}")
        expect(costs == sorted(costs, reverse=True) and costs[-1] == 0 < costs[0], f"{mesh}: expected falling costs but got {costs}")


@test
def decisions_add_up():
    plan, decisions = with_decisions(["mesh.shard=1"], bytes_of(Plan(model(), ["mesh.shard=1", "recompute.policy=block"])) * 6 // 5)
    expect_equal([one["block"] for one in decisions["decisions"]], ["h.0", "h.1", "h.2", "h.3"], "blocks")
    chosen = [one["alternatives"][one["choice"]] for one in decisions["decisions"]]
    expect_equal(sum(one["flops"] for one in chosen), decisions["cost"]["flops"], "FLOPs of the choices")
    for block, one in zip(decisions["decisions"], chosen):
        again = [i.what for i in plan.instructions() if i.recompute and i.unit == block["block"]]
        expect_equal(bool(again), one["recompute"] != "none", f"{block['block']}: recomputed {again}")
        expect(not set(again) & set(one.get("save", [])), f"{block['block']}: recomputed {again}, but chosen is {one}")
    # The plan's own recipe states the choice: compiled without a budget it gives the same instructions.
    recipe = SCRATCH / "chosen.toml"
    lines = re.findall(r"^recipe (.*)$", plan.text, re.M) or plan.text.splitlines()
    wanted = [line.strip() for line in lines if re.match(r"\s*recompute\.(policy|save) = ", line)]
    expect_equal(len(wanted), 2, f"lines of the recipe in the plan")
    recipe.write_text("\n".join(wanted) + "\n")
    expect_equal(Plan(model(), ["mesh.shard=1"], "--recipe", recipe).instructions(), plan.instructions(), "instructions of the stated recipe")


@test
def units_stay_gathered_where_there_is_room():
    mesh = ["mesh.shard=4", "sharding.reshard_after_forward=auto"]
    none = Plan(model(), ["mesh.shard=4"])
    gathered = Plan(model(), ["mesh.shard=4", "sharding.reshard_after_forward=false"])
    plan, decisions = with_decisions(mesh, 2 * bytes_of(gathered))
    expect_equal(plan.events(), gathered.events(), "events with a large budget")
    expect(decisions["cost"]["traffic"] < 0, f"cost {decisions['cost']}")
    plan, _ = with_decisions(mesh, bytes_of(none))
    expect(bytes_of(plan) <= bytes_of(none), f"{bytes_of(plan)} bytes with a budget of {bytes_of(none)}")
    middle = (bytes_of(none) + bytes_of(gathered)) // 2
    plan, _ = with_decisions(mesh, middle)
    expect(bytes_of(plan) <= middle, f"{bytes_of(plan)} bytes with a budget of {middle}")
    kept = [plan.count("all_gather"), gathered.count("all_gather"), none.count("all_gather")]
    expect(kept[1] <= kept[0] < kept[2], f"gathers with a budget, without and with release: {kept}")
    expect_same_bits(train(plan), train(none), "gathered")


@test
def dumps_state_the_choice():
    folder = SCRATCH / "phases"
    budget = bytes_of(Plan(model(), ["mesh.shard=4", "recompute.policy=block"])) * 5 // 4
    plan = budgeted(["mesh.shard=4"], budget)
    dumped = budgeted(["mesh.shard=4"], budget, f"--dump-phases={folder}")
    expect(plan.bytes == dumped.bytes, "the plan with dumps differs")
    text = (folder / "05-recompute.mlir").read_text()
    expect("recompute.policy = {" in text and '"budget"' not in text, "the dump does not state the choice")
    again = SCRATCH / "again.plan"
    run("sluice-compile", folder / "05-recompute.mlir", "-o", again)
    expect(again.read_bytes() == plan.bytes, "the plan from the dump differs")


@test
def models_of_the_zoo():
    for name in ("transformer", "mlp-sequence", "conv", "two-forwards", "two-losses", "encoder-decoder", "multi-forward", "nested-recompute"):
        none = Plan(zoo(name), ["mesh.shard=2"])
        least = try_compile(zoo(name), ["mesh.shard=2", "recompute.policy=budget", "memory.budget=1"])
        expect(least.returncode == 3, f"{name}: expected exit code 3 but got {least.returncode}, {least.stderr}")
        plan = budgeted(["mesh.shard=2"], bytes_of(none), of=zoo(name))
        expect_equal(plan.instructions(), none.instructions(), f"{name}: instructions with the budget of no recompute")
        smaller = try_compile(zoo(name), ["mesh.shard=2", "recompute.policy=budget", f"memory.budget={bytes_of(none) * 19 // 20}"])
        expect(smaller.returncode in (0, 3), f"{name}: {smaller.returncode}, {smaller.stderr}")


@test
def contradictions_are_refused():
    expect_refused(model(), ["recompute.policy=budget"], "'recompute.policy' = \"budget\" requires 'memory.budget'")
    expect_refused(model(), ["mesh.shard=2", "sharding.reshard_after_forward=auto"],
                   "'sharding.reshard_after_forward' = \"auto\" requires 'recompute.policy' = \"budget\"")
    expect_refused(model(), ['recompute.policy={"h.0" = "budget"}', "memory.budget=1GiB"], "\"budget\" chooses for all blocks")
    for option, wanted in (("--decisions", "'recompute.policy' = \"budget\""), ("--machine", "'memory.budget'")):
        done = try_compile(model(), [], option, SCRATCH / "x.json")
        expect(done.returncode == 2 and f"error: {option} requires {wanted}" in done.stderr, f"{option}: {done}")


GPU = ["mesh.shard=4", "precision.compute=bf16", "target.device=cuda", "target.arch=sm_90"]
MACHINE = ["--machine", ROOT / "tools" / "machines" / "h100-8x4.toml"]


@test
def a_machine_gives_seconds():
    none, block = (bytes_of(Plan(model(), GPU + [f"recompute.policy={policy}"])) for policy in ("none", "block"))
    settings = GPU + ["sharding.reshard_after_forward=auto"]
    budget = (none + block) // 2
    plan, decisions = with_decisions(settings, budget, *MACHINE)
    plan.check()
    expect(bytes_of(plan) <= budget, f"{bytes_of(plan)} bytes with a budget of {budget}")
    expect(decisions["bound"]["s"] <= decisions["cost"]["s"], f"bound {decisions['bound']}, cost {decisions['cost']}")
    chosen = [one["alternatives"][one["choice"]]["s"] for one in decisions["decisions"]]
    expect(abs(sum(chosen) - decisions["cost"]["s"]) < 1e-11 and any(chosen), f"seconds of the choices {chosen}, cost {decisions['cost']}")
    seconds = [json.loads(run("sluice-plan", "simulate", one.path, *MACHINE, "--json").stdout)["step_s"]
               for one in (plan, Plan(model(), GPU + ["recompute.policy=block"]))]
    expect(seconds[0] <= seconds[1], f"step of the choice {seconds[0]} s, with each block recomputed {seconds[1]} s")
    # Rates that the file does not have are an error.
    done = try_compile(model(), ["mesh.shard=4", "target.device=cuda", "recompute.policy=budget", f"memory.budget={budget}"], *MACHINE)
    expect(done.returncode == 1 and "has no value for: rate of 'attention' in f32" in done.stderr
           and "note: without a machine, choices are compared by FLOPs" in done.stderr, done.stderr)


@test
def a_budget_that_is_too_small_names_remedies():
    settings = ["mesh.shard=1", "recompute.policy=budget"]
    done = try_compile(model(), settings + ["memory.budget=100KiB"])
    expect(done.returncode == 3 and done.stderr.startswith("error: over the memory budget of one rank"), done.stderr)
    least = int(re.search(r"note: memory.budget = (\d+) .*is enough", done.stderr)[1])
    expect(bytes_of(budgeted(["mesh.shard=1"], least)) <= least, f"the budget of {least} bytes that the note names")
    # With more ranks there is less than the least memory of these.
    expect(re.search(r"note: mesh.shard = 2: \d+ .*still over the budget", done.stderr), done.stderr)
    # Each remedy is a plan.
    half = bytes_of(Plan(model(), ["mesh.shard=1"])) * 3 // 4
    done = try_compile(model(), ["mesh.shard=1", f"memory.budget={half}"])
    # A batch or a sequence is no setting of a recipe.
    notes = re.findall(r"note: (\w+\.\w+) = (.+?): (\d+) .*?(within|still over) the budget", done.stderr)
    expect(done.returncode == 3 and 1 <= len(notes) <= 3, done.stderr)
    for key, value, size, is_within in notes:
        there = try_compile(model(), ["mesh.shard=1", f"memory.budget={half}", f"{key}={value}"])
        expect_equal(there.returncode, 0 if is_within == "within" else 3, f"{key} = {value}: exit code")
        if is_within == "within":
            expect_equal(bytes_of(Plan(model(), ["mesh.shard=1", f"memory.budget={half}", f"{key}={value}"])), int(size), f"{key} = {value}: bytes")


main()
