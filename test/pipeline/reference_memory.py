"""Memory of the reference's models at the reference's shapes: live bytes by class against arithmetic from shapes, and measured peaks.

The shapes of a row are compiled. The formulas are linear in the batch; each is compared at two batches. The part of a model and the
transformers also run with the reference's batch. The four units run with 512 rows instead of 8192: a row takes 10 ms on two cores, so
four runs with 8192 would take five minutes. Time is the limit, not memory: the largest run takes 3.5 GB.
"""

from sluice import *

F32, F16 = 4, 2
# Scalars of a step: lr, step, loss, norm, loss scale and flags.
SCALARS = 64


def memory(plan, *options):
    return json.loads(run("sluice-plan", "memory", "--json", plan.path, *options).stdout)


def peak(plan, entry, space):
    found = memory(plan)
    return next(s["peak"] for s in found["spaces"] if s["space"] == space) if space == "host" else next(e["peak"] for e in found["entries"] if e["entry"] == entry)


def largest_workspaces(plan, space):
    """Launches of a stream share its workspace: the bytes of the largest one on each stream of the space, over all entry points."""
    streams = dict(re.findall(r"^stream (\S+) on (\S+) ", plan.text, re.M))
    largest = dict.fromkeys((name for name, on in streams.items() if on == space), 0)
    for stream, size in re.findall(r"^    \d+ (\S+) .*? workspace (\d+)", plan.text, re.M):
        if stream in largest:
            largest[stream] = max(largest[stream], int(size))
    return sum(largest.values())


def expect_classes(plan, expected, what, entry="train_step", space="device"):
    """Every class has the expected bytes at the peak, and at most the scalars of a step more; a class that is not expected has no more than those.
    The workspace belongs to kernels, not to shapes: it is that of the largest launches."""
    found = peak(plan, entry, space)
    for name, size in found["by_class"].items():
        if name == "workspace":
            expect_equal(size, largest_workspaces(plan, space), f"{what}: workspace")
        else:
            wanted = expected.get(name, 0)
            expect(wanted <= size <= wanted + SCALARS, f"{what}: class '{name}', expected {wanted} bytes but got {size}")
    expect_equal(sum(found["by_class"].values()), found["bytes"], f"{what}: sum of classes")


def expect_measured(plan, *options):
    """A run requests the bytes of the predicted peaks."""
    log = SCRATCH / "peak.jsonl"
    run("sluice-train", plan.path, "--data", "random:1", "--steps", 1, "--log", log, "--quiet", *options)
    summary = read_log(log)[1]
    expect_equal(summary["measured_peak"], summary["predicted_peak"], f"{plan.description['name']}: measured peak")
    return summary


def expect_growth(plan, *options):
    """The same, and the process grows by the predicted bytes within 2 %."""
    summary = expect_measured(plan, *options)
    found, wanted = summary["measured_process"], summary["predicted_process"]
    expect(abs(found - wanted) <= 0.02 * wanted, f"{plan.description['name']}: process, expected growth by {wanted} bytes within 2 % but got {found}")


# MLP(d): weights of 4d x d and d x 4d, biases of 4d and d.
D = 2048
WEIGHT, MLP = 4 * D * D, 8 * D * D + 5 * D
GROUPS = ["optimizer.name=adam", "precision.compute=f16", "precision.reduce=f32", "precision.loss_scale=1"]
HOST = ['memory.offload=["parameters", "optimizer"]', "memory.pinned=false"]


def sequence_plan(count, batch, *settings):
    return Plan(zoo("mlp-sequence", f"count={count}", f"dim={D}", f"batch={batch}"), list(settings))


