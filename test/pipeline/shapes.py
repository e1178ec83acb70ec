"""Several shapes in one plan: the numbers of each shape alone, one arena, schedules and buckets that continue with the same bits."""

# REQUIRES: compiler

import os

from sluice import *

TEXT = "/usr/share/common-licenses/GPL-3"
CONFIG = dict(reference_config("gpt2-tiny"), n_layer=2, n_positions=64, attn_pdrop=0.1, resid_pdrop=0, embd_pdrop=0.1)
SHAPES = "2x16,1x32,4x8"
NAMES = ["train_step", "train_step_1x32", "train_step_4x8"]


@functools.cache
def shaped(*options, config=json.dumps(CONFIG)):
    """A model with the shapes."""
    path = SCRATCH / f"shaped-{next(numbers)}.json"
    path.write_text(config)
    model = path.with_suffix(".mlir")
    run("sluice-import", "hf", path, *(options or ("--shapes", SHAPES)), "-o", model)
    return model


def arenas(plan):
    return {arena["space"]: arena for arena in described(plan.path)["arenas"]}


def steps_of(plan, steps, *options, data=TEXT):
    (SCRATCH / "x.jsonl").unlink(missing_ok=True)
    return train_once(plan.path, data, steps, options)


def entry_names(plan):
    return re.findall(r"^entry (\S+)", printed(plan.path), re.M)


@test
def one_arena_as_large_as_the_largest_shape():
    for settings in (("mesh.shard=2",), ("mesh.shard=2", "recompute.policy=block"), ("mesh.tensor=2", "sharding.tensor=megatron", "sharding.sequence=true")):
        plan = Plan(shaped("--shapes", SHAPES, "--train-only"), settings).check()
        expect(all(name in entry_names(plan) for name in NAMES), f"entry points {entry_names(plan)}")
        alone = [arenas(Plan(shaped("--shapes", shape, "--train-only"), settings)) for shape in SHAPES.split(",")]
        for space in ("device", "host"):
            largest, found = max(each[space]["bytes"] for each in alone), arenas(plan)[space]["bytes"]
            expect(found <= 1.01 * largest + (4096 if space == "host" else 0), f"{settings}, {space}: expected at most {largest} bytes but got {found}")


@test
def each_shape_has_the_numbers_of_it_alone():
    plan = Plan(shaped(), ("mesh.shard=2", "gradient.clip_norm=0.5")).check()
    for shape, name in zip(SHAPES.split(","), NAMES):
        alone = Plan(shaped("--shapes", shape), ("mesh.shard=2", "gradient.clip_norm=0.5"))
        expect_same_bits(steps_of(plan, 3, "--entries", name), steps_of(alone, 3), shape)


@test
def rotary_positions_of_each_length():
    """The base of dynamic NTK depends on the length of the row."""
    config = json.dumps(dict(reference_config("llama-tiny"), max_position_embeddings=16, rope_scaling={"rope_type": "dynamic", "factor": 2.0}))
    options = ("--allow-longer",)
    plan = Plan(shaped("--shapes", "2x16,1x32", *options, config=config), ()).check()
    for shape, name in (("2x16", "train_step"), ("1x32", "train_step_1x32")):
        alone = Plan(shaped("--shapes", shape, *options, config=config), ())
        expect_same_bits(steps_of(plan, 2, "--entries", name), steps_of(alone, 2), shape)


@test
def micro_batches_of_each_entry_point():
    table = 'gradient.microbatches={train_step=2, "train_step_*"=1, train_step_4x8=3}'
    for settings in ((), ("gradient.sync=every",), ("sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last")):
        plan = Plan(shaped(), ("mesh.shard=2", table, *settings)).check()
        repeats = [int(re.search(rf"^entry {name} events .*?^  section \S+ repeat (\d+)", printed(plan.path), re.M | re.S)[1]) for name in NAMES]
        expect_equal(repeats, [2, 1, 3], f"{settings}: micro-batches")
        for shape, name, count in zip(SHAPES.split(","), NAMES, (2, 1, 3)):
            alone = Plan(shaped("--shapes", shape), ("mesh.shard=2", f"gradient.microbatches={count}", *settings))
            expect_same_bits(steps_of(plan, 2, "--entries", name), steps_of(alone, 2), f"{settings}, {name}")
    model = shaped()
    expect_refused(model, ["gradient.microbatches={none=2}"], "'none' in 'gradient.microbatches' matches no train entry point")
    expect_refused(model, ['gradient.microbatches={"train*"=2, "*step"=3}'], "value of 'gradient.microbatches' for train entry point 'train_step' is ambiguous")
    expect_refused(model, ["gradient.microbatches={train_step=2}", "gradient.sync=[false, true]"],
                   "a list by micro-batch cannot be combined with a table 'gradient.microbatches'")


