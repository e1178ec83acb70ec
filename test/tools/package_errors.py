"""The Python package raises sluice.Error with the message and remedy of the tools, or BufferError, for every kind of wrong call, and stays usable."""

# REQUIRES: compiler

import ctypes
import gc
import threading
import time
import weakref

from package import *


@test
def inputs_that_do_not_fit():
    inputs = rows(4)
    tokens, targets = inputs["tokens"], inputs["targets"]
    flat = tensor([0] * 64, (64,))
    floats = tensor([0.0] * 64, (4, SEQUENCE), "f")
    with sluice.Trainer(small_plan()) as trainer:
        expect_error(lambda: trainer.step(tokens=tokens), 1, "targets")
        expect_error(lambda: trainer.step(tokens=tokens, targets=targets, extra=tokens), 1, "'extra'")
        expect_error(lambda: trainer.step(tokens=flat, targets=targets), 1, "'tokens'", "shape")
        expect_error(lambda: trainer.step(tokens=tokens[:3], targets=targets), 1, "'tokens'")
        expect_error(lambda: trainer.step(tokens=floats, targets=targets), 1, "'tokens'", "f32")
        too_large = tensor([VOCABULARY] * 64, (4, SEQUENCE))
        expect_error(lambda: trainer.step(tokens=too_large, targets=targets), 1, "'tokens'", str(VOCABULARY))
        wide = tensor([2**40] * 64, (4, SEQUENCE), "q")
        expect_error(lambda: trainer.step(tokens=wide, targets=targets), 1, "'tokens'")
        expect_error(lambda: trainer.run("no_such_entry", inputs), 1, "no_such_entry")
        expect(0 < trainer.step(inputs) < 10, "no step after the errors")


