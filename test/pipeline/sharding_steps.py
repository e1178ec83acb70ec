"""Consecutive steps: the waits of the next step, and equal bytes if steps overlap."""

from sluice import *


Row = collections.namedtuple("Row", "stream phase unit what names event")


def two_steps(plan):
    """Rows of train_step, and for each instruction of two consecutive steps the set of instructions that end before it begins, as bits: earlier ones of its
    stream, and those before the records that it waits for, of its step or (carried) of the previous step."""
    rows = [Row(one.stream, one.phase, one.unit, one.what, re.findall(r"%([^:\[\s,)]+)", one.operands),
                one.operands.split()[0] if one.what in ("record", "wait") else None) for one in plan.instructions()]
    carried = [bool(re.match(r" \d+ carried", one.operands)) for one in plan.instructions()]
    over, last, recorded = [], {}, {}
    for number in range(2):
        before_step, recorded = recorded, {}
        for row, is_carried in zip(rows, carried):
            before = last.get(row.stream, 0)
            if row.what == "wait" and is_carried:
                before |= before_step[row.event] if number else 0
            elif row.what == "wait":
                before |= recorded[row.event]
            over.append(before)
            last[row.stream] = before | 1 << (len(over) - 1)
            if row.what == "record":
                recorded[row.event] = last[row.stream]
    return rows, over


@test
def gathers_wait_for_updates():
    # A gather of the next step waits for the update of each of its parameters. The gathers that prefetching issues first (of the root and of as many blocks
    # as the prefetch distance) wait for no other update except that of the previous gather, and for no instruction of their step. Other gathers wait only for
    # instructions of their step before which they are not issued: earlier gathers, and units that run before the one that prefetches them. The host does
    # not wait.
    for more in (["precision.compute=bf16"], ["sharding.reshard_after_forward=true", "schedule.overlap_steps=false"], [], ["sharding.reshard_after_forward=true"], ["gradient.clip_norm=1.0"], ["mesh.replicate=2"], ["sharding.dim=flat"]):
        for distance in (0, 1, 2):
            plan = Plan(zoo("transformer", "layers=4", "dropout=0"), ["mesh.shard=4", f"schedule.forward_prefetch={distance}"] + more)
            rows, over = two_steps(plan)
            order = ["root"] + [f"layers.{i}" for i in range(4)]
            for unit in plan.description["units"]:
                where = f"{more}, distance {distance}, '{unit['name']}'"
                gather = next(i for i, row in enumerate(rows) if row.what == "all_gather" and row.unit == unit["name"])
                before = {i for i in range(2 * len(rows)) if over[len(rows) + gather] >> i & 1}
                updates = {name: [i for i, row in enumerate(rows) if row.what == "adamw" and f"{name}.shard" in row.names]
                           for name in (p["name"] for p in unit["parameters"])}
                expect_equal({name: len(found) for name, found in updates.items()}, dict.fromkeys(updates, 1), f"{where}: updates")
                expect(all(found[0] in before for found in updates.values()), f"{where}: expected a gather after its updates")
                all_updates = {i for i, row in enumerate(rows) if row.what == "adamw"}
                early = order[:1 + distance]
                if unit["name"] in early and "schedule.overlap_steps=false" not in more:
                    expected = {p["name"] + ".shard" for other in plan.description["units"]
                             if other["name"] in order[:order.index(unit["name"]) + 1] for p in other["parameters"]}
                    waited = {name for i in all_updates & before for name in rows[i].names if name.endswith(".shard")}
                    expect_equal(waited, expected, f"{where}: updates that a gather waits for")
                else:
                    expect(all_updates <= before, f"{where}: expected a gather after all updates")
                of_step = [rows[i - len(rows)] for i in sorted(before) if i >= len(rows)]
                place = order.index(unit["name"])
                # The root prefetches one unit for any distance; other units prefetch as many as the distance.
                prefetcher = place if distance == 0 else 0 if place <= 1 else max(0, place - distance)
                runs = {row.unit for row in of_step if row.what not in ("copy", "record", "wait", "all_gather", "release", "fill", "cast")}
                allowed = set(order[:prefetcher]) | {"root", "-"} if prefetcher else set()
                expect(runs <= allowed, f"{where}: expected to wait for units {sorted(allowed)} at most but got {sorted(runs)}")
                expect({row.phase for row in of_step} <= {"forward"}, f"{where}: expected to wait only for the forward")
                expect({row.what for row in of_step}.isdisjoint({"reduce_scatter", "all_reduce"}), f"{where}: expected to wait for no reduction")