@test
def four_units_by_class():
    """4 x MLP(2048), 8192 rows on each of four ranks, f16 compute and f32 reduction. `row`: bytes of an f16 value of 2048 columns."""
    expect_equal(MLP, 33_564_672, "elements of a unit")
    ranks = 4
    for batch, after in ((4096, "true"), (8192, "true"), (8192, "false"), (16384, "false")):
        row = batch * D * F16
        if after == "true":
            # The backward of unit 2: unit 1 is gathered early, the first weight of unit 2 still is; gradients of unit 3 are being
            # reduced, those of the second weight and bias of unit 2 are computed. Input, hidden values of units 0 to 2, outputs of 0
            # and 1; cotangents of an output and a hidden value.
            device = {"gathered": (MLP + WEIGHT) * F16, "gradient": (MLP + WEIGHT + D) * F32, "gradient_shard": MLP * F32 // ranks,
                      "activation": (1 + 3 * 4 + 2) * row, "temporary": 5 * row, "communication": MLP * F16 // ranks}
        else:
            # The backward of unit 3: all weights are gathered except the first one of unit 0, which the backward does not read, and the second one
            # of unit 3, whose last use is over. All hidden values and outputs, the cotangent of a hidden value, and the gradients of
            # the second weight and bias of unit 3.
            device = {"gathered": 6 * WEIGHT * F16, "gradient": (WEIGHT + D) * F32, "activation": (1 + 4 * 4 + 4) * row,
                      "temporary": 4 * row}
        shards = 4 * MLP * F32 // ranks
        for offload in ([], HOST):
            plan = sequence_plan(4, batch, f"mesh.shard={ranks}", f"sharding.reshard_after_forward={after}", *GROUPS, *offload)
            what = f"batch {batch}, reshard {after}, {offload}"
            if offload:
                # A unit's shards are copied to the device before its gather. Host memory has all shards, gradients and states.
                staged = {"parameter": MLP * F32 // ranks, "gradient_shard": MLP * F32 // ranks}
                expect_classes(plan, device | (staged if after == "true" else {}), what)
                expect_classes(plan, {"parameter": shards, "gradient_shard": shards, "optimizer": 2 * shards,
                                                 "input": batch * D * F32}, f"{what}, host", space="host")
            else:
                expect_classes(plan, device | {"parameter": shards, "optimizer": 2 * shards}, what)
                expect_classes(plan, {"input": batch * D * F32}, f"{what}, host", space="host")


@test
def four_units_measured():
    for after in ("true", "false"):
        for offload in ([], HOST):
            expect_growth(sequence_plan(4, 512, "mesh.shard=2", f"sharding.reshard_after_forward={after}", *GROUPS, *offload))


@test
def part_of_a_model():
    """3 x MLP(2048), batch 8, of which only the first is trained: the others remain sharded. The peak is at its update."""
    plan = sequence_plan(3, 8, "mesh.shard=4", "optimizer.name=adam")
    shards = 3 * MLP * F32 // 4
    # All gradients of the unit are computed before they are reduced.
    expect_classes(plan, {"parameter": shards, "optimizer": 2 * shards, "gradient": MLP * F32,
                                               "gradient_shard": MLP * F32 // 4}, "train_first", entry="train_first")
    expect_equal({c["unit"] for c in plan.collectives(entry="train_first") if c["unit"]}, {"0"}, "units of collectives")
    expect_growth(plan, "--entries", "train_first")


LAYERS, VOCABULARY, LENGTH, WIDTH = 4, 8192, 512, 16
TRANSFORMER = [f"layers={LAYERS}", f"vocab={VOCABULARY}", f"sequence={LENGTH}", f"max_sequence={LENGTH}", f"dim={WIDTH}", "heads=4", "dropout=0.1"]


@test
def recompute_by_blocks_and_by_marks():
    """Transformer of 4 layers, batch 16: the logits are most of the peak. Recompute keeps the inputs of blocks."""
    for policy, name in (("block", "transformer"), ("marked", "nested-recompute")):
        for after in ("true", "false"):
            settings = ["mesh.shard=2", f"sharding.reshard_after_forward={after}", f"recompute.policy={policy}", "optimizer.name=adam"]
            for batch in (4, 16):
                plan = Plan(zoo(name, *TRANSFORMER, f"batch={batch}"), settings)
                row = batch * LENGTH * WIDTH * F32
                table = VOCABULARY * WIDTH
                block = 4 * WIDTH * WIDTH + 2 * 4 * WIDTH * WIDTH + 5 * WIDTH + 4 * WIDTH
                shards = (LAYERS * block + table + LENGTH * WIDTH + 2 * WIDTH) * F32 // 2
                # The tied table. Without resharding also the parameters that recompute and backward read: of a block all but its last bias,
                # and the weight of the last norm.
                kept = 0 if after == "true" else LAYERS * (block - WIDTH) + WIDTH
                # Inputs of the blocks, output of the last, the normalized one, and mean and deviation of its rows.
                expect_classes(plan, {
                    "parameter": shards, "optimizer": 2 * shards, "gathered": (table + kept) * F32,
                    "activation": (LAYERS + 2) * row + 2 * batch * LENGTH * F32, "temporary": batch * LENGTH * VOCABULARY * F32,
                    "input": batch * LENGTH * F32}, f"{policy}, reshard {after}, batch {batch}")
            expect_growth(plan)


@test
def units_of_norm_and_linear():
    """RMSNorm and Linear, twice, 16 x 128: two units of two modules each."""
    unit = 128 + 128 * 128 + 128
    settings = ["mesh.shard=2", 'sharding.units={a=["norm1", "output1"], b=["norm2", "output2"]}', "sharding.reshard_after_forward=true",
                "optimizer.name=adam"]
    for batch in (16, 32):
        plan = Plan(zoo("norm-linear", "dim=128", f"batch={batch}"), settings)
        row = batch * 128 * F32
        # The backward of unit a without its bias, while unit b is reduced: the output of norm1, and the reciprocals of its deviations.
        expect_classes(plan, {"parameter": unit * F32, "optimizer": 2 * unit * F32, "gathered": (unit - 128) * F32, "gradient": unit * F32,
                                    "gradient_shard": unit * F32 // 2, "activation": row + batch * F32, "temporary": 2 * row, "input": row},
                       f"batch {batch}")
        expect_measured(plan)
    expect_equal({u["name"]: u["bytes"] for u in plan.description["units"]}, {"root": 0, "a": unit * F32, "b": unit * F32}, "bytes of units")
    expect_equal(" ".join(plan.events()), "U(a) U(b) R(a) R(b) U(b) U(a) R(b) P(b) R(a) P(a)", "events")


# Behaviours 2: a stem, three convolutions with batch norms, a linear head; each batch norm is a unit.
STEM, HIDDEN, CLASSES, ROWS = 64, 128, 10, 2
UNITS = ('sharding.units={stem=["stem"], stem_norm=["stem.1"], blocks=["blocks"], norm1=["blocks.1"], norm2=["blocks.4"], norm3=["blocks.7"], '
         'head=["head"]}')
SGD = ["optimizer.name=sgd", "optimizer.lr=1e-4", "optimizer.momentum=0.9"]
# MiB of the reference at its six points, in iteration 0 and in later ones, by recompute policy.
REFERENCE = {"none": ([3, 340, 340, 5, 7, 5], [5, 342, 342, 7, 7, 5]), "marked": ([3, 51, 51, 5, 7, 5], [5, 53, 53, 7, 7, 5])}


def conv_plan(policy, side):
    return Plan(zoo("conv", "loss=first-row-square", f"height={side}", f"width={side}"), ["mesh.shard=2", UNITS, f"recompute.policy={policy}"] + SGD)


def conv_points(policy, side):
    """Bytes of the six points without the momentum, those of them that section 2.3 of the reference counts after the forward, and the momentum."""
    channels, image = STEM + 3 * HIDDEN, ROWS * (side - 2) ** 2 * F32
    shard = (28 * STEM + 25 * HIDDEN * (STEM + 2 * HIDDEN) + 3 * HIDDEN + 2 * channels + CLASSES * HIDDEN + CLASSES) * F32 // 2
    # Outputs of the convolutions and of their norms.
    counted = shard + ROWS * 3 * side * side * F32 + 2 * STEM * image + (3 * 2 * HIDDEN * image if policy == "none" else 0)
    # Running mean and variance, and a counter of each norm; mean and deviation of the norms that are not recomputed; the pooled rows.
    state, scalar = 2 * channels * F32 + 4 * 8, F32
    forward = counted + state + 2 * (channels if policy == "none" else STEM) * F32 + ROWS * HIDDEN * F32
    # The sum of the first row, from which loss and derivative are computed, then also the cotangent; the loss until it is copied to the host.
    return [shard + state, forward + scalar, forward + 2 * scalar, 2 * shard + state + scalar, shard + state, shard + state], counted, shard


@test
def six_points_of_a_step():
    for policy, figure in (("none", 340.012), ("marked", 51.239)):
        for side in (224, 112):
            points, counted, momentum = conv_points(policy, side)
            found = [p for p in memory(conv_plan(policy, side))["points"] if p["entry"] == "train_step"]
            expect_equal([p["name"] for p in found], ["start", "after_forward", "after_loss", "after_backward", "after_update", "end"], "points")
            # A plan has the momentum from the start, the reference from its first update on.
            expect_equal([p["bytes"] for p in found], [point + momentum for point in points], f"{policy}, {side}: live bytes")
            expect_equal({p["by_class"]["optimizer"] for p in found}, {momentum}, f"{policy}, {side}: momentum")
        points, counted, momentum = conv_points(policy, 224)
        expect_equal(momentum, 1_028_362 * F32 // 2, "momentum of a rank")
        expect_equal(round(counted / 2 ** 20, 3), figure, f"{policy}: MiB that the reference counts after the forward")
        # In iteration 0 the plan has 2 MiB more at the first four points: the momentum, which the reference does not have yet.
        expect_equal(round(momentum / 2 ** 20), 2, f"{policy}: MiB of the momentum")
        for excess, expected in zip(([2] * 4 + [0] * 2, [0] * 6), REFERENCE[policy]):
            for point, most, more in zip(points, expected, excess, strict=True):
                mib = (point + momentum) / 2 ** 20
                expect(round(mib) <= most + more, f"{policy}: expected at most {most} + {more} MiB but got {mib}")
    units = {unit["name"]: unit["bytes"] // F32 for unit in conv_plan("none", 224).description["units"]}
    expect_equal(units, {"root": 0, "stem": 28 * STEM, "stem_norm": 2 * STEM, "norm1": 2 * HIDDEN, "norm2": 2 * HIDDEN, "norm3": 2 * HIDDEN,
                         "blocks": 25 * HIDDEN * (STEM + 2 * HIDDEN) + 3 * HIDDEN, "head": CLASSES * HIDDEN + CLASSES}, "elements of units")


@test
def resident_pages_of_a_step():
    """Between instructions the resident pages are pages with live bytes, with the plan's figures as the most."""
    for policy, side in (("none", 112), ("marked", 224)):
        plan = conv_plan(policy, side)
        summary = expect_measured(plan, "--measure-pages")
        expect_equal(summary["resident_pages"], summary["live_pages"], f"{policy}, {side}: resident pages")
        # Less than a page for each live buffer, below the arena.
        live, resident = plan.arena()["peak_live"], summary["resident_pages"]["device"]
        expect(0 <= resident - live < 100 * 4096, f"{policy}, {side}: expected resident bytes near {live} but got {resident}")


@test
def classes_of_linears_and_mlps():
    """Linear(512) four times in bf16, and MLP(1024) four times in f16 with recompute: at the peak all gradients are live, except that of the first
    bias, which is computed last; the product that gives the gradient of the first weight reads its input and a cotangent in 16 bits."""
    for rows in (16, 32):
        dim = 512
        parameters = 4 * (dim * dim + dim)
        plan = Plan(linears(4, dim, rows), ["optimizer.name=adam", "precision.compute=bf16"])
        expect_classes(plan, {"parameter": parameters * F32, "optimizer": 2 * parameters * F32, "gradient": (parameters - dim) * F32,
                                    "activation": rows * dim * F16, "temporary": rows * dim * F16}, f"linears, {rows} rows")
        expect_measured(plan)
        dim = 1024
        parameters = 4 * (8 * dim * dim + 5 * dim)
        plan = Plan(zoo("mlp-sequence", "count=4", f"dim={dim}", f"batch={rows}"),
                    ["optimizer.name=adam", "precision.compute=f16", "precision.loss_scale=1", "recompute.policy=block"])
        expect_classes(plan, {"parameter": parameters * F32, "optimizer": 2 * parameters * F32, "gradient": (parameters - 4 * dim) * F32,
                                    "activation": rows * dim * F16, "temporary": 4 * rows * dim * F16}, f"mlps, {rows} rows")
    expect_measured(plan)


# The row's Transformer on 4 ranks: the reference's peak without sharding and without states of the optimizer (5 %).
SAC_PEAK, SAC_RANKS = 2_583_888_896, 4


def sac_model():
    return zoo("transformer", "layers=4", "heads=12", "dim=768", "vocab=8192", "max_sequence=1024", "sequence=1024", "batch=8", "dropout=0")


@test
def baseline_of_sac_ilp():
    """The reference's peak, to the byte: our account of the forward, and what it does not count. The reference adds the live activations after the
    forward and the largest temporaries of the backward, although the two are not live at the same time."""
    plan = Plan(sac_model(), ["optimizer.name=adam"])
    points = {(point["iteration"], point["name"]): point["bytes"] for point in memory(plan, "--account", "fsdp2")["points"]}
    sizes = {unit["name"]: unit["bytes"] for unit in plan.description["units"]}
    layers, vocabulary, positions, width, rows = 4, 8192, 1024, 768, 8 * 1024
    hidden, logits = rows * width * F32, rows * vocabulary * F32
    # The root is gathered at the end of the forward, which on one rank is a copy.
    forward = points[0, "after_forward"] - points[0, "start"] - sizes["root"]
    uncounted = {
        "masks of dropout, of the embedding and two in each block": (1 + 2 * layers) * rows * width,
        "seed and offset of dropout in attention, of 512 bytes each": 2 * layers * 512,
        "positions as i64": positions * 8,
        "logits of the iteration before, which the training loop holds": logits,
    }
    # The backward of the last feed-forward layer: cotangents of the residual, of the layer's result and of its hidden values, which are four times as
    # wide; the gradients of its second product, and that of the logits' product, to which the embedding's will be added.
    backward = (1 + 1 + 4) * hidden + (4 * width * width + width) * F32 + vocabulary * width * F32
    expect_equal(sum(sizes.values()) + forward + sum(uncounted.values()) + backward, SAC_PEAK, "bytes of the reference's peak")


@test
def blocks_within_the_budgets_of_sac_ilp():
    """The reference's account of a rank: activations, its part of parameters and gradients, and three times the largest unit. By it nothing is
    recomputed at 2.4 GiB, at least two of the four blocks are at 1.6 GiB (the reference's solver recomputes parts of all four), and 0.8 GiB is
    too little. The best choice for a plan of Sluice: no block at 2.4 GiB, three at 1.6 GiB, and a plan of 0.8 GiB too."""
    model, chosen = sac_model(), {}
    for gib in (2.4, 1.6, 0.8):
        path = SCRATCH / "decisions.json"
        plan = Plan(model, [f"mesh.shard={SAC_RANKS}", "recompute.policy=budget", f"memory.budget={int(gib * 2**30)}"], "--decisions", path)
        decisions = json.loads(path.read_text())
        arena = plan.arena()
        expect(arena["bytes"] + arena["workspace"] <= gib * 2**30, f"{gib} GiB: arena of {arena}")
        expect_equal(decisions["cost"], decisions["bound"], f"{gib} GiB: cost and bound")
        alternatives = [block["alternatives"][block["choice"]] for block in decisions["decisions"]]
        chosen[gib] = [one["recompute"] for one in alternatives], decisions["cost"]["flops"]
    # All that a block keeps but its input can be discarded.
    kept = [block["alternatives"][0]["bytes"] for block in decisions["decisions"]]
    inputs = [block["alternatives"][1]["bytes"] for block in decisions["decisions"]]
    sizes = {unit["name"]: unit["bytes"] for unit in plan.description["units"]}
    both = 2 * sum(sizes.values())
    least = SAC_PEAK - both + both / SAC_RANKS + 3 * max(sizes.values())
    discardable = [a - b for a, b in zip(kept, inputs)]
    expect(least <= 2.4 * 2**30, f"2.4 GiB: the reference's account has {least} bytes")
    missing = least - 1.6 * 2**30
    expect(sum(discardable) > missing > max(discardable), f"1.6 GiB: {missing} bytes too many, blocks of {discardable}")
    expect(least - sum(discardable) > 0.8 * 2**30, f"0.8 GiB: {least} bytes, blocks of {discardable}")
    expect_equal(chosen[2.4], (["none"] * 4, 0), "2.4 GiB")
    expect_equal(sorted(chosen[1.6][0]), ["none"] + ["selective"] * 3, "1.6 GiB")
    expect(chosen[2.4][1] < chosen[1.6][1] < chosen[0.8][1] and "none" not in chosen[0.8][0], f"choices {chosen}")


main(no_empty_loops=True)
