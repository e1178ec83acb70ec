"""Compiles one model by many recipes and counts what each step issues; exits with 1 where a count or an order differs
from the expected one, or an impossible recipe is not refused with its line.

Units: the root and L blocks. K micro-batches.
"""

import collections
import json
import subprocess
import sys

MODEL, SCRATCH = sys.argv[1:3]
K = 3
problems = []


def compile_plan(settings):
    command = ["sluice-compile", MODEL, "-o", SCRATCH + ".plan"]
    for setting in settings:
        command += ["--set", setting]
    return subprocess.run(command, capture_output=True, text=True)


def describe(settings):
    made = compile_plan(settings)
    if made.returncode != 0:
        problems.append(f"{settings}: {made.stderr}")
        return None
    checked = subprocess.run(["sluice-plan", "check", SCRATCH + ".plan"], capture_output=True, text=True)
    if checked.returncode != 0:
        problems.append(f"{settings}: {checked.stderr}")
    shown = subprocess.run(["sluice-plan", "describe", "--json", SCRATCH + ".plan"], capture_output=True, text=True)
    return json.loads(shown.stdout)


def expect(settings, **counts):
    """Collectives of units in a step: gathers by group, reduce_scatters, all_reduces."""
    plan = describe(settings)
    if not plan:
        return
    of_step = [c for c in plan["collectives"] if c["entry"] == "train_step" and c["unit"]]
    found = collections.Counter(c["kind"] for c in of_step)
    found.update(f"{c['kind']}_{c['group']}" for c in of_step)
    for kind, count in counts.items():
        if found[kind] != count:
            problems.append(f"{settings}: {kind}, expected {count} but got {found[kind]}")


def refuse(settings, text):
    made = compile_plan(settings)
    if made.returncode != 1 or text not in made.stderr:
        problems.append(f"{settings}: expected exit code 1 and '{text}' but got {made.returncode} and {made.stderr}")


L = len(describe(["mesh.shard=4"])["units"]) - 1
ONE = ["mesh.shard=4"]
MANY = ["mesh.shard=4", f"gradient.microbatches={K}"]
HYBRID = ["mesh.replicate=2", "mesh.shard=2", f"gradient.microbatches={K}"]
KEEP = "sharding.reshard_after_forward=false"

# Residency: gathers of forward and backward.
expect(ONE, all_gather=2 * L + 1, reduce_scatter=L + 1, all_reduce=0)
expect(ONE + ["sharding.reshard_after_forward=true"], all_gather=2 * (L + 1), reduce_scatter=L + 1)
expect(ONE + ["sharding.reshard_after_forward=4"], all_gather_4=2 * (L + 1), reduce_scatter=L + 1)
expect(ONE + ["sharding.reshard_after_forward=2"], all_gather_4=L + 1, all_gather_2=L + 1, reduce_scatter_4=L + 1)
expect(ONE + ["sharding.reshard_after_forward=1"], all_gather=L + 1, reduce_scatter=L + 1)
expect(ONE + ["sharding.reshard_after_forward={root=true, \"h.*\"=false}"], all_gather=L + 2)
expect(ONE + [KEEP, "sharding.reshard_before_backward=true"], all_gather=2 * (L + 1), reduce_scatter=L + 1)

# Accumulation: all, some and only the root deferred, on one axis and with replicas.
some = 'gradient.sync={"h.0"="last", "h.1"="last", "*"="every"}'
root = 'gradient.sync={root="last", "*"="every"}'
for mesh, replicas in ((MANY, 0), (HYBRID, 1)):
    for mode, reductions in (([], L + 1), ([some], 2 + (L - 1) * K), ([root], 1 + L * K), (["gradient.sync=every"], (L + 1) * K)):
        expect(mesh + mode, reduce_scatter=reductions, all_reduce=replicas * reductions)
    expect(mesh + ["gradient.sync=[true, false, true]"], reduce_scatter=2 * (L + 1), all_reduce=replicas * 2 * (L + 1))
expect(HYBRID + ["gradient.sync=reduce_scatter_only"], reduce_scatter=(L + 1) * K, all_reduce=L + 1)

# Gathers with micro-batches.
expect(MANY + ["sharding.reshard_after_forward=true"], all_gather=2 * (L + 1) * K)
expect(MANY + ["sharding.reshard_after_forward=2"], all_gather=2 * (L + 1) * K)
expect(MANY + [KEEP], all_gather=(L + 1) * K)
expect(MANY + [KEEP, "sharding.reshard_after_backward=last"], all_gather=L + 1)
expect(MANY + [KEEP, 'sharding.reshard_after_backward={root="last"}'], all_gather=(L + 1) + L * (K - 1))

# Reductions that are asked for.
for settings, kinds in (
    (HYBRID, {"reduce_scatter": "mean", "all_reduce": "mean"}),
    (HYBRID + ["gradient.force_sum=true"], {"reduce_scatter": "sum", "all_reduce": "sum"}),
    (HYBRID + ["gradient.divide=8"], {"reduce_scatter": "premul_sum", "all_reduce": "sum"}),
    (HYBRID + ["gradient.divide=2"], {"reduce_scatter": "mean", "all_reduce": "sum"}),
    (["mesh.replicate=4", "gradient.divide=8"], {"all_reduce": "premul_sum"}),
):
    plan = describe(settings)
    for call in plan["collectives"] if plan else []:
        if call["entry"] == "train_step" and call["unit"] and call["kind"] in kinds and call["op"] != kinds[call["kind"]]:
            problems.append(f"{settings}: {call['kind']}, expected {kinds[call['kind']]} but got {call['op']}")

# Units by table: a unit of several blocks is gathered once, other parameters are the root's, an empty unit has no events.
expect(ONE + ['sharding.units={a=["h.0", "h.1"], e=["wpe.*"], none=[]}', KEEP], all_gather=3, reduce_scatter=3)
# Gradients of replicated parameters are all-reduced, in addition to the reduce_scatter of the others.
expect(ONE + ['sharding.replicated=["*.bias"]'], reduce_scatter=L + 1, all_reduce=L + 1)

refuse(ONE + ["sharding.reshard_after_forward=3"], "--set sharding.reshard_after_forward=3: value of "
       "'sharding.reshard_after_forward' for unit 'root', expected a divisor of 'mesh.shard' (1, 2, 4) but got 3")
refuse(ONE + ["sharding.unshard_in_backward=false"], "expected true for a unit whose parameters the backward reads but got false")
refuse(ONE + ['gradient.divide={"x*"=2}'], "'x*' in 'gradient.divide' matches no unit")
refuse(ONE + ['sharding.reshard_after_forward={"h.*"=true, "*.0"=false}'], "is ambiguous: globs give")
refuse(ONE + ['sharding.replicated=["x*"]'], "'x*' in 'sharding.replicated' matches no parameter")
refuse(ONE + ['sharding.units={a=["x"]}'], "glob 'x' of unit 'a' matches no block or parameter")
refuse(ONE + ['sharding.units={a=["h.0"], b=["h.0"]}'], "is in two units, 'a' and 'b'")
refuse(ONE + ['schedule.forward_prefetch={root=["x"]}'], "expected one of the plan's but got 'x'")
refuse(MANY + ["gradient.sync=[true, false, false]"], "expected true for the last micro-batch but got false")
refuse(MANY + ["gradient.sync=[true]"], "expected 3 values, one for each micro-batch, but got 1")
refuse(MANY + ["sharding.reshard_after_backward=last"], "\"last\" requires 'sharding.reshard_after_forward' = false")

for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
