"""nccl_log_cases.py CHECK: compares logs of the recording stub, unchanged and changed, by nccl_log.py.

Each line has the change of a log and the result of the comparison.
"""

import json
import os
import re
import sys

from sluice import set_options, try_run

CHECK = sys.argv[1]
PLANS = {
    "mean": ["mesh.shard=2"],
    "sum": ["mesh.shard=2", "gradient.force_sum=true"],
    "factor": ["mesh.shard=2", "gradient.divide=3"],
    "hybrid": ["mesh.shard=2", "mesh.replicate=2", "gradient.microbatches=2"],
    "unregistered": ["mesh.shard=2", "collective.register=false"],
}


def check(name, log):
    with open("log.txt", "w", encoding="utf-8") as file:
        file.writelines(log)
    with open(f"{name}.json", encoding="utf-8") as file:
        entries = json.load(file)["collectives"]
    # The stub's program runs every entry point issued, recorded, and replayed, which writes nothing.
    runs = ",".join(f"{entry}:2" for entry in dict.fromkeys(c["entry"] for c in entries))
    done = try_run(sys.executable, CHECK, f"{name}.json", "log.txt", "--runs", runs)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def logs():
    of_plan = {}
    for name, keys in PLANS.items():
        done = try_run("sluice-compile", "m.mlir", *set_options(["target.device=cuda", *keys]), "-o", f"{name}.plan")
        if done.returncode:
            sys.exit(done.stderr)
        with open(f"{name}.json", "w", encoding="utf-8") as file:
            file.write(try_run("sluice-plan", "describe", f"{name}.plan", "--json").stdout)
        done = try_run("cuda-plans", "--record", f"{name}.plan",
                   env=os.environ | {"NCCL_DEBUG_FILE": f"{name}.txt"})
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        with open(f"{name}.txt", encoding="utf-8") as file:
            of_plan[name] = file.readlines()
        print(f"{name}: {check(name, of_plan[name])}")
    return of_plan


def changed(log, pattern, replacement, only="", nth=0):
    """The log with a change of the nth line that contains `only`."""
    found = [i for i, line in enumerate(log) if only in line][nth]
    result = list(log)
    result[found] = re.sub(pattern, replacement, result[found])
    return result


def main():
    of_plan = logs()
    mean = of_plan["mean"]
    scatter = "ReduceScatter: "
    rank = re.match(r"\S+ ", next(line for line in mean if scatter in line))[0]
    scatters = [i for i, line in enumerate(mean) if line.startswith(rank) and scatter in line]
    first = mean[scatters[0]]
    launch = re.search(r"opCount \S+", first)[0]
    of_group = [i for i in scatters if launch in mean[i]]
    after = next(i for i in scatters if launch not in mean[i])
    cases = {
        "a count off by one": changed(mean, r"count (\d+)", lambda m: f"count {int(m[1]) + 1}", scatter),
        "a different operation": changed(mean, r" op 4 ", " op 0 ", scatter),
        "a different type": changed(mean, r"datatype 7", "datatype 9", scatter),
        "a different kind": changed(mean, r"ReduceScatter", "AllReduce", scatter),
        "a group of more ranks": changed(mean, r"nranks=2", "nranks=3", scatter),
        "a split group": [re.sub(r"opCount \S+", "opCount fff", line) if i == of_group[-1] else line
                          for i, line in enumerate(mean)],
        "two groups in one launch": [re.sub(r"opCount \S+", launch, line)
                                     if i in scatters and re.search(r"opCount \S+", mean[after])[0] in line else line
                                     for i, line in enumerate(mean)],
        "a call is missing": [line for i, line in enumerate(mean) if i != scatters[0]],
        "a call too many": mean + [mean[scatters[-1]]],
        "a rank is missing": [line for line in mean if not line.startswith(rank)],
        "no registration": [line for line in mean if "register comm" not in line],
        "a different size": changed(mean, r"size \d+", "size 64", "register comm"),
    }
    head = re.match(r".*INFO ", mean[0])[0]
    cases["memory without a handle"] = mean + [f"{head}rank 0 failed to IPC register userbuff 0x10 buffSize 64 nPeers 1 "
                                               "isLegacyIpc 0 type POSIX_FD\n"]
    cases["registration is off"] = mean + [f"{head}Skipping registration for buffer 0x10 size 64 (LocalRegister=0, "
                                           "P2pUsesMemcpy=0)\n"]
    for what, log in cases.items():
        print(f"{what}: {check('mean', log)}")
    comm = re.search(r"comm (\S+)", next(line for line in of_plan["unregistered"] if scatter in line))[1]
    extra = [re.match(r".*INFO ", of_plan["unregistered"][0])[0] + f"register comm {comm} buffer 0x10 size 64\n"]
    print(f"registered but not requested: {check('unregistered', extra + of_plan['unregistered'])}")
    summed = [re.sub(r" op [5-9] ", " op 0 ", line) for line in of_plan["factor"]]
    print(f"no factor: {check('factor', summed)}")


if __name__ == "__main__":
    main()