@test
def a_schedule_of_shapes_continues():
    plan = Plan(shaped(), ("mesh.shard=2",))
    for order in ("sequential", "shuffled"):
        options = ("--order", order, "--seed", "5", "--shapes-at", "0:8,2:16,4:32")
        full, runs = steps_of(plan, 6, *options), folder("schedule")
        expect_equal([(step["entry"], step["tokens"]) for step in full.steps],
                     [("train_step_4x8", 64)] * 2 + [("train_step", 64)] * 2 + [("train_step_1x32", 64)] * 2, "steps")
        for stop in (1, 2, 3, 5):
            runs = folder("schedule")
            steps_of(plan, stop, *options, "--checkpoint", runs)
            rest = steps_of(plan, 6, *options, "--checkpoint", runs)
            expect_equal(rest.loss, full.loss[stop:], f"{order}, after step {stop}: losses")
            expect(rest.weights == full.weights, f"{order}, after step {stop}: expected the same weights but got others")
        done = try_run("sluice-train", plan.path, "--data", TEXT, "--checkpoint", runs, "--steps", 7, "--order", order, "--seed", 5)
        expect(done.returncode == 4 and "entry points of the steps, expected --shapes-at 0:8 2:16 4:32 but got train_step" in done.stderr, done.stderr)


@test
def buckets_of_lengths_continue():
    lines = SCRATCH / "lines.txt"
    random_lengths = [3 + (7 * i) % 29 for i in range(60)]
    lines.write_text("".join("abcdefgh"[i % 8] * (length - 1) + "\n" for i, length in enumerate(random_lengths)))
    plan = Plan(shaped(), ("mesh.shard=2",))
    options = ("--bucket", "--document-end", "10", "--order", "shuffled", "--seed", "3")
    full = steps_of(plan, 8, *options, data=lines)
    expect(len({step["entry"] for step in full.steps}) > 1, "expected several entry points")
    for stop in (3, 6):
        runs = folder("bucket")
        steps_of(plan, stop, *options, "--checkpoint", runs, data=lines)
        rest = steps_of(plan, 8, *options, "--checkpoint", runs, data=lines)
        expect_equal((rest.loss, [step["entry"] for step in rest.steps]), (full.loss[stop:], [step["entry"] for step in full.steps][stop:]), f"after step {stop}")
        expect(rest.weights == full.weights, f"after step {stop}: expected the same weights but got others")
    # Each document is read once in an epoch, and padding does not count.
    epoch = read_log_of_epoch(plan, options, lines)
    expect_equal({step["entry"] for step in epoch}, set(NAMES), "entry points")
    for step in epoch:
        expect_equal(step["documents"], {"train_step": 4, "train_step_1x32": 2, "train_step_4x8": 8}[step["entry"]], "documents of a step")
    expect(sum(step["documents"] for step in epoch) >= 60 and epoch[-1]["epoch"] >= 1, f"{len(epoch)} steps")


def read_log_of_epoch(plan, options, data):
    log = SCRATCH / "epoch.jsonl"
    log.unlink(missing_ok=True)
    run("sluice-train", plan.path, "--data", data, "--epochs", 1, "--log", log, "--quiet", *options)
    return read_log(log)[0]


@test
def one_process_per_rank_has_the_same_steps():
    plan, processes = Plan(shaped(), ("mesh.shard=2",)), ROOT / "test" / "tools" / "processes.py"
    log = SCRATCH / "processes.jsonl"
    log.unlink(missing_ok=True)
    options = ("--shapes-at", "0:8,1:32", "--steps", 3)
    run("python3", processes, "torchrun", 2, "sluice-train", plan.path, "--data", TEXT, "--quiet", "--log", log, *options)
    expect_equal([step["loss"] for step in read_log(log)[0]], steps_of(plan, 3, *options[:2]).loss, "losses")


