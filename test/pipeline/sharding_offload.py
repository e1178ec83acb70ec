"""Offload: parameters and the optimizer's states in host memory give the bits of the same plan without offload, are copied
before gathers and after reductions of their units, and are in the host's arena."""

from sluice import *

BOTH = 'memory.offload=["parameters", "optimizer"]'
ADAM = ["optimizer.name=adam", "optimizer.lr=0.01"]
SGD = ["optimizer.name=sgd", "optimizer.lr=0.01", "optimizer.momentum=0.9"]


def persistent(plan, space):
    """The bytes of persistent buffers in a memory space, by class."""
    found = collections.Counter()
    for buffer in plan.buffers():
        if buffer.space == space and not buffer.entry:
            found[buffer.kind] += buffer.bytes
    return dict(found)


def moves(plan, phase=None):
    return plan.events(phase, only="URPFO")


def expect_same_bits_with_offload(model, recipe, offload=BOTH, steps=3, *options):
    """The bits of the plan without offload; the measured bytes of each memory space are the predicted ones."""
    wanted = train(Plan(model, recipe), *options, steps=steps)
    plan = Plan(model, recipe + [offload])
    found = train(plan, *options, steps=steps)
    expect_same_bits(found, wanted, f"{recipe}, {offload}")
    summary = found.summary
    expect_equal(summary["measured_peak"], summary["predicted_peak"], f"{recipe}, {offload}: measured peaks")
    for space in ("device", "host"):
        arena = plan.arena(space)
        expect_equal(summary["predicted_peak"][space], arena["bytes"] + arena["workspace"], f"{recipe}: {space}")
    return plan


@test
def same_bits_for_every_mesh_and_strategy():
    for mesh in ([], ["mesh.shard=2"], ["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=2"], ["mesh.shard=3"]):
        for strategy in ("full_shard", "shard_grad_op", "no_shard"):
            expect_same_bits_with_offload(gpt2_tiny(), mesh + [f"sharding.strategy={strategy}"])


@test
def same_bits_for_other_settings():
    two = ["mesh.shard=2"]
    for recipe in (["precision.compute=bf16"], ["precision.compute=bf16", "precision.reduce=bf16"], ["recompute.policy=block"],
                   ["precision.compute=f16", "precision.loss_scale=dynamic"], ["precision.parameter=f64", "precision.compute=f64"],
                   ["gradient.clip_norm=0.5"], ["gradient.clip_norm=0.5", "gradient.clip_type=inf"], ["gradient.divide=3"],
                   ["gradient.force_sum=true"], ['parameters.frozen=["h.0.*"]'], ['sharding.replicated=["*.bias", "ln_f*"]'],
                   ["sharding.dim=largest"], ["sharding.dim=flat"], ["sharding.units=root"], ["schedule.backward_prefetch=post"],
                   ["schedule.forward_prefetch=0", "schedule.backward_prefetch=0"], ["schedule.forward_prefetch=3"],
                   ["memory.pinned=false"], ["sharding.reshard_after_forward=false"], ["schedule.reduce_buffers=2"], SGD,
                   ["optimizer.name=sgd"], ["loss.mean=tokens", "gradient.microbatches=2"]):
        expect_same_bits_with_offload(gpt2_tiny(), two + recipe, steps=2)
    expect_same_bits_with_offload(gpt2_tiny(), ["mesh.shard=4", "sharding.reshard_after_forward=2"], steps=2)
    expect_same_bits_with_offload(gpt2_tiny(), ["mesh.shard=2", "mesh.tensor=2", "sharding.tensor=megatron"], steps=2)
    # Tied weights, and a unit that is used twice.
    expect_same_bits_with_offload(zoo("transformer", "tied=true"), ["mesh.shard=4"], steps=2)
    expect_same_bits_with_offload(zoo("multi-forward"), ["mesh.shard=2"], steps=2)
    # Extents below the number of ranks: some ranks have no rows.
    expect_same_bits_with_offload(zoo("linear-relu-linear", "in=5", "hidden=7", "out=3"), ["mesh.shard=8"], steps=2)


