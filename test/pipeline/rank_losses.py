"""`loss.per_rank` and `--log-ranks all`: each rank's loss is that of one rank on its rows, and the loss is their mean."""

from sluice import *

SEQUENCE = 16
TEXT = bytes((7 * i * i + 3 * i) % 251 for i in range(9 * SEQUENCE + 1))


def logged(model, settings, text, *options, steps=1):
    data, log = SCRATCH / "text.bytes", SCRATCH / "rank.jsonl"
    data.write_bytes(text)
    run("sluice-train", Plan(model, settings).path, "--data", data, "--steps", steps, "--log", log, "--quiet", *options)
    return [json.loads(line) for line in log.read_text().splitlines()][:-1]


@test
def of_one_rank_on_the_same_rows():
    one = gpt2_tiny(1, SEQUENCE)
    for ranks, settings in ((4, ["mesh.shard=4"]), (4, ["mesh.replicate=2", "mesh.shard=2", "gradient.force_sum=true"])):
        line = logged(one, settings + ["loss.per_rank=true"], TEXT, "--log-ranks", "all")[0]
        expect_near([sum(line["rank_losses"]) / ranks], [line["loss"]], 1e-6, f"{settings}: mean of the ranks' losses")
        alone = [logged(one, [], TEXT[rank * SEQUENCE:])[0]["loss"] for rank in range(ranks)]
        expect_near(line["rank_losses"], alone, 1e-6, f"{settings}: losses of ranks")
        expect(len(set(line["rank_losses"])) == ranks, f"{settings}: expected different losses but got {line['rank_losses']}")


@test
def of_all_microbatches_of_a_rank():
    settings = ["mesh.shard=2", "gradient.microbatches=3", "loss.per_rank=true"]
    line = logged(gpt2_tiny(1, SEQUENCE), settings, TEXT, "--log-ranks", "all")[0]
    for rank in range(2):
        rows = [logged(gpt2_tiny(1, SEQUENCE), [], TEXT[(2 * microbatch + rank) * SEQUENCE:])[0]["loss"] for microbatch in range(3)]
        expect_near([line["rank_losses"][rank]], [sum(rows) / 3], 1e-6, f"rank {rank}: mean over its micro-batches")


@test
def changes_no_other_number():
    for settings in (["mesh.shard=2", "gradient.microbatches=2"], ["mesh.shard=2", "mesh.tensor=2", "sharding.tensor=megatron"]):
        model = gpt2_tiny(2, SEQUENCE)
        expect_same_bits(train(Plan(model, settings + ["loss.per_rank=true"])), train(Plan(model, settings)), str(settings))


@test
def needs_the_output():
    plan = Plan(gpt2_tiny(1, SEQUENCE), ["mesh.shard=2"])
    done = subprocess.run(["sluice-train", str(plan.path), "--data", "random:1", "--steps", "1", "--log-ranks", "all"],
                          capture_output=True, text=True)
    expect_equal(done.returncode, 2, "exit code")
    expect_equal(done.stderr, "error: entry point 'train_step' has no output 'rank_loss', which --log-ranks reads\n"
                              "note: compile the plan with --set loss.per_rank=true\n", "error")


main()
