"""The trainer of the Python package: numbers of sluice-train, inputs of several kinds, views, checkpoints, evaluation and generation."""

# REQUIRES: compiler

import signal
import threading
import time

from package import *

STEPS = 4


def run_steps(trainer, inputs, count, per_step, first=0, **options):
    return [trainer.step(part(inputs, i * per_step, (i + 1) * per_step), **options) for i in range(first, first + count)]


def values(trainer, names=None):
    return {name: trainer.parameter(name).tolist() for name in names or trainer.parameters}


def single(numbers):
    """As bits in f32, whose digits the log has."""
    return [struct.pack("<f", number) for number in numbers]


@test
def losses_and_weights_of_sluice_train():
    """On one rank and on several, with micro-batches."""
    for ranks, microbatches in ((1, 1), (2, 1), (2, 3)):
        plan, per_step = small_plan(ranks, microbatches), 2 * ranks * microbatches
        inputs = rows(per_step * STEPS)
        path, data = SCRATCH / f"{ranks}-{microbatches}.plan", write_rows(SCRATCH / f"{ranks}-{microbatches}.safetensors", inputs)
        plan.save(path)
        run("sluice-train", path, "--data", data, "--order", "sequential", "--steps", STEPS, "--log", SCRATCH / "x.jsonl", "--save", SCRATCH / "tool", "--quiet")
        lines, _ = read_log(SCRATCH / "x.jsonl")
        with sluice.Trainer(plan) as trainer:
            losses, norms, rates = [], [], []
            for i in range(STEPS):
                losses.append(trainer.step(part(inputs, i * per_step, (i + 1) * per_step)))
                norms.append(trainer.last.grad_norm)
                rates.append(trainer.last.lr)
            trainer.save(SCRATCH / "package")
            expect_equal(trainer.step_count, STEPS, "steps")
        what = f"{ranks} ranks, {microbatches} micro-batches"
        for name, found in (("loss", losses), ("grad_norm", norms), ("lr", rates)):
            expect_equal(single(found), single(line[name] for line in lines), f"{what}: {name}")
        a, b = ((SCRATCH / folder / "model.safetensors").read_bytes() for folder in ("tool", "package"))
        expect(tensors(a) == tensors(b), f"{what}: other weights")


@test
def entry_points_of_several_shapes():
    """A step in each shape, with the numbers of sluice-train."""
    model = sluice.load(CONFIG, shapes=["2x16", "4x8"])
    plan = sluice.compile(model, {"mesh": {"shard": 2}, "optimizer.lr": 0.01})
    path, data = SCRATCH / "shapes.plan", SCRATCH / "tokens.bin"
    plan.save(path)
    numbers = [int(n) % VOCABULARY for n in rows(40)["tokens"].cast("B").cast("i")]
    data.write_bytes(bytes(numbers))
    run("sluice-train", path, "--data", data, "--data-format", "bytes", "--shapes-at", "0:8,2:16", "--steps", 4, "--log", SCRATCH / "x.jsonl", "--quiet")
    lines, _ = read_log(SCRATCH / "x.jsonl")
    with sluice.Trainer(plan) as trainer:
        losses, at = [], 0
        for count, length, entry in ((8, 8, "train_step_4x8"), (8, 8, "train_step_4x8"), (4, 16, "train_step"), (4, 16, "train_step")):
            size = count * length
            losses.append(trainer.step({name: tensor(numbers[at + shift:at + shift + size], (count, length)) for name, shift in (("tokens", 0), ("targets", 1))}, entry=entry))
            at += size
        expect_equal(single(losses), single(line["loss"] for line in lines), "losses")
        expect_error(lambda: trainer.step({}, entry="train_step_9x9"), 1, "train_step_9x9")
    expect_error(lambda: sluice.load(CONFIG, shapes=["2x16"], batch=2), 2, "import options: 'batch' cannot be combined with 'shapes', which state it")
    expect_error(lambda: sluice.load(CONFIG, shapes=["2x16", "2x16"]), 2, "--shapes has the shape 2x16 twice")