@test
def same_bits_for_units_and_entry_points():
    three = ["mesh.shard=2", "gradient.microbatches=3"]
    # Units that are gathered once for all micro-batches are copied once.
    plan = expect_same_bits_with_offload(zoo("transformer", "dropout=0"), three + ["sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last"], steps=2)
    expect_equal([e["microbatch"] for e in plan.description["events"] if e["entry"] == "train_step" and e["what"] == "fetch"], [0, 0, 0], "fetches")
    expect_same_bits_with_offload(zoo("transformer", "dropout=0"), three + ["sharding.reshard_after_forward=false", "sharding.reshard_before_backward=true"], steps=2)
    expect_same_bits_with_offload(zoo("mlp-sequence", "count=3", "dim=8"), ["mesh.shard=2"], BOTH, 3, "--entries", "train_step,train_first")
    expect_same_bits_with_offload(zoo("nested-recompute", "layers=2", "tied=false"),
          ["mesh.shard=2", "sharding.reshard_after_forward=true", "recompute.policy=marked",
           'sharding.units={L0="layers.0", L1="layers.1", w0="layers.0.feed_forward.w1.*", w1="layers.1.feed_forward.w1.*"}'], steps=2)
    expect_same_bits_with_offload(zoo("transformer", "tied=false"), ["mesh.shard=2", 'sharding.units={e=["tok_embeddings*", "pos_embeddings*"], none=[]}',
                                             "sharding.unshard_in_backward={e=false}"], steps=2)
    for name in ("two-forwards", "two-losses", "unused-linear", "shared-linear", "double-linear"):
        expect_same_bits_with_offload(zoo(name), ["mesh.shard=2"], steps=2)
    # Parameters that neither the backward nor a gather reads are not copied.
    for mesh in ([], ["mesh.replicate=2"], ["mesh.shard=2", "sharding.strategy=no_shard"], ["mesh.tensor=2", 'sharding.tensor={"*.weight"="column"}']):
        plan = expect_same_bits_with_offload(zoo("mlp", "dim=6"), mesh, steps=2)
        expect_equal([m for m in moves(plan, "backward") if m == "F(in_proj)"], [], f"{mesh}: fetches of what the backward does not read")
    # An early gather and a reduction that the author wrote.
    expect_same_bits_with_offload(zoo("reduce-model"), ["mesh.shard=2"], steps=2)
    # State of batch norms.
    expect_same_bits_with_offload(zoo("conv", "height=16", "width=16", "stem=8", "hidden=8"), ["mesh.shard=2"], steps=2)


@test
def same_bits_with_copies_between_gathers():
    """Replicated parameters are copied from the host without a gather, between the gathers of two units."""
    for settings in ([], ["gradient.microbatches=2"], ["schedule.forward_prefetch=3"]):
        expect_same_bits_with_offload(zoo("mlp-sequence", "count=3"), ["mesh.shard=2", 'sharding.replicated=["*.bias"]', *settings, *SGD])


@test
def parameters_or_optimizer_states():
    # Only states on the host: parameters are copied there for the update, and back. Only parameters on the host: the device updates.
    for mesh in ([], ["mesh.shard=2"], ["mesh.replicate=2", "mesh.shard=2"]):
        plan = expect_same_bits_with_offload(gpt2_tiny(), mesh, 'memory.offload=["optimizer"]')
        expect_equal((sorted(persistent(plan, "host")), sorted(persistent(plan, "device"))), (["optimizer"], ["parameter"]), "spaces")
        plan = expect_same_bits_with_offload(gpt2_tiny(), mesh, 'memory.offload=["parameters"]')
        expect_equal((sorted(persistent(plan, "host")), sorted(persistent(plan, "device"))), (["parameter"], ["optimizer"]), "spaces")
        plan = expect_same_bits_with_offload(gpt2_tiny(), mesh)
        expect_equal((sorted(persistent(plan, "host")), sorted(persistent(plan, "device"))), (["optimizer", "parameter"], []), "spaces")


