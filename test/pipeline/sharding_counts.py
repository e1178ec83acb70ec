"""The collectives of a train step by resharding, accumulation and mesh.

Units: the root and L blocks. K micro-batches.
"""

from sluice import *

K = 3
L = 4
ONE = ["mesh.shard=4"]
MANY = ["mesh.shard=4", f"gradient.microbatches={K}"]
HYBRID = ["mesh.replicate=2", "mesh.shard=2", f"gradient.microbatches={K}"]
KEEP = "sharding.reshard_after_forward=false"


def expect_counts(settings, **counts):
    """Collectives of units in a step: by kind, and by kind and size of the group."""
    plan = Plan(gpt2_tiny(), settings).check()
    found = collections.Counter()
    for collective in plan.collectives():
        if collective["unit"]:
            found.update([collective["kind"], f"{collective['kind']}_{collective['group']}"])
    for kind, count in counts.items():
        expect_equal(found[kind], count, f"{settings}: {kind}")


@test
def number_of_blocks():
    expect_equal(len(Plan(gpt2_tiny(), ONE).units()), L + 1, "units")


@test
def gathers_and_resharding():
    expect_counts(ONE, all_gather=2 * L + 1, reduce_scatter=L + 1, all_reduce=0)
    expect_counts(ONE + ["sharding.reshard_after_forward=true"], all_gather=2 * (L + 1), reduce_scatter=L + 1)
    expect_counts(ONE + ["sharding.reshard_after_forward=4"], all_gather_4=2 * (L + 1), reduce_scatter=L + 1)
    expect_counts(ONE + ["sharding.reshard_after_forward=2"], all_gather_4=L + 1, all_gather_2=L + 1, reduce_scatter_4=L + 1)
    expect_counts(ONE + ["sharding.reshard_after_forward=1"], all_gather=L + 1, reduce_scatter=L + 1)
    expect_counts(ONE + ["sharding.reshard_after_forward={root=true, \"h.*\"=false}"], all_gather=L + 2)
    expect_counts(ONE + [KEEP, "sharding.reshard_before_backward=true"], all_gather=2 * (L + 1), reduce_scatter=L + 1)


@test
def reductions_and_accumulation():
    # All, some and only the root deferred, on one axis and with replicas.
    some = 'gradient.sync={"h.0"="last", "h.1"="last", "*"="every"}'
    root = 'gradient.sync={root="last", "*"="every"}'
    for mesh, replicas in ((MANY, 0), (HYBRID, 1)):
        for mode, reductions in (([], L + 1), ([some], 2 + (L - 1) * K), ([root], 1 + L * K), (["gradient.sync=every"], (L + 1) * K)):
            expect_counts(mesh + mode, reduce_scatter=reductions, all_reduce=replicas * reductions)
        expect_counts(mesh + ["gradient.sync=[true, false, true]"], reduce_scatter=2 * (L + 1), all_reduce=replicas * 2 * (L + 1))
    expect_counts(HYBRID + ["gradient.sync=reduce_scatter_only"], reduce_scatter=(L + 1) * K, all_reduce=L + 1)


@test
def gathers_with_microbatches():
    expect_counts(MANY + ["sharding.reshard_after_forward=true"], all_gather=2 * (L + 1) * K)
    expect_counts(MANY + ["sharding.reshard_after_forward=2"], all_gather=2 * (L + 1) * K)
    expect_counts(MANY + [KEEP], all_gather=(L + 1) * K)
    expect_counts(MANY + [KEEP, "sharding.reshard_after_backward=last"], all_gather=L + 1)
    expect_counts(MANY + [KEEP, 'sharding.reshard_after_backward={root="last"}'], all_gather=(L + 1) + L * (K - 1))


@test
def operations_of_reductions():
    for settings, kinds in (
        (HYBRID, {"reduce_scatter": "mean", "all_reduce": "mean"}),
        (HYBRID + ["gradient.force_sum=true"], {"reduce_scatter": "sum", "all_reduce": "sum"}),
        (HYBRID + ["gradient.divide=8"], {"reduce_scatter": "premul_sum", "all_reduce": "sum"}),
        (HYBRID + ["gradient.divide=2"], {"reduce_scatter": "mean", "all_reduce": "sum"}),
        (["mesh.replicate=4", "gradient.divide=8"], {"all_reduce": "premul_sum"}),
    ):
        plan = Plan(gpt2_tiny(), settings).check()
        for kind, op in kinds.items():
            expect_equal({c["op"] for c in plan.collectives(kind) if c["unit"]}, {op}, f"{settings}: operation of {kind}")


@test
def tables_of_units():
    # A unit of several blocks is gathered once, other parameters are the root's, an empty unit has no events.
    expect_counts(ONE + ['sharding.units={a=["h.0", "h.1"], e=["wpe.*"], none=[]}', KEEP], all_gather=3, reduce_scatter=3)
    # Gradients of replicated parameters are all-reduced, in addition to the reduce_scatter of the others.
    expect_counts(ONE + ['sharding.replicated=["*.bias"]'], reduce_scatter=L + 1, all_reduce=L + 1)


main()