@test
def rate_of_the_call_and_of_the_schedule():
    plan, inputs = small_plan(), rows(4)
    with sluice.Trainer(plan) as trainer:
        trainer.step(inputs)
        expect_near([trainer.last.lr], [0.01], 1e-6, "rate of the plan")
        before = values(trainer, ["wte.weight"])
        trainer.step(inputs, lr=0.0)
        expect_equal(trainer.last.lr, 0.0, "rate of the call")
        expect(values(trainer, ["wte.weight"]) == before, "a step without a rate changes weights")
        trainer.step(inputs, lr=0.5)
        expect(values(trainer, ["wte.weight"]) != before, "a step with a rate changes no weight")


class Exporter:
    """An object with only __dlpack__: a copy that the library makes of it."""

    def __init__(self, inner, versioned=True):
        self.inner, self.versioned = inner, versioned

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("unexpected keyword")
        return self.inner.__dlpack__(**options)


@test
def inputs_of_every_kind_give_the_same_loss():
    """Integers of 32 and 64 bits, rows apart in memory, keywords and mappings, both forms of capsules."""
    inputs = rows(4)
    wide = {name: tensor([n for row in view.tolist() for n in row], view.shape, "q") for name, view in inputs.items()}
    doubled = rows(8)
    every_second = {}
    for name, view in inputs.items():
        spread = tensor([0] * 8 * SEQUENCE, (8, SEQUENCE))
        for i, row in enumerate(view.tolist()):
            for j, n in enumerate(row):
                spread[2 * i, j] = n
        every_second[name] = spread[::2]
    with sluice.Trainer(small_plan()) as trainer:
        losses = [trainer.step(each, lr=0.0) for each in (inputs, wide, every_second)]
        losses.append(trainer.step(**inputs, lr=0.0))
        losses.append(trainer.step({"tokens": inputs["tokens"]}, targets=inputs["targets"], lr=0.0))
        expect_equal(losses, losses[:1] * len(losses), "losses")
        expect(trainer.step(part(doubled, 4, 8), lr=0.0) != losses[0], "other rows give the same loss")
        weight = trainer.parameter("wpe.weight")
        changed = tensor([0.5] * weight.size, weight.shape, "f")
        trainer.set("wpe.weight", changed)
        copy = trainer.parameter("wpe.weight")
        for versioned in (True, False):
            trainer.set("wpe.weight", weight)
            trainer.set("wpe.weight", Exporter(copy, versioned))
            expect_equal(trainer.parameter("wpe.weight").tolist(), changed.tolist(), f"versioned {versioned}")
        trainer.set("wpe.weight", weight)
        expect_equal(trainer.parameter("wpe.weight").tolist(), weight.tolist(), "written and read")


@test
def views_show_each_step_and_outlive_the_trainer():
    inputs = rows(4)
    with sluice.Trainer(small_plan()) as trainer:
        name = "wte.weight"
        views = [trainer.shard(name, rank) for rank in (0, 1)]
        memories = [view.memoryview() for view in views]
        for _ in range(3):
            trainer.step(inputs)
            parameter = trainer.parameter(name).tolist()
            expect(memories[0].tolist() + memories[1].tolist() == parameter, "rows of both ranks")
            expect([view.tolist() for view in views] == [memory.tolist() for memory in memories], "lists of the views")
        views[1].memoryview()[0, 0] = 7.0
        expect_equal(trainer.parameter(name).tolist()[views[0].shape[0]][0], 7.0, "a number written through a view")
        parameter = trainer.parameter(name).tolist()
    trainer.close()
    del trainer
    expect(memories[0].tolist() + memories[1].tolist() == parameter, "other values after the end of the trainer")
    del views
    expect_equal(memories[1][0, 0], 7.0, "after the release of the tensors")


class DuringRun:
    """The library, with a function that a second thread calls while sluice_session_run is in native code."""

    def __init__(self, library, function):
        self.library, self.function = library, function
        #: Calls of the function that ended before the run did.
        self.within = 0

    def __getattr__(self, name):
        entry = getattr(self.library, name)
        if name != "sluice_session_run":
            return entry

        def run_with_thread(*arguments):
            begun, ended = threading.Event(), threading.Event()

            def act():
                begun.wait()
                time.sleep(0.02)  # Until the other thread is in native code.
                self.function()
                self.within += not ended.is_set()
            thread = threading.Thread(target=act)
            thread.start()
            begun.set()
            try:
                return entry(*arguments)
            finally:
                ended.set()
        return run_with_thread


MICROBATCHES = 400


def long_run():
    """A plan whose step takes much longer than DuringRun waits, and its inputs."""
    return small_plan(2, MICROBATCHES), rows(4 * MICROBATCHES)