@test
def copies_before_gathers_and_after_reductions():
    model = zoo("transformer", "layers=3", "tied=false")
    wait = Plan(model, ["mesh.shard=2", "schedule.forward_prefetch=0", "schedule.backward_prefetch=0", BOTH])
    U = [f"layers.{i}" for i in range(3)]
    expect_equal(moves(wait, "forward"), ["F(root)", "U(root)"] + [f"{what}({u})" for u in U for what in "FUR"], "forward")
    for distance in (1, 2):
        plan = Plan(model, ["mesh.shard=2", f"schedule.forward_prefetch={distance}", f"schedule.backward_prefetch={distance}", BOTH])
        without = Plan(model, ["mesh.shard=2", f"schedule.forward_prefetch={distance}", f"schedule.backward_prefetch={distance}"])
        # The events of units are those without offload, with a fetch before each gather.
        expect_equal([m for m in moves(plan) if m[0] not in "FO"], moves(without), f"distance {distance}: events without copies")
        found = moves(plan)
        for i, move in enumerate(found):
            if move[0] == "U":
                expect_equal(found[i - 1], "F" + move[1:], f"distance {distance}: before {move}")
        # Each unit's gradients are copied out once, after their reduction.
        out = [m[1:] for m in found if m[0] == "O"]
        expect_equal(out, [m[1:] for m in found if m[0] == "P"], f"distance {distance}: copies out")
        for unit in out:
            expect(found.index("P" + unit) < found.index("O" + unit), f"expected the copy of {unit} after its reduction")
    # The numbers of collectives are those without offload.
    for kind in ("all_gather", "reduce_scatter", "all_reduce"):
        expect_equal(wait.count(kind), Plan(model, ["mesh.shard=2", "schedule.forward_prefetch=0", "schedule.backward_prefetch=0"]).count(kind), kind)
    streams = {e["what"]: e["stream"] for e in wait.description["events"]}
    expect_equal((streams["fetch"], streams["offload"], streams["unshard"]), ("fetch", "offload", "gather"), "streams")


def prefetched(plan, phase="forward"):
    """The fetches of a phase, in the order of issue."""
    return [m for m in moves(plan, phase) if m[0] == "F"]


@test
def fetches_without_gathers():
    # One rank, and strategies without shards: nothing is gathered, and units are copied before their use.
    for recipe in ([], ["mesh.replicate=2"], ["mesh.shard=2", "sharding.strategy=no_shard"]):
        plan = Plan(zoo("transformer", "layers=3"), recipe + [BOTH])
        expect_equal(plan.count("all_gather"), 0, f"{recipe}: gathers")
        expect_equal(prefetched(plan), ["F(root)", "F(layers.0)", "F(layers.1)", "F(layers.2)"], f"{recipe}: fetches of the forward")
        expect_equal(len([m for m in moves(plan) if m[0] == "O"]) > 0, True, f"{recipe}: copies out")


@test
def accumulation_with_offload():
    # Deferred gradients stay on the device and are copied at the end; reduced ones are added up in host memory.
    model = zoo("linear-mlps", "count=3", "dim=32")
    modes = {"all": ("last", "every"), "some_mlps": ('{"1"="last", "2"="last", "*"="every"}',), "root_only": ('{root="last", "*"="every"}',)}
    for mesh in (["mesh.shard=4"], ["mesh.replicate=2", "mesh.shard=2"]):
        for sync in [s for m in modes.values() for s in m] + (["reduce_scatter_only"] if len(mesh) == 2 else []):
            recipe = mesh + ["gradient.microbatches=3", "sharding.reshard_after_forward=true", f"gradient.sync={sync}"] + ADAM
            plan = expect_same_bits_with_offload(model, recipe, steps=2)
            without = Plan(model, recipe)
            for kind in ("all_gather", "reduce_scatter", "all_reduce"):
                expect_equal(plan.count(kind), without.count(kind), f"{recipe}: {kind}")
            out = collections.Counter(e["microbatch"] for e in plan.description["events"] if e["what"] == "offload")
            # A unit's gradients are copied when they are reduced over all ranks.
            complete = "all_reduce" if len(mesh) == 2 else "reduce_scatter"
            reduced = collections.Counter(c["microbatch"] for c in plan.collectives(complete) if c["unit"])
            expect_equal(out, reduced, f"{recipe}: copies out by micro-batch")