@test
def waits_of_the_next_step():
    # Only the copies of the inputs are before the first gather of a step: it waits for the update of its parameters at the
    # end of the previous step, and for nothing of this step.
    plan = Plan(zoo("transformer", "layers=3", "dropout=0"), ["mesh.shard=4"])
    rows = plan.instructions()
    kinds = [row.what for row in rows]
    first = kinds.index("all_gather")
    expect_equal(set(kinds[:first]) - {"copy", "record", "wait"}, set(), "instructions before the first gather")
    copied = [re.match(r" %(\S+?)\.host\b.*? -> %(\S+?):", row.operands).groups() for row in rows[:first] if row.what == "copy"]
    expect_equal(copied, [("input.tokens", "input.tokens")], "inputs that are copied before the first gather")
    # Updates are after all gathers of the step.
    updates = [i for i, kind in enumerate(kinds) if kind == "adamw"]
    expect(min(updates) > max(i for i, kind in enumerate(kinds) if kind == "all_gather"), "expected updates after all gathers")
    # Units are updated in the order in which the next step gathers them.
    units = {p["name"]: unit["name"] for unit in plan.description["units"] for p in unit["parameters"]}
    # One update for all parameters of a unit.
    read = [re.findall(r"%(\S+?)\.shard:", rows[i].operands.split(" -> ")[0]) for i in updates]
    order = [{units[name] for name in names} for names in read]
    expect_equal(order, [{"root"}] + [{f"layers.{i}"} for i in range(3)], "units in the order of updates")
    expect_equal(sum(map(len, read)), len(units), "parameters that are updated")
    # The outputs are copied before the updates.
    outputs = [row.index for row in rows if "-> %output." in row.operands]
    expect(len(outputs) == 3 and max(outputs) < min(updates), "expected loss, norm and guard copied before the updates")


@test
def overlapping_steps():
    # Overlap changes no byte of memory, no bit of a result, no collective and no position of a collective in its step.
    deep = zoo("transformer", "layers=4", "dropout=0")
    for model, recipe in (
            (deep, []), (deep, ["precision.compute=bf16", "gradient.microbatches=2"]), (deep, ["sharding.reshard_after_forward=false"]),
            (deep, ["schedule.forward_prefetch=0"]), (deep, ["schedule.forward_prefetch=3", "recompute.policy=block"]), (deep, ["sharding.units=root"]),
            (deep, ["parameters.frozen=['layers.0.*']"]), (deep, ["parameters.frozen=['tok_embeddings*']"]), (deep, ["sharding.dim=flat", "mesh.replicate=2"]),
            (deep, ["sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last", "gradient.microbatches=3"]),
            (deep, ["memory.offload=['parameters']"]), (deep, ["memory.offload=['optimizer']"]), (deep, ["memory.offload=['parameters','optimizer']", "gradient.microbatches=2"]),
            (zoo("memory-transformer"), ["optimizer.name=adam"]), (zoo("mlp-sequence", "count=3"), []), (zoo("multi-forward"), [])):
        on, off = (Plan(model, ["mesh.shard=2", f"schedule.overlap_steps={flag}"] + recipe) for flag in ("true", "false"))
        where = f"{recipe}"
        for a, b in zip(on.description["arenas"], off.description["arenas"]):
            expect(a["bytes"] <= b["bytes"] and a["peak_live"] <= b["peak_live"], f"{where}: expected no more than {b} but got {a}")
        for what in ("collectives", "events"):
            issued = [[{k: v for k, v in one.items() if k not in ("i", "instruction")} for one in plan.description[what]] for plan in (on, off)]
            expect_equal(issued[0], issued[1], f"{where}: {what}")
        expect("carried" in on.text, f"{where}: expected waits for the previous step")
        expect("carried" not in off.text, f"{where}: expected no such waits if steps do not overlap")
        expect_same_bits(train(on), train(off), where)


main(no_empty_loops=True)
