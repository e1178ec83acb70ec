"""The Python package raises sluice.Error with the message and remedy of the tools, or BufferError, for every kind of wrong call, and stays usable."""

# REQUIRES: compiler

import threading
import time

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


class Format:
    """A buffer whose format is changed."""

    def __init__(self, text):
        import ctypes
        self.kind = {">i": ctypes.c_int32.__ctype_be__}[text]

    def array(self):
        return (self.kind * 4)()


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
        expect_error(step_with(Format(">i").array()), 1, "elements of the format '>i'", "little-endian")
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
        expect_error(lambda: sluice.Plan(path), 4 if name != "none" else 1)
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


@test
def text_and_members_of_an_error():
    error = sluice.Error(3, "first", ["second", "third"])
    expect_equal((error.code, error.message, error.notes, str(error)), (3, "first", ("second", "third"), "first\nnote: second\nnote: third"), "members")
    import pickle
    expect_equal(str(pickle.loads(pickle.dumps(error))), str(error), "of another process")


main()