class Foreign:
    """A tensor in the memory of a device."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **_):
        raise AssertionError("asked for memory of a device")


class Refusing(Foreign):
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")


class Consumed(Refusing):
    def __dlpack__(self, **_):
        return object()


@test
def objects_that_are_no_tensors():
    targets = rows(4)["targets"]
    with sluice.Trainer(small_plan()) as trainer:
        def step_with(value):
            return lambda: trainer.step(tokens=value, targets=targets)
        expect_error(step_with([[1, 2], [3, 4]]), 1, "'tokens': 'list' is no tensor", "note: pass numpy.asarray")
        expect_error(step_with(None), 1, "'NoneType' is no tensor")
        expect_error(step_with("text"), 1, "'str' is no tensor")
        expect_error(step_with(Foreign()), 1, "memory of a device", "note: pass tensor.cpu()")
        expect_error(step_with(Refusing()), 1, "require gradient", "note: pass tensor.detach()")
        expect_error(step_with(Consumed()), 1, "returned no tensor that can still be read")
        expect_error(step_with((ctypes.c_int32.__ctype_be__ * 4)()), 1, "elements of the format '>i'", "little-endian")
        expect_error(step_with(memoryview(bytearray(16)).cast("P")), 1, "elements of the format")
        unaligned = memoryview(bytearray(4 * 24)).cast("B", (4, 24))
        expect_error(step_with(unaligned), 1, "'tokens'")


@test
def names_ranks_and_options():
    plan = small_plan()
    with sluice.Trainer(plan) as trainer:
        expect_error(lambda: trainer.parameter("wte.weigth"), 1, "wte.weigth")
        expect_error(lambda: trainer.state("wte.weigth"), 1, "wte.weigth")
        expect_error(lambda: trainer.shard("wte.weight", rank=2), 1, "rank")
        expect_error(lambda: trainer.shard("wte.weight", rank=-1), 1, "rank")
        expect_error(lambda: trainer.shard("wte.weight", rank=2**32), 1, "rank 4294967296, expected one of this process, 0, 1")
        for rate in (float("nan"), float("inf"), -float("inf")):
            expect_error(lambda: trainer.step(rows(4), lr=rate), 1, f"lr, expected a finite number but got {rate}", "note: without lr=")
        expect_equal(trainer.step_count, 0, "steps")
        expect_error(lambda: trainer.set("wte.weight", tensor([0.0] * 4, (2, 2), "f")), 1, "'wte.weight'")
        expect_error(lambda: trainer.set("wte.weight", tensor([0] * VOCABULARY * 16, (VOCABULARY, 16))), 1, "'wte.weight'")
        expect_error(lambda: trainer.checkpoint(), 2, "checkpoint")
        expect_error(lambda: trainer.generate([], 3), 1, "prompt")
        expect_error(lambda: trainer.generate("text", 3), 1, "prompt, expected integers", "note: a tokenizer")
        expect_error(lambda: trainer.generate([VOCABULARY], 3), 1, str(VOCABULARY))
        expect_error(lambda: trainer.generate([1], -1), 1, "count, expected at least 0")
        expect_error(lambda: trainer.load(SCRATCH / "none"), 1, "none")
        expect_error(lambda: trainer.save("zero\0byte"), 1, "a zero byte in a text or path")
    expect_error(lambda: sluice.Trainer(plan, entries=["no_such_entry"]), 1, "no_such_entry")
    expect_error(lambda: sluice.Trainer(plan, init=SCRATCH / "none.safetensors"), 1, "none.safetensors")
    expect_error(lambda: sluice.Trainer(plan, launch="grpc"), 2, "launch")
    expect_error(lambda: sluice.Trainer(plan, seed=float("nan")), 1, "settings that are not JSON")


@test
def closed_trainer():
    trainer = sluice.Trainer(small_plan())
    trainer.close()
    trainer.close()
    for call in (lambda: trainer.step(rows(4)), lambda: trainer.parameter("wte.weight"), lambda: trainer.shard("wte.weight"), lambda: trainer.step_count,
                 lambda: trainer.generate([1], 1), lambda: trainer.save(SCRATCH / "closed")):
        expect_error(call, 1, "the trainer is closed", "note: views remain valid")


@test
def two_threads():
    """One runs steps until the other was refused."""
    inputs, ended, problems = rows(4), threading.Event(), []
    with sluice.Trainer(small_plan()) as trainer:
        def run_steps():
            while not ended.is_set():
                try:
                    trainer.step(inputs)
                except sluice.Error as error:
                    problems.append(error)

        thread = threading.Thread(target=run_steps)
        thread.start()
        deadline = time.monotonic() + 60
        while not problems and time.monotonic() < deadline:
            try:
                trainer.parameter("wte.weight")
            except sluice.Error as error:
                problems.append(error)
        ended.set()
        thread.join()
        expect(problems and problems[0].code == 1 and "thread" in str(problems[0]), f"refused: {problems}")
        expect(0 < trainer.step(inputs) < 10, "no step after the error")


class Acting((ctypes.c_int32 * SEQUENCE) * 4):
    """Rows that call a function when the trainer reads them."""

    @classmethod
    def of(cls, rows, function):
        acting = cls.from_buffer_copy(rows.tobytes())
        acting.function = function
        return acting

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        self.function()
        raise BufferError("the rows are a buffer")


@test
def closed_within_a_call():
    """By code of an input: the ranks end after the call, and not under it."""
    inputs, refused = rows(4), []
    with sluice.Trainer(small_plan()) as trainer:
        wanted = trainer.step(inputs)
    trainer = sluice.Trainer(small_plan())

    def act():
        trainer.close()
        try:
            trainer.parameter("wte.weight")
        except sluice.Error as error:
            refused.append(error.message)
    expect_equal(trainer.step(tokens=Acting.of(inputs["tokens"], act), targets=inputs["targets"]), wanted, "loss")
    expect_equal(refused, ["the trainer is closed"], "refused within the call")
    expect(trainer._handle is None, "the ranks remain after the call")
    expect_error(lambda: trainer.step(inputs), 1, "the trainer is closed")


@test
def closed_by_another_thread():
    """During a call of one thread the others are refused, also between the reads of its inputs, where no function of the library runs."""
    inputs, found = rows(4), []
    with sluice.Trainer(small_plan()) as trainer:
        def act():
            for call in (trainer.close, lambda: trainer.step(inputs), lambda: trainer.step_count):
                try:
                    call()
                except sluice.Error as error:
                    found.append((error.code, error.message))

        def run_act():
            thread = threading.Thread(target=act)
            thread.start()
            thread.join()
        trainer.step(tokens=Acting.of(inputs["tokens"], run_act), targets=inputs["targets"])
        expect_equal(found, [(1, "another thread is in a function of this trainer")] * 3, "refused")
        expect(0 < trainer.step(inputs) < 10, "no step after the refused calls")


@test
def a_trainer_that_nothing_refers_to_is_closed():
    """At once: neither its last result nor a view keeps it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        trainer = sluice.Trainer(small_plan())
        trainer.step(rows(4))
        view, alive = trainer.shard("wte.weight"), weakref.ref(trainer)
        expect_equal((trainer.last.step, trainer.last.loss), (1, float(trainer.last)), "last result")
        del trainer
        expect(alive() is None, "the trainer is kept")
        expect_equal(len(view.tolist()), VOCABULARY // 2, "rows of the view")
    finally:
        if was_enabled:
            gc.enable()


@test
def a_forked_process_has_no_trainer():
    inputs = rows(4)
    with sluice.Trainer(small_plan()) as trainer:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                try:
                    trainer.step(inputs)
                except sluice.Error as error:
                    status = 0 if "before this process was forked" in error.message else 2
                trainer.close()
            finally:
                os._exit(status)
        expect_equal(os.waitpid(child, 0)[1], 0, "status of the child")
        expect(0 < trainer.step(inputs) < 10, "no step in the parent")


@test
def a_failed_checkpoint_is_an_error():
    """After the step where it is the third, and at the end of the block where it is the last."""
    inputs, folder = rows(4), SCRATCH / "lost"

    def lose(trainer):
        shutil.rmtree(folder)
        folder.write_text("no folder")
        return trainer
    trainer = lose(sluice.Trainer(small_plan(), checkpoint=folder, every=1))
    trainer.step(inputs)
    expect_error(trainer.close, 1, "lost", "note: the checkpoint of step 1 could not be written")
    expect_error(lambda: trainer.step(inputs), 1, "the trainer is closed")
    trainer.close()
    folder.unlink()
    trainer = lose(sluice.Trainer(small_plan(), checkpoint=folder, every=1))
    for _ in range(3):
        trainer.step(inputs)
    expect_error(lambda: trainer.step(inputs), 1, "lost", "note: the checkpoint of step 3 could not be written, and 2 before it")
    expect_equal((trainer.last.step, trainer.step_count), (4, 4), "the step counts")
    trainer.step(inputs)
    expect_error(trainer.close, 1, "lost", "the checkpoint of step 5")
    expect_equal(sum("could not be written" in note for note in trainer.description["notes"]), 2, f"notes {trainer.description['notes']}")


@test
def trainers_are_closed_at_the_end_of_a_script():
    folder, path = SCRATCH / "end", SCRATCH / "end.plan"
    small_plan().save(path)
    script = f"""
import shutil, sys
sys.path.insert(0, {os.fspath(ROOT / 'test' / 'python')!r})
sys.argv[1:] = [{os.fspath(SCRATCH)!r}]
from package import *
trainer = sluice.Trainer({os.fspath(path)!r}, checkpoint={os.fspath(folder)!r}, every=1)
cycle = [trainer]
cycle.append(cycle)
shutil.rmtree({os.fspath(folder)!r})
trainer.step(rows(4))
"""
    done = try_run(sys.executable, "-c", script)
    expect("error: " in done.stderr and "note: the checkpoint of step 1 could not be written" in done.stderr, f"messages: {done.stderr}")


@test
def loss_that_is_not_finite():
    inputs = rows(4)
    with sluice.Trainer(small_plan()) as trainer:
        trainer.step(inputs)
        kept = trainer.parameter("h.0.attn.c_attn.weight").tolist()
        weight = trainer.parameter("wpe.weight")
        trainer.set("wpe.weight", tensor([float("nan")] * weight.size, weight.shape, "f"))
        expect_error(lambda: trainer.step(inputs), 5, "finite")
        expect(trainer.parameter("h.0.attn.c_attn.weight").tolist() == kept, "other weights after the refused step")
        trainer.set("wpe.weight", weight)
        expect(0 < trainer.step(inputs) < 10, "no step after the error")


@test
def damaged_files():
    plan = small_plan().bytes
    for name, data in (("empty", b""), ("cut", plan[:len(plan) // 2]), ("text", b"no plan"), ("changed", plan[:200] + bytes([plan[200] ^ 255]) + plan[201:])):
        path = SCRATCH / f"{name}.plan"
        path.write_bytes(data)
        expect_error(lambda: sluice.Plan(path), 4)
        expect_error(lambda: sluice.Plan.from_bytes(data, name), 4)
    expect_error(lambda: sluice.Plan(SCRATCH / "none.plan"), 1, "none.plan")
    expect_error(lambda: sluice.Plan.load(SCRATCH), 1)
    archive = (REFERENCE / "export" / "nanogpt" / "model.pt2").read_bytes()
    for name, data in (("cut", archive[:1000]), ("empty", b""), ("text", b"PK no zip"), ("changed", archive.replace(b'"schema_version"', b'"schema_versiom"'))):
        path = SCRATCH / f"{name}.pt2"
        path.write_bytes(data)
        expect_error(lambda: sluice.load(path), 1, f"{name}.pt2")
    (SCRATCH / "module.mlir").write_text("module {")
    expect_error(lambda: sluice.compile(sluice.load(SCRATCH / "module.mlir")), 1, "module.mlir")
    (SCRATCH / "config.json").write_text("[1, 2]")
    expect_error(lambda: sluice.load(SCRATCH / "config.json", batch=1, sequence=8), 1, "config.json")


@test
def models_and_recipes():
    expect_error(lambda: sluice.load(SCRATCH / "none.pt2"), 1, "none.pt2")
    expect_error(lambda: sluice.load(SCRATCH / "model.unknown"), 2, "model.unknown")
    expect_error(lambda: sluice.load("no_such_model", kind="zoo"), 2, "no_such_model")
    expect_error(lambda: sluice.load("mlp", kind="library"), 2, "library")
    expect_error(lambda: sluice.load(CONFIG, batch=2, sequence=16, sequense=3), 2, "sequense")
    model = small_model()
    expect_error(lambda: sluice.compile(model, {"mesh": {"shards": 2}}), 1, "mesh.shards")
    expect_error(lambda: sluice.compile(model, {"optimizer.lr": "high"}), 1, "optimizer.lr")
    expect_error(lambda: sluice.compile(model, {"optimizer.lr": {1, 2}}), 1, "settings that are not JSON")
    expect_error(lambda: sluice.compile(model, "mesh.shard = = 2"), 1)
    expect_error(lambda: sluice.compile(model, SCRATCH / "none.toml"), 1, "cannot read", "none.toml")
    expect_error(lambda: sluice.compile(model, {"memory.budget": "10KiB"}), 3, "budget")
    expect_error(lambda: sluice.compile(model, {"memory.budget": "1GiB"}, machine="no-such-machine"), 1, "no-such-machine")
    sluice.compile(model, {"mesh.shard": 2}).save(SCRATCH / "saved.plan")
    expect_error(lambda: sluice.Plan(SCRATCH / "saved.plan").what_if({"mesh.shard": [1, 2]}), 1, "a plan from a file has no model",
                 "note: use the plan that sluice.compile returns")
    expect_error(lambda: small_plan().what_if(fit="rows"), 2, "fit")
    expect_error(lambda: small_plan().simulate(), 2, "a prediction needs a machine file", "note: pass its path as machine=")


@test
def text_and_members_of_an_error():
    error = sluice.Error(3, "first", ["second", "third"])
    expect_equal((error.code, error.message, error.notes, str(error)), (3, "first", ("second", "third"), "first\nnote: second\nnote: third"), "members")
    import pickle
    expect_equal(str(pickle.loads(pickle.dumps(error))), str(error), "of another process")


main()
