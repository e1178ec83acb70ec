"""Rows of several documents: the numbers of transformers, and those of each document alone."""

import random

from sluice import *

PACKED = REFERENCE / "packed"
LENGTH = 32


def read_tensors(path):
    """The tensors of a safetensors file by name, each as a flat list."""
    header, data = split_safetensors(Path(path).read_bytes())
    formats = {"I32": "i", "F32": "f", "I64": "q"}
    return {name: struct.unpack(f"<{(b - a) // struct.calcsize(formats[entry['dtype']])}{formats[entry['dtype']]}", data[a:b])
            for name, entry in header.items() if name != "__metadata__" for a, b in [entry["data_offsets"]]}


def write_rows(path, rows):
    """`rows`: for each row its tokens, targets and documents."""
    header, data = {}, b""
    for name, values in zip(("tokens", "targets", "documents"), zip(*rows)):
        part = struct.pack(f"<{LENGTH * len(rows)}i", *(value for row in values for value in row))
        header[name] = {"dtype": "I32", "shape": [len(rows), LENGTH], "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    path.write_bytes(join_safetensors(header, data))
    return path


def pack(documents):
    """A row of these documents, one after the other, and padding."""
    tokens, targets, starts = [], [], []
    for document in documents:
        starts += [len(tokens)] * len(document)
        tokens += document
        targets += [*document[1:], -100]
    filled, rest = len(tokens), LENGTH - len(tokens)
    assert rest >= 0
    return tokens + [0] * rest, targets + [-100] * rest, starts + [filled] * rest


def losses(plan, init, rows):
    """The loss of each token that has a target, by row and position: one step for each, in which it is the only one."""
    single = [(tokens, [target if i == at else -100 for i, target in enumerate(targets)], documents)
              for tokens, targets, documents in rows for at in range(LENGTH) if targets[at] != -100]
    places = [(row, at) for row, (_, targets, _) in enumerate(rows) for at in range(LENGTH) if targets[at] != -100]
    data = write_rows(SCRATCH / f"rows-{next(numbers)}.safetensors", single)
    return dict(zip(places, train(plan, "--init", init, steps=len(single), data=data).loss))


def plan_of(name, settings=(), batch=1):
    return Plan(hugging_face(json.loads((PACKED / name / "config.json").read_text()), batch, LENGTH, "--packed"),
                ["optimizer.name=sgd", "optimizer.lr=0", *settings])


@test
def losses_and_gradients_of_transformers():
    for name in ("gpt2", "llama", "gemma2"):
        folder, wanted = PACKED / name, json.loads((PACKED / name / "expected.json").read_text())
        tensors = read_tensors(folder / "expected.safetensors")
        split = lambda key: [list(tensors[key][i * LENGTH:(i + 1) * LENGTH]) for i in range(wanted["rows"])]
        rows = list(zip(split("input_ids"), split("targets"), split("start")))
        init = folder / "model.safetensors"
        found = losses(plan_of(name).check(), init, rows)
        expected = split("losses")
        expect(len(found) == wanted["counted_tokens"], f"{name}: {len(found)} losses")
        for (row, at), loss in found.items():
            expect(abs(loss - expected[row][at]) <= 5e-6, f"{name}: loss of token {at} of row {row}: expected {expected[row][at]} but got {loss}")
        data = write_rows(SCRATCH / f"{name}.safetensors", rows)
        for settings in ([], ["mesh.shard=2"], ["gradient.microbatches=2"], ["mesh.tensor=2", "sharding.tensor=megatron"], ["recompute.policy=block"]):
            batch = 1 if any(word in str(settings) for word in ("shard", "micro")) and "tensor" not in str(settings) else 2
            plan = plan_of(name, [*settings, f"optimizer.lr={wanted['optimizer']['lr']}"], batch).check()
            run = train(plan, "--init", init, steps=1, data=data)
            expect_near(run.loss, [wanted["loss_f64"]], 1e-6, f"{name}, {settings}: loss")
            expect_near(run.norm, [wanted["grad_norm_f64"]], 2e-5 * wanted["grad_norm_f64"], f"{name}, {settings}: gradient norm")
            header, bytes_of = split_safetensors(run.weights)
            compared = 0
            for key in (key for key in tensors if key.startswith("after.")):
                name_of_weight = key.removeprefix("after.")
                entry = header.get(name_of_weight) or header.get(name_of_weight.removeprefix("transformer."))
                if entry is None:
                    continue
                a, b = entry["data_offsets"]
                values = struct.unpack(f"<{(b - a) // 4}f", bytes_of[a:b])
                largest = max(map(abs, tensors[key]))
                error = max(abs(x - y) for x, y in zip(values, tensors[key]))
                expect(len(values) == len(tensors[key]) and error <= 2e-5 * largest, f"{name}, {settings}: {key}: error {error} of {largest}")
                compared += 1
            expect(compared > 10, f"{name}: {compared} weights compared")


@test
def bits_of_each_document_alone():
    """Packed, alone in a row, and at another place in a row: equal losses, for random packings with documents of 1 and of 32 tokens."""
    draw = random.Random(5)
    for name in ("gpt2", "llama"):
        plan, init = plan_of(name), PACKED / name / "model.safetensors"
        vocabulary = json.loads((PACKED / name / "config.json").read_text())["vocab_size"]
        compared = 0
        for lengths in ([1, 2, 29], [32], [5, 1, 1, 9, 3], [draw.randint(1, 12) for _ in range(2)], [draw.randint(1, 6) for _ in range(5)]):
            documents = [[draw.randrange(vocabulary) for _ in range(length)] for length in lengths]
            together = losses(plan, init, [pack(documents)])
            at = 0
            for document in documents:
                own = {place - at: loss for (_, place), loss in together.items() if at <= place < at + len(document)}
                at += len(document)
                if len(document) == 1:
                    continue
                before = draw.randint(1, LENGTH - len(document)) if len(document) < LENGTH else 0
                other = [[draw.randrange(vocabulary) for _ in range(before)]] if before else []
                rows = [pack([document]), pack([*other, document])]
                # Targets of the other document do not count.
                rows[1][1][:before] = [-100] * before
                alone = losses(plan, init, rows)
                for place, loss in own.items():
                    expect(alone[0, place] == loss, f"{name}, {lengths}: token {place} of a document: {loss} packed and {alone[0, place]} alone")
                    expect(alone[1, before + place] == loss, f"{name}, {lengths}: token {place} of a document: {loss} and {alone[1, before + place]} {before} tokens later")
                    compared += 1
        expect(compared > 60, f"{name}: {compared} losses compared")


main()
