"""Every pass of every phase is there for something: left out, the plan shows it, or there is no plan.

usage: passes.py CONFIG FOLDER

Runs the pipeline once whole and once without each pass. A pass that a plan needs must be refused when missing; an
optional one must change what the table below says of it, which is read off the plan. Passes that verify change nothing
of a sound module: for these the table has a module that only they refuse, or states that the checker proves them.
"""

import re
import sys
from pathlib import Path

from plans import Plan, import_model, run

BASE = ("mesh.shard=4", "recompute.policy=block", "gradient.microbatches=2", "gradient.clip_norm=1.0")
NO_DECAY = BASE + ('optimizer.no_decay=["*.bias"]',)
TENSOR = ("mesh.tensor=2", "sharding.tensor=megatron")
TENSOR_NORM = TENSOR + ("mesh.shard=2", "gradient.clip_norm=1.0")
IN_HOST = BASE + ('memory.offload=["parameters", "optimizer"]',)
ONE_RANK = ("mesh.shard=1",)
NARROW = ("mesh.shard=2", "precision.compute=bf16")
FROZEN = ("mesh.shard=2", 'parameters.frozen=["wpe.weight"]')
TOKENS = ("mesh.shard=2", "loss.mean=tokens")
# On another model: one with running statistics.
STATISTICS = ("zoo conv", "mesh.shard=2", "statistics.sync=last")
EXPERT = ("zoo moe", "mesh.expert=2", 'sharding.expert=["*.experts.*"]')