@test
def views_during_a_step_are_refused():
    (plan, inputs), refused = long_run(), []
    with sluice.Trainer(plan) as trainer:
        view = trainer.shard("wte.weight")

        def look():
            for function in (lambda: trainer.shard("wte.weight"), view.memoryview, view.__dlpack__, lambda: view.__array_interface__, view.tolist):
                try:
                    function()
                except BufferError as error:
                    refused.append(str(error))
        during = trainer._library = DuringRun(trainer._library, look)
        trainer.step(inputs)
        expect_equal(during.within, 1, "looks within the step")
        expect_equal(refused, ["a step is running: its memory can be viewed before and after it"] * 5, "refused")
        look()
        expect_equal(len(refused), 5, "refused after the step")


@test
def checkpoints_continue_the_run():
    plan, inputs = small_plan(), rows(4 * 6)
    with sluice.Trainer(plan) as trainer:
        wanted = run_steps(trainer, inputs, 6, 4)
        final = values(trainer)
    folder = SCRATCH / "ck"
    with sluice.Trainer(plan, checkpoint=folder, every=2) as trainer:
        found = run_steps(trainer, inputs, 3, 4)
        trainer.checkpoint()
    with sluice.Trainer(plan, checkpoint=folder, every=2, resume="auto") as trainer:
        expect_equal(trainer.step_count, 3, "steps after the resume")
        found += run_steps(trainer, inputs, 3, 4, first=3)
        expect(values(trainer) == final, "other weights")
    expect_equal(found, wanted, "losses")
    expect_error(lambda: sluice.Trainer(plan, checkpoint=folder, resume="none"), 4, "has a checkpoint of step 6")
    expect_error(lambda: sluice.Trainer(plan, resume=SCRATCH / "none"), 1, "none")


@test
def interrupt_loses_nothing():
    """SIGINT within a step: the step counts, and the end of the block writes a checkpoint."""
    # A shell starts commands in the background with this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    (plan, inputs), folder = long_run(), SCRATCH / "interrupted"
    with sluice.Trainer(plan) as trainer:
        wanted = [trainer.step(inputs) for _ in range(3)]
    was_interrupted = False
    try:
        with sluice.Trainer(plan, checkpoint=folder) as trainer:
            trainer.step(inputs)
            during = trainer._library = DuringRun(trainer._library, lambda: os.kill(os.getpid(), signal.SIGINT))
            trainer.step(inputs)
    except KeyboardInterrupt:
        was_interrupted = True
    expect(was_interrupted, "no KeyboardInterrupt")
    expect_equal(during.within, 1, "signals within the step")
    with sluice.Trainer(plan, checkpoint=folder, resume="auto") as trainer:
        expect_equal(trainer.step_count, 2, "steps after the resume")
        expect_equal(trainer.step(inputs), wanted[2], "the third loss")


MASKED = """
module attributes {model.batch = 2 : i64, model.name = "masked"} {
  model.parameter @w : tensor<8xf32> uniform(0.5, 1.0)
  func.func @train_step(%x: tensor<2x8xf32> {model.input = "x"}, %m: tensor<2x8xui8> {model.input = "mask"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<8xf32>
    %zero = model.constant 0.0 : tensor<f32>
    %seen = model.select %m, %x, %zero : (tensor<2x8xui8>, tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    %y = model.multiply %seen, %w : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    %loss = model.reduce_mean %y {dims = array<i64: 0, 1>} : (tensor<2x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
"""


@test
def inputs_that_are_converted():
    """Doubles become floats, and booleans bytes."""
    path = SCRATCH / "masked.mlir"
    path.write_text(MASKED)
    numbers, mask = [i / 7 for i in range(16)], [i % 3 == 0 for i in range(16)]
    as_bytes, as_booleans = (memoryview(bytearray(mask)).cast("B").cast(letter, (2, 8)) for letter in "B?")
    with sluice.Trainer(sluice.compile(sluice.load(path))) as trainer:
        def loss_of(letter, given):
            return trainer.step(x=tensor(numbers, (2, 8), letter), mask=given, lr=0.0)
        losses = [loss_of("f", as_bytes), loss_of("d", as_bytes), loss_of("f", as_booleans)]
        expect(losses[0] > 0 and losses == losses[:1] * 3, f"losses {losses}")
        expect(loss_of("f", memoryview(bytes(16)).cast("B", (2, 8))) == 0.0, "a mask of zeros")
        expect_error(lambda: trainer.step(x=tensor(range(16), (2, 8)), mask=as_bytes), 1, "'x'", "f32")