@test
def hybrid_meshes_with_offload():
    # LayerNorm without bias and MLPs on (2, 2) and on a shard axis of one rank; pinned or not.
    for dim, mesh, after, policy, sync, pinned in itertools.product(
            (3, 16, 17), (["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=2"]), ("false", "true"), ("none", "block"), ("last", "every"),
            ("true", "false")):
        if dim != 3 and (after == "false" or policy == "block"):
            continue
        expect_same_bits_with_offload(zoo("norm-mlps", f"dim={dim}"), mesh + [f"sharding.reshard_after_forward={after}", f"recompute.policy={policy}", f"gradient.sync={sync}",
                                                      f"memory.pinned={pinned}", "gradient.microbatches=3"] + ADAM, steps=2)


@test
def accumulation_in_host_memory():
    # Two deferred micro-batches and one that reduces, by strategy, by prefetch of the backward, and with parameters sharded by dim or by elements.
    model = zoo("encoder-decoder", "batch=2")
    alone = train(Plan(model, ["gradient.microbatches=6"] + SGD), steps=2)
    number = 0
    for prefetch, strategy, dim in itertools.product(("none", "pre", "post"), ("full_shard", "shard_grad_op", "no_shard"), ("first", "flat")):
        recipe = ["mesh.shard=2", "gradient.microbatches=3", f"schedule.backward_prefetch={prefetch}", f"sharding.strategy={strategy}",
                  f"sharding.dim={dim}", "gradient.sync=[false, false, true]"] + SGD
        plan = Plan(model, recipe + [BOTH])
        expect_near_runs(train(plan, steps=2), alone, 1e-5, f"{recipe}", weights=1e-5)
        # Nothing is copied out before the last micro-batch.
        expect_equal({e["microbatch"] for e in plan.description["events"] if e["what"] == "offload" and e["phase"] == "backward"}, {2}, f"{recipe}")
        number += 1
    expect_equal(number, 18, "runs")


@test
def memory_of_device_and_host():
    B, N = 7_084_800, 62_976
    S = (3 * B + N + 1) // 2
    plan = Plan(zoo("memory-transformer"), ["mesh.shard=2", "sharding.reshard_after_forward=true", "optimizer.name=adam", BOTH])
    # Nothing on the device is persistent; the host has the shards and two states of each.
    expect_equal((persistent(plan, "device"), persistent(plan, "host")), ({}, {"parameter": 4 * S, "optimizer": 8 * S}), "persistent bytes")
    shown = json.loads(run("sluice-plan", "memory", "--json", plan.path).stdout)
    expect_equal([space["space"] for space in shown["spaces"]], ["device", "host"], "spaces of the report")
    text = run("sluice-plan", "memory", plan.path).stdout
    expect("peak of device" in text and "peak of host" in text, "expected the peaks of both spaces")
    device = {e["entry"]: e["peak"] for e in shown["spaces"][0]["entries"]}
    expect(device["init"] <= 6 * B, f"init: expected at most {6 * B} bytes on the device but got {device['init']}")


@test
def peaks_by_phase_of_the_memory_transformer():
    B, N = 7_084_800, 62_976
    plan = Plan(zoo("memory-transformer"), ["mesh.shard=2", "sharding.reshard_after_forward=true", "optimizer.name=adam", BOTH])
    timeline = MemoryTimeline(plan)
    excluded = {"activation", "temporary", "input", "state"}
    # In the backward the copies of a unit's shards and of its gradients, half a unit each, are within the bound: gradients
    # reuse the memory of values after their last read, and the copies of one unit at a time are live.
    for name, found, bound in (("forward", timeline.peak({"forward", "loss"}, excluded), 3 * B + N),
                               ("backward", timeline.peak({"backward"}, excluded), 4 * B + N), ("update", timeline.peak({"update"}, excluded), 0),
                               ("end", plan.point("end"), 0)):
        small = 4096 if name in ("update", "end") else 0
        expect(found <= 4 * bound + small, f"{name}: expected at most {4 * bound} bytes but got {found}")
    # The arena is as large as the peak of live bytes.
    expect(plan.arena()["bytes"] <= 1.01 * plan.arena()["peak_live"], f"expected no holes but got {plan.arena()}")