class Workshop:
    def __init__(self, config, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model = import_model(config, self.folder / "model.mlir", batch=4, sequence=64)
        self.wholes = {}
        empty = self.folder / "empty.mlir"
        empty.write_text("module {}\n")
        listing = run("sluice-compile", "--help").stdout
        phases = re.findall(r"^  (\w+): ", listing[listing.index("Phases:"):], re.M)
        self.phases = {}
        for phase in phases[:-1]:
            text = run("sluice-opt", empty, f"-sluice-{phase}", "--dump-pass-pipeline", "--verify-each=0").stderr
            # A pass with its options, without those that have no value.
            self.phases[phase] = [f"{name}{{{axis}}}" if axis else name
                                  for name, axis in re.findall(r"^ +([a-z-]+)(?:\{(axis=\w+))?", text, re.M)]

    def model_of(self, settings):
        if not settings[0].startswith("zoo "):
            return self.model
        path = self.folder / f"{settings[0].replace(' ', '-')}.mlir"
        if not path.exists():
            done = run("sluice-import", *settings[0].split(), "-o", path)
            assert done.returncode == 0, done.stderr
        return path

    def whole(self, settings):
        """The plan, and the folder of the dumped phases."""
        if settings not in self.wholes:
            name = f"whole-{len(self.wholes)}"
            arguments = [part for setting in settings if not setting.startswith("zoo ") for part in ("--set", setting)]
            plan, dumps = self.folder / f"{name}.plan", self.folder / name
            done = run("sluice-compile", self.model_of(settings), *arguments, f"--dump-phases={dumps}", "-o", plan)
            assert done.returncode == 0, done.stderr
            self.wholes[settings] = (Plan(plan), dumps)
        return self.wholes[settings]

    def begun(self, settings):
        """The input of the first phase: the model with its recipe."""
        first = sorted(self.whole(settings)[1].iterdir())[0].read_text()
        # One level of braces: tables within the recipe contain none.
        recipe = re.search(r"model\.recipe = \{(?:[^{}]|\{[^{}]*\})*\}", first)[0]
        path = self.folder / "begun.mlir"
        path.write_text(self.model_of(settings).read_text().replace("attributes {", f"attributes {{{recipe}, ", 1))
        return path

    def run_phase(self, phase, passes, settings, edit=None):
        """The module after a phase that consists of these passes; the error's text where they refuse it."""
        at = list(self.phases).index(phase)
        before = sorted(self.whole(settings)[1].iterdir())[at - 1] if at else self.begun(settings)
        if edit:
            text = before.read_text()
            edited = edit(text)
            assert edited != text, f"{phase}: the edit finds nothing to change"
            before = self.folder / "edited.mlir"
            before.write_text(edited)
        after = self.folder / "after.mlir"
        pipeline = f"builtin.module({','.join(passes)})"
        done = run("sluice-opt", before, f"-pass-pipeline={pipeline}", "--mlir-print-debuginfo", "-o", after)
        if done.returncode != 0:
            return None, done.stderr
        text = after.read_text()
        marked = re.sub(r'(model\.compiled_to = )"\w+"', rf'\1"{phase}"', text, count=1)
        if at == 0:
            marked = text.replace("attributes {", f'attributes {{model.compiled_to = "{phase}", ', 1)
        after.write_text(marked)
        return after, ""

    def without(self, phase, left_out, settings):
        """The plan without a pass, or the error's text."""
        after, error = self.run_phase(phase, [p for p in self.phases[phase] if p != left_out], settings)
        if after is None:
            return None, error
        plan = self.folder / f"without-{left_out or 'nothing'}.plan"
        plan.unlink(missing_ok=True)
        done = run("sluice-compile", after, "-o", plan)
        if done.returncode != 0:
            assert not plan.exists(), f"{left_out}: a plan was written all the same"
            return None, done.stderr
        return Plan(plan), ""


def has_fewer_parts(whole, plan):
    return whole.text.count(" part dim ") > plan.text.count(" part dim ")


def refused(whole, plan, error):
    return plan is None and "error: " in error and "PLEASE submit a bug report" not in error


def shows(claim):
    """An optional pass: without it there is a plan, which the claim distinguishes from the plan of all passes."""
    return lambda whole, plan, error: plan is not None and claim(whole, plan)


def checks(whole, plan, error):
    """A pass that verifies: the plan is the same without it."""
    return plan is not None and plan.bytes == whole.bytes


def small_budget(text):
    """One byte is less than any plan needs."""
    return text.replace("model.recipe = {", "model.recipe = {memory.budget = 1 : i64, ", 1)


def unchain(text):
    """Compute no longer waits for the second gather: a race that no earlier pass sees."""
    found = [m.start() for m in re.finditer(r"plan\.await \d+", text)]
    end = text.index("\n", found[1])
    line = text[found[1]:end]
    changed = line.replace(" {", " {chained, ", 1) if " {" in line else line
    return text[:found[1]] + changed + text[end:]


# pass: (settings, a claim on the plan without it)
TABLE = {
    "input": {
        "model-verify-input": (BASE, checks),
        "model-make-evaluation": (BASE, shows(lambda whole, plan: "entry eval_step" in whole.text and
                                              "entry eval_step" not in plan.text)),
    },
    "prepare": {
        "model-freeze-parameters": (FROZEN, shows(lambda whole, plan: frozen(whole) == ["wpe.weight"] and not frozen(plan))),
        "model-flatten-blocks": (BASE, refused),
        # A token's loss counts alike wherever it is: one more number is reduced over all ranks.
        "model-count-loss": (TOKENS, shows(lambda whole, plan: scalars_reduced(whole) == scalars_reduced(plan) + 1)),
        "model-apply-precision": (NARROW, shows(lambda whole, plan: {"bf16"} == {
            c["dtype"] for c in whole.described["collectives"] if c["kind"] == "all_gather"} and "f32" in {
            c["dtype"] for c in plan.described["collectives"] if c["kind"] == "all_gather"})),
        "model-fuse": (BASE, shows(lambda whole, plan: whole.count("add", phase="forward") <
                                   plan.count("add", phase="forward"))),
    },
    "differentiate": {
        "model-differentiate": (BASE, refused),
        # Fewer launches and no more memory; training has the same bits.
        "model-fuse-backward": (BASE, shows(
            lambda whole, plan: whole.count("gelu") == whole.count("gelu_grad") == plan.count("matmul_gelu") == 0 and
            whole.count("matmul_gelu_grad") == plan.count("gelu_grad") > 0 and whole.count("matmul_gelu") == plan.count("gelu") > 0 and
            whole.device()["bytes"] <= plan.device()["bytes"] and trained(whole) == trained(plan))),
    },
    "optimize": {"model-apply-optimizer": (BASE, refused)},
    "recompute": {
        "model-recompute": (BASE, shows(lambda whole, plan: whole.point("after_forward") < plan.point("after_forward") and
                                        whole.count("matmul_gelu", phase="backward") > 0 == plan.count("matmul_gelu", phase="backward"))),
        "model-record-program": (BASE, refused),
        "model-verify-output": (BASE, checks),
    },
    "partition": {
        "spmd-shard-parameters{axis=expert}": (EXPERT, shows(has_fewer_parts)),
        "spmd-propagate-shardings{axis=expert}": (EXPERT, refused),
        "spmd-insert-reshards{axis=expert}": (EXPERT, refused),
        "spmd-localize{axis=expert}": (EXPERT, refused),
        "spmd-lower-reshards": (BASE, refused),
        "spmd-shard-parameters{axis=tensor}": (TENSOR, shows(has_fewer_parts)),
        "spmd-propagate-shardings{axis=tensor}": (TENSOR, refused),
        "spmd-insert-reshards{axis=tensor}": (TENSOR, refused),
        "spmd-localize{axis=tensor}": (TENSOR, refused),
        "spmd-assign-units": (BASE, refused),
        "spmd-partition": (BASE, refused),
        "spmd-insert-data-reshards": (BASE, refused),
        "spmd-group-reshards": (BASE, refused),
        # The root is gathered once, and not for the backward again.
        "spmd-elide-reshards": (BASE, shows(lambda whole, plan: whole.count("all_gather") < plan.count("all_gather"))),
        "spmd-accumulate-gradients": (BASE, refused),
        "spmd-localize-update": (BASE, refused),
        "spmd-join-reductions": (TENSOR_NORM, shows(lambda whole, plan: whole.count("all_reduce") < plan.count("all_reduce"))),
        "spmd-sync-statistics": (STATISTICS, shows(lambda whole, plan: whole.count("all_reduce") == plan.count("all_reduce") + 1)),
        "spmd-fold-unit-axes": (ONE_RANK, refused),
        "spmd-offload": (IN_HOST, refused),
        "spmd-verify": (BASE, checks),
    },
    "prefetch": {
        # Ahead of use, h.1 is gathered before h.0 is released.
        "spmd-hoist-gathers": (BASE, shows(
            lambda whole, plan: whole.order().index(("unshard", "h.1")) < whole.order().index(("reshard", "h.0")) and
            plan.order().index(("reshard", "h.0")) < plan.order().index(("unshard", "h.1")))),
        # The gradients of a unit stay until its reduction is waited for: after the unit before it.
        "spmd-sink-waits": (BASE, shows(lambda whole, plan: reduction_waits(whole) > 0 == reduction_waits(plan))),
        # The next step gathers the root first, so all of it is updated first.
        "spmd-order-updates": (NO_DECAY, shows(lambda whole, plan: root_is_first(whole) and not root_is_first(plan))),
        # One launch for each unit instead of one for each parameter, with no more memory; training has the same bits.
        "spmd-merge-updates": (BASE, shows(
            lambda whole, plan: whole.count("adamw") == len(units(whole)) and plan.count("adamw") == len(updated(plan)) and
            updated(whole) == updated(plan) and whole.device()["bytes"] <= plan.device()["bytes"] and trained(whole) == trained(plan))),
    },
    "lower": {
        "plan-lower": (BASE, refused),
        "plan-place-destinations": (BASE, shows(lambda whole, plan: whole.count("copy", phase="backward") <
                                                plan.count("copy", phase="backward"))),
    },
    "streams": {
        "plan-assign-streams": (BASE, refused),
        "plan-insert-events": (BASE, refused),
        "plan-elide-events": (BASE, shows(lambda whole, plan: whole.count("wait") < plan.count("wait") and
                                          whole.count("record") < plan.count("record"))),
        "plan-verify-streams": (BASE, checks),
    },
    "memory": {
        "plan-reuse-in-place": (ONE_RANK, shows(lambda whole, plan: whole.device()["bytes"] < plan.device()["bytes"])),
        "plan-carry-events": (BASE, shows(lambda whole, plan: " carried" in whole.text and " carried" not in plan.text)),
        "plan-compute-lifespans": (BASE, refused),
        "plan-place-buffers": (BASE, refused),
        "plan-check-budget": (BASE, checks),
        "plan-verify-memory": (BASE, checks),
    },
}

def frozen(plan):
    return re.findall(r"^  parameter ([^:]+):.* frozen$", plan.text, re.M)


def updated(plan):
    """Parameters in the order of their updates."""
    launches = re.findall(r": adamw\((.*?)\) -> ", plan.text)
    return [name for launch in launches for name in re.findall(r"%(\S+?)\.shard:", launch)]


def units(plan):
    return re.findall(r"^unit (\S+)", plan.text, re.M)


def trained(plan):
    saved = plan.path.with_suffix(".saved")
    done = run("sluice-train", plan.path, "--data", "random:3", "--steps", "2", "--save", saved, "--quiet")
    assert done.returncode == 0, done.stderr
    return (saved / "model.safetensors").read_bytes()


def root_is_first(plan):
    order = updated(plan)
    return order.index("ln_f.bias") < order.index("h.0.ln_1.weight")


def scalars_reduced(plan):
    return sum(1 for c in plan.described["collectives"]
               if c["entry"] == "train_step" and c["kind"] == "all_reduce" and c["unit"] is None)


def no_loss(text):
    """Calls an entry that gives no scalar a train step."""
    return text.replace('model.entry = #model.entry<forward>', 'model.entry = #model.entry<train>', 1)


# Passes that verify: an edit of the phase's input after which the phase refuses it, and does not without the pass; and
# whether the plan that then comes out is refused by the checker.
EDITS = {
    "model-verify-input": (no_loss, False),
    "plan-verify-streams": (unchain, True),
    "plan-check-budget": (small_budget, False),
}


def reduction_waits(plan):
    """Launches of compute between a reduction of a unit and the wait for it, at most."""
    most = since = 0
    pending = False
    for one in plan.instructions:
        if one.what == "reduce_scatter":
            pending, since = True, 0
        elif pending and one.stream == "compute" and one.what == "wait":
            most, pending = max(most, since), False
        elif pending and one.stream == "compute" and one.what not in ("record", "release"):
            since += 1
    return most


def main():
    workshop = Workshop(sys.argv[1], sys.argv[2])
    failures = []
    known = {phase: list(rows) for phase, rows in TABLE.items()}
    # spmd-lower-reshards runs once for each axis of parts and once for the data axes.
    unique = {phase: list(dict.fromkeys(passes)) for phase, passes in workshop.phases.items()}
    if unique != known:
        failures.append(f"phases and passes, expected {known} but got {unique}")
    for phase, passes in unique.items():
        for name in passes:
            row = TABLE.get(phase, {}).get(name)
            if not row:
                continue
            settings, claim = row
            plan, error = workshop.without(phase, name, settings)
            if not claim(workshop.whole(settings)[0], plan, error):
                failures.append(f"without {name}: {error[:300] or 'the plan does not show it'}")
    # All passes through sluice-opt give the plan of the compiler.
    plan, error = workshop.without("memory", None, BASE)
    if plan is None or plan.bytes != workshop.whole(BASE)[0].bytes:
        failures.append(f"without nothing: another plan {error}")
    for name, (edit, makes_bad_plan) in EDITS.items():
        phase = next(p for p, passes in workshop.phases.items() if name in passes)
        after, error = workshop.run_phase(phase, workshop.phases[phase], BASE, edit)
        if after is not None:
            failures.append(f"{name}: accepts the invalid module")
        after, error = workshop.run_phase(phase, [p for p in workshop.phases[phase] if p != name], BASE, edit)
        if after is None:
            failures.append(f"{name}: the invalid module is refused without it: {error}")
            continue
        if not makes_bad_plan:
            continue
        # The checker at emission refuses a plan that the phase accepts.
        done = run("sluice-compile", after, "-o", workshop.folder / "invalid.plan")
        if done.returncode != 70 or "the checker refuses the plan" not in done.stderr:
            failures.append(f"{name}: expected the checker to refuse the plan but got exit {done.returncode} {done.stderr}")
    for failure in failures:
        print(failure)
    print(f"{sum(len(passes) for passes in workshop.phases.values())} passes, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