@test
def evaluation_in_another_shape():
    shape = ("--shapes", "2x16", "--eval-shape", "1x32")
    plan = Plan(shaped(*shape), ("mesh.shard=2",)).check()
    alone = Plan(shaped("--shapes", "1x32"), ("mesh.shard=2",))
    losses = [steps_of(each, 1, "--eval-data", TEXT, "--entries", "train_step", "--init", initial_weights(alone)).steps[-1].get("eval_loss") for each in (plan,)]
    expect(losses[0] is not None, "the evaluation has no loss")
    evaluated = [re.search(r"eval_loss (\S+)", run("sluice-train", each.path, "--steps", 0, "--eval-data", TEXT, "--init", initial_weights(alone)).stdout)[1] for each in (plan, alone)]
    expect_equal(evaluated[0], evaluated[1], "loss of the same weights in rows of 32 tokens")


@functools.cache
def weights_folder(path):
    saved = folder("weights")
    run("sluice-train", path, "--data", TEXT, "--steps", 1, "--save", saved, "--quiet")
    return saved


def initial_weights(plan):
    return weights_folder(plan.path)


@test
def generation_in_rows_of_several_lengths():
    """The tokens of the longest rows, in fewer positions."""
    wide, rows = Plan(shaped("--shapes", "4x64"), ("mesh.shard=2",)), Plan(shaped("--shapes", "4x64", "--generation"), ("mesh.shard=2",)).check()
    expect_equal([name for name in entry_names(rows) if name.startswith("logits")], ["logits", "logits_1x32", "logits_1x16", "logits_1x8"], "entry points")
    sample = ("--init", initial_weights(wide), "--generate", 70, "--prompt", "You", "--temperature", 0.5, "--seed", 4)
    # Bytes of random tokens are no UTF-8.
    text = lambda plan: subprocess.run(["sluice-train", *map(str, (plan.path, *sample))], capture_output=True, check=True).stdout
    expect_equal(text(rows), text(wide), "text")


@test
def a_job_that_lost_a_rank_continues_with_fewer():
    """Rows that were read are not read again, and none is left out: without updates the loss of a step is the mean of the losses of its rows."""
    config = json.dumps(dict(CONFIG, attn_pdrop=0, embd_pdrop=0))
    plans, runs, log, script = folder("plans"), folder("lost"), SCRATCH / "lost.jsonl", ROOT / "test" / "tools" / "processes.py"
    run("sluice-compile", shaped("--shapes", "1x16", config=config), "--set", "optimizer.lr=0", "--worlds", "4,3,1", "-o", plans)
    losses = train_once(plans / "world-1.plan", TEXT, 40, ()).loss
    options = ("--data", TEXT, "--checkpoint", runs, "--every", 1, "--quiet", "--log", log)
    log.unlink(missing_ok=True)
    killed = try_run("python3", script, "torchrun", 4, "sluice-train-faults", plans, "--steps", 12, *options, env=dict(os.environ, SLUICE_FAULT="kill:2:42:4"))
    done = max(int(name[5:]) for name in os.listdir(runs) if re.fullmatch(r"step-\d+", name))
    if not expect(killed.returncode != 0 and 1 <= done < 12, f"exit code {killed.returncode} after step {done}: {killed.stderr}"):
        return
    log.unlink()
    rest = run("python3", script, "torchrun", 3, "sluice-train", plans, "--steps", done + 3, *options)
    expect(f"with 4 rows in a step, and this plan has 3: the data continue at row {4 * done}" in rest.stderr, rest.stderr)
    steps = read_log(log)[0]
    means = [sum(losses[first:first + 3]) / 3 for first in range(4 * done, 4 * done + 9, 3)]
    expect_equal([step["step"] for step in steps], [done + 1, done + 2, done + 3], "steps")
    expect_near([step["loss"] for step in steps], means, 1e-5, "losses")


@test
def dropout_of_a_layer_has_one_key():
    """Shapes have the same keys, so each is the model of it alone."""
    keys = [re.findall(r"key = (\d+)", part) for part in shaped().read_text().split("func.func @")[1:4]]
    expect(keys[0] and keys[0] == keys[1] == keys[2], f"keys {keys}")


main()