@test
def outputs_of_bfloat16():
    """Have the upper halves of floats."""
    inputs, logits = {"tokens": rows(4)["tokens"]}, []
    for recipe in ({}, {"precision.output": {"root": "bf16"}}):
        with sluice.Trainer(sluice.compile(small_model(), {"mesh.shard": 2, **recipe})) as trainer:
            logits.append(trainer.run("logits", inputs)["logits"])
    full, half = logits
    expect_equal((full.dtype, half.dtype, half.shape), ("f32", "bf16", full.shape), "types")
    flat = [[number for row in each.tolist() for token in row for number in token] for each in logits]
    expect(any(flat[1]), "all numbers are 0")
    expect_near(flat[1], flat[0], 1e-2, "numbers of bf16")
    expect_equal(half.memoryview().format, "H", "format")


@test
def save_and_load():
    plan, inputs = small_plan(), rows(4)
    with sluice.Trainer(plan) as trainer:
        trainer.step(inputs)
        trainer.save(SCRATCH / "weights")
        trainer.save(SCRATCH / "half", dtype="bf16")
        wanted = values(trainer)
        trainer.step(inputs)
        expect(values(trainer) != wanted, "the second step changes no weight")
        trainer.load(SCRATCH / "weights")
        expect(values(trainer) == wanted, "loaded: other weights")
    expect((SCRATCH / "half" / "model.safetensors").stat().st_size < (SCRATCH / "weights" / "model.safetensors").stat().st_size, "bf16 takes as much as f32")
    with sluice.Trainer(plan, init=SCRATCH / "weights") as trainer:
        expect(values(trainer) == wanted, "init: other weights")


@test
def evaluation_outputs_and_generation():
    inputs = rows(4)
    with sluice.Trainer(small_plan()) as trainer:
        names = [entry["name"] for entry in trainer.description["entries"]]
        expect("eval_step" in names and "logits" in names, f"entry points {names}")
        first = trainer.run("eval_step", inputs)
        expect_near([first.loss], [trainer.step(inputs, lr=0.0)], 1e-6, "loss outside training")
        expect_equal(trainer.run("eval_step", inputs).step, 1, "evaluation counts as a step")
        text = trainer.generate([1, 2, 3], 6, temperature=0)
        expect(len(text) == 6 and all(0 <= n < VOCABULARY for n in text), f"generated {text}")
        expect_equal(trainer.generate([1, 2, 3], 6, temperature=0), text, "the same text")
        samples = {tuple(trainer.generate([1, 2, 3], 6, temperature=2.0, seed=seed)) for seed in range(4)}
        expect(len(samples) > 1, "all seeds give one text")
        stopped = trainer.generate([1, 2, 3], 6, temperature=0, stop=[text[2]])
        expect(len(stopped) < 6 and stopped == text[:len(stopped)], f"stop at {text[2]}: {stopped} of {text}")


@test
def outputs_are_those_of_the_last_run():
    inputs = rows(4)
    with sluice.Trainer(small_plan()) as trainer:
        entry = next(entry for entry in trainer.description["entries"] if entry["name"] == "logits")
        names, tokens = [port["name"] for port in entry["outputs"]], {"tokens": inputs["tokens"]}
        given = {port["name"]: tokens.get(port["name"]) for port in entry["inputs"]}
        result = trainer.run("logits", {name: value for name, value in given.items() if value is not None})
        logits = result[names[0]]
        expect_equal(logits.shape[-1], VOCABULARY, "numbers of a token")
        trainer.run("logits", {name: value for name, value in given.items() if value is not None})
        expect_error(lambda: result[names[0]], 1, "has run again", "before the next run")


@test
def states_of_the_optimizer():
    with sluice.Trainer(small_plan()) as trainer:
        name = next(name for name in trainer.states if "wte.weight" in name)
        expect_equal(max(map(max, trainer.state(name).tolist())), 0.0, "before the first step")
        trainer.step(rows(4))
        expect(max(map(max, trainer.state(name).tolist())) > 0, f"'{name}' is 0 after a step")


main()
