"""nccl_log.py: compares NCCL's log with a plan.

    nccl_log.py PLAN.json LOG... [--runs ENTRY:N,...]

PLAN.json is what `sluice-plan describe --json` prints; LOG is what NCCL 2.28 writes with NCCL_DEBUG=INFO and
NCCL_DEBUG_SUBSYS=COLL,REG, of one or several ranks. Each rank must have run the entry points in the order and number
of --runs (the default: train_step once), issued and not replayed from a graph.

It compares, for each collective in the plan's order: its kind, type, group and operation (a factor of the plan is a separate
operation); that its segments are the calls of one group launch; and that their counts add up to its elements, padding
included. If the plan registers, the arena is registered with each used communicator, otherwise nothing is; no registration was
skipped or failed. It prints how much was compared; the first difference is an error, exit code 1.
"""

import argparse
import json
import re
import sys

PREFIX = re.compile(r"(?P<rank>\S+:\d+:\d+) \[\d+\] NCCL INFO (?P<text>.*)")
CALL = re.compile(r"(?P<name>\w+): opCount (?P<launch>[0-9a-f]+) sendbuff \S+ recvbuff \S+ count (?P<count>\d+) "
                  r"datatype (?P<type>\d+) op (?P<op>\d+) root \d+ comm (?P<comm>\S+) \[nranks=(?P<ranks>\d+)\] "
                  r"stream \S+")
REGISTERED = re.compile(r"register comm (?P<comm>\S+) buffer \S+ size (?P<size>\d+)")

UNREGISTERED = re.compile(r"(Skipping (graph )?registration for buffer|rank \d+ failed to (IPC|NVLS) register).*")

NAMES = {"all_gather": "AllGather", "reduce_scatter": "ReduceScatter", "all_reduce": "AllReduce"}
# ncclDataType_t and the bytes of an element.
TYPES = {"u8": (1, 1), "i32": (2, 4), "i64": (4, 8), "f16": (6, 2), "f32": (7, 4), "f64": (8, 8), "bf16": (9, 2)}
# ncclRedOp_t; pre-multiplied sums have numbers from FIRST_PREMUL_OP on.
OPS = {None: "0", "sum": "0", "max": "2", "mean": "4"}
FIRST_PREMUL_OP = 5


class Differs(Exception):
    pass


def expect(what, wanted, got):
    if wanted != got:
        raise Differs(f"{what}, expected {wanted} but got {got}")


def read(paths):
    """Calls by rank, in their order, and the sizes that are registered, by process and communicator."""
    calls, registered = {}, {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                head = PREFIX.search(line)
                if not head:
                    continue
                if UNREGISTERED.fullmatch(head["text"].strip()):
                    raise Differs(f"failed registration with NCCL: {head['text'].strip()}")
                process = head["rank"].rsplit(":", 1)[0]
                if call := CALL.fullmatch(head["text"].strip()):
                    # A gather of one byte connects the ranks of a communicator.
                    if (call["name"], call["type"], call["count"]) == ("AllGather", "1", "1"):
                        continue
                    calls.setdefault(head["rank"], []).append(call.groupdict() | {"comm": (process, call["comm"])})
                elif found := REGISTERED.fullmatch(head["text"].strip()):
                    registered.setdefault((process, found["comm"]), []).append(int(found["size"]))
    return calls, registered


def compare_group(where, wanted, calls):
    """The calls of one collective of the plan."""
    code, size = TYPES[wanted["dtype"]]
    expect(f"{where}: calls of the group", wanted["segments"], len(calls))
    for call in calls:
        expect(f"{where}: call", NAMES.get(wanted["kind"], wanted["kind"]), call["name"])
        expect(f"{where}: ranks", wanted["group"], int(call["ranks"]))
        expect(f"{where}: type", code, int(call["type"]))
        if wanted.get("op") == "premul_sum":
            if int(call["op"]) < FIRST_PREMUL_OP:
                raise Differs(f"{where}: expected an operation with the factor {wanted['scale']} "
                              f"but got operation {call['op']}")
        else:
            expect(f"{where}: operation", OPS[wanted.get("op")], call["op"])
        expect(f"{where}: group launch and communicator of a call", (calls[0]["launch"], calls[0]["comm"]),
               (call["launch"], call["comm"]))
    # Counts are those of one rank: its input, or its part of the result of a reduction.
    local = wanted["bytes_out"] if wanted["kind"] == "reduce_scatter" else wanted["bytes_in"]
    expect(f"{where}: elements of one rank", local // size, sum(int(call["count"]) for call in calls))


def compare_rank(rank, plan, runs, calls):
    at = groups = 0
    launched = set()
    for entry, times in runs:
        collectives = [c for c in plan["collectives"] if c["entry"] == entry and c["group"] > 1]
        for run in range(times):
            for wanted in collectives:
                where = f"rank {rank}, run {run + 1} of '{entry}', instruction {wanted['i']} ({wanted['kind']}"
                where += f" of unit '{wanted['unit']}')" if wanted["unit"] else ")"
                group = calls[at:at + wanted["segments"]]
                compare_group(where, wanted, group)
                launch = (group[0]["launch"], group[0]["comm"])
                if launch in launched:
                    raise Differs(f"{where}: group launch of the previous group; each group has a separate one")
                launched.add(launch)
                at += len(group)
                groups += 1
    expect(f"rank {rank}: calls after the last run", 0, len(calls) - at)
    return groups


def compare_registration(plan, calls, registered):
    arena = next(a["bytes"] for a in plan["arenas"] if a["space"] == "device")
    registers = "collective.register = false" not in plan["recipe"]
    used = {call["comm"] for of_rank in calls.values() for call in of_rank}
    for comm in sorted(used):
        expect(f"registrations with communicator {comm[1]}", [arena] if registers else [], registered.get(comm, []))
    return registers


def main():
    parser = argparse.ArgumentParser(description="compares NCCL's log with a plan")
    parser.add_argument("plan")
    parser.add_argument("log", nargs="+")
    parser.add_argument("--runs", default="train_step:1")
    options = parser.parse_args()
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    runs = [(name, int(times)) for name, times in (run.split(":") for run in options.runs.split(","))]
    try:
        calls, registered = read(options.log)
        expect("ranks in the log", plan["world"], len(calls))
        groups = [compare_rank(rank, plan, runs, of_rank) for rank, of_rank in sorted(calls.items())]
        registers = compare_registration(plan, calls, registered)
    except Differs as difference:
        sys.exit(f"error: {difference}")
    print(f"{len(calls)} ranks: {groups[0]} groups each, {sum(map(len, calls.values()))} calls, "
          f"{'registered' if registers else 'nothing registered'}")


if __name__ == "__main__":
    main()
