"""An archive of torch.export and the config.json of the same model give the same plan, apart from the shift of labels that transformers' classes compute, and the
same bits."""

import random

from sluice import *

EXPORT = REFERENCE / "export"
SIZES = {"gpt2": {"model_type": "gpt2", "vocab_size": 96, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 4, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
                  "attn_pdrop": 0.0, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5},
         "llama": {"model_type": "llama", "vocab_size": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "num_key_value_heads": 2, "max_position_embeddings": 32, "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "pad_token_id": 0,
                   "hidden_act": "silu"}}
SIZES |= json.loads((REFERENCE / "export-routes" / "models.json").read_text())
# The labels, shifted by one: padded, sliced, and copied where strides cannot express the slice.
SHIFT = {"pad", "copy"}


def from_archive(name):
    model = SCRATCH / f"{name}.mlir"
    kept = EXPORT / name / "model.pt2"
    run("sluice-import", "export", kept if kept.exists() else REFERENCE / "export-routes" / f"{name}.pt2", "-o", model, "--weights", model.with_suffix(".safetensors"),
        "--inputs", "input_ids=tokens:96,labels=tokens:96")
    return model


def from_config(name):
    return hugging_face(SIZES[name], 4, 16, "--train-only")


def as_file(name, tensors_of_rows, width):
    entries, parts = {}, b""
    for key, numbers in tensors_of_rows:
        entries[key] = {"dtype": "I64", "shape": [len(numbers) // width, width], "data_offsets": [len(parts), len(parts) + 8 * len(numbers)]}
        parts += struct.pack(f"<{len(numbers)}q", *numbers)
    path = SCRATCH / name
    path.write_bytes(join_safetensors(entries, parts))
    return path


@functools.cache
def rows():
    """Three batches under the names of the archive's inputs, and as tokens and targets."""
    draw = random.Random(7)
    width, count = 16, 12
    ids, labels = ([draw.randrange(96) for _ in range(width * count)] for _ in range(2))
    targets = [x for row in range(count) for x in (*labels[row * width + 1:(row + 1) * width], -100)]
    return as_file("rows.safetensors", (("input_ids", ids), ("labels", labels)), width), as_file("tokens.safetensors", (("tokens", ids), ("targets", targets)), width)


def launches(plan, entry):
    text = plan.text[plan.text.index(f"\nentry {entry} "):].split("\nentry ")[1]
    found = collections.Counter(re.findall(r": (\w+)\(", text))
    return {kernel: count for kernel, count in found.items() if kernel not in SHIFT}


def both_routes(name):
    """The two models, with the weights of each under its names."""
    archive, config = from_archive(name), from_config(name)
    weights, renamed = archive.with_suffix(".safetensors"), SCRATCH / f"{name}-config.safetensors"
    header, data = split_safetensors(weights.read_bytes())
    names = Plan(config).parameters()
    renamed.write_bytes(join_safetensors({next(own for own in names if key.endswith(own)): entry for key, entry in header.items() if key != "__metadata__"}, data))
    return archive, weights, config, renamed


def check_routes(name):
    archive, weights, config, renamed = both_routes(name)
    given, shifted = rows()
    for settings in ((), ("mesh.shard=2",), ("mesh.shard=4", "recompute.policy=block")):
        a, b = Plan(archive, settings), Plan(config, settings)
        for entry in ("train_step", "eval_step"):
            expect(len(launches(b, entry)) > 5, f"{name}: {entry} has no launches")
            expect_equal(launches(a, entry), launches(b, entry), f"{name}, {settings}: launches of {entry}")
        kinds = lambda plan: sorted((c["kind"], c["entry"], c["bytes_in"], c["bytes_out"], c["segments"]) for c in plan.description["collectives"])
        expect_equal(kinds(a), kinds(b), f"{name}, {settings}: collectives")
        # The shifted labels have a buffer; the placement of the others changes with it.
        labels = 4 * 16 * 4
        live = a.arena()["peak_live"] - b.arena()["peak_live"]
        expect(0 <= live <= labels, f"{name}, {settings}: {live} more bytes live at the peak")
        more = a.arena()["bytes"] - b.arena()["bytes"]
        expect(abs(more) <= 2 * labels, f"{name}, {settings}: {more} more bytes of the device")
        expect_equal(len(a.units()), 3, f"{name}: units")
        if len(settings) < 2:
            found, wanted = (train(plan, "--init", init, "--order", "sequential", data=data)
                             for plan, init, data in ((a, weights, given), (b, renamed, shifted)))
            expect_equal(found.loss, wanted.loss, f"{name}, {settings}: losses")
            expect_equal(sorted(tensors(found.weights).values()), sorted(tensors(wanted.weights).values()), f"{name}, {settings}: weights")


def check_near_routes(name, different):
    """The classes of `name` compute in another order: only the launches of the kernels `different` differ in number, and the numbers agree to rounding."""
    archive, weights, config, renamed = both_routes(name)
    given, shifted = rows()
    for settings in ((), ("mesh.shard=2",)):
        a, b = Plan(archive, settings), Plan(config, settings)
        first, second = (collections.Counter(launches(plan, "train_step")) for plan in (a, b))
        expect_equal({kernel for kernel in first | second if first[kernel] != second[kernel]}, different, f"{name}: kernels with other numbers of launches")
        found, wanted = (train(plan, "--init", init, "--order", "sequential", data=rows_of_run)
                         for plan, init, rows_of_run in ((a, weights, given), (b, renamed, shifted)))
        expect(all(abs(x - y) <= 1e-6 * abs(y) for x, y in zip(found.loss, wanted.loss, strict=True)), f"{name}, {settings}: losses {found.loss} and {wanted.loss}")


@test
def gemma2():
    """The model of the config has separate constants for each norm and mask."""
    check_near_routes("gemma2", {"constant"})


@test
def opt():
    """Queries are scaled before the product, not scores after it."""
    check_near_routes("opt", {"scale"})


@test
def gpt2():
    check_routes("gpt2")


@test
def llama():
    check_routes("llama")


@test
def mistral():
    check_routes("mistral")


@test
def olmo2():
    check_routes("olmo2")


@test
def qwen2():
    check_routes("qwen2")


main()