@test
def backward_peak_of_many_layers():
    # The bound does not depend on the number of layers and has no copy of a second unit.
    plan = Plan(zoo("transformer", "layers=6", "dim=64", "tied=false"),
                ["mesh.shard=2", "sharding.reshard_after_forward=true", "optimizer.name=adam", BOTH])
    sizes = {unit["name"]: unit["bytes"] for unit in plan.description["units"]}
    timeline = MemoryTimeline(plan)
    excluded = {"activation", "temporary", "input", "state"}
    bound = 4 * sizes["layers.0"] + sizes["root"]
    found = timeline.peak({"backward"}, excluded)
    expect(found <= bound, f"backward: expected at most {bound} bytes but got {found}")
    reduced = max(timeline.at(i, {"gradient_shard"}) for i, phase in enumerate(timeline.phases) if phase == "backward")
    expect(reduced <= sizes["layers.0"] // 2 + sizes["root"], f"expected one unit's reduced gradients but got {reduced} bytes")


@test
def pinned_host_memory():
    for pinned in ("true", "false"):
        plan = Plan(gpt2_tiny(), ["mesh.shard=2", BOTH, f"memory.pinned={pinned}"])
        expect_equal(plan.arena("host").get("pinned", False), pinned == "true", f"pinned = {pinned}")
        printed = re.search(r"^arena host .*$", plan.text, re.M)[0]
        expect_equal(printed.endswith(" pinned"), pinned == "true", f"pinned = {pinned}: {printed}")
    expect("pinned" not in Plan(gpt2_tiny(), ["mesh.shard=2"]).arena("host"), "expected no pinned memory without offload")


@test
def weights_load_and_save():
    # Weights in host memory are saved and loaded; with and without offload, the same file and the same steps.
    plan, without = Plan(gpt2_tiny(), ["mesh.shard=2", BOTH]), Plan(gpt2_tiny(), ["mesh.shard=2"])
    first = SCRATCH / "first"
    first.mkdir(exist_ok=True)
    (first / "model.safetensors").write_bytes(train(plan, steps=2).weights)
    expect_same_bits(train(plan, "--init", first / "model.safetensors"), train(without, "--init", first / "model.safetensors"), "from a file")


@test
def one_process_per_rank():
    # One process per rank, with the environment of torchrun.
    import socket
    plan = Plan(gpt2_tiny(), ["mesh.shard=2", BOTH])
    threads = train(plan, steps=2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log, saved = SCRATCH / "p.jsonl", SCRATCH / "p.saved"
    command = ["sluice-train", str(plan.path), "--data", "random:3", "--steps", "2", "--log", str(log), "--save", str(saved), "--quiet",
               "--communicator", "socket"]
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={
        **os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
        for rank in range(2)]
    for rank in ranks:
        text = rank.communicate(timeout=100)[1]
        expect_equal(rank.returncode, 0, f"exit code ({text})")
    expect_equal([line["loss"] for line in read_log(log)[0]], threads.loss, "losses of processes")
    expect((saved / "model.safetensors").read_bytes() == threads.weights, "expected the same weights by processes but got others")


@test
def refusals():
    base = ["mesh.shard=2", "gradient.microbatches=3", BOTH]
    expect_refused(gpt2_tiny(), base + ["gradient.sync=[true, false, true]"],
                   "--set gradient.sync=[true, false, true]: value of 'gradient.sync' for unit 'root': a list that reduces in "
                   "some micro-batches before the last cannot be combined with 'memory.offload'")
    lists = '"parameters", "optimizer" and "activations"'
    expect_refused(gpt2_tiny(), ["mesh.shard=2", 'memory.offload=["weights"]'], f"value of 'memory.offload', expected \"auto\", a list of {lists} or a "
                   f'table from unit and block globs to a list of {lists} but got ["weights"]')
    expect_refused(gpt2_tiny(), ["mesh.shard=2", "target.device=cuda", "memory.pinned=false", BOTH], "'memory.pinned' = ",
                   "cannot be combined with 'memory.offload' and 'target.device' = \"cuda\"")
    expect_remark(gpt2_tiny(), ["memory.pinned=false"], "'memory.pinned' has no effect without 'memory.offload'")
    expect_remark(gpt2_tiny(), ["optimizer.name=sgd", 'memory.offload=["optimizer"]'], "'memory.offload' has no effect on an optimizer without state")


main(no_empty_loops=True)
