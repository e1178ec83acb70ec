"""traces.py MEASURED PREDICTED: both traces have the same instructions of train_step, by name, stream, number and repetition."""

import json
import sys
from collections import Counter


def spans(path):
    events = json.load(open(path))["traceEvents"]
    streams = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for event in events:
        if event["ph"] == "X" and event["args"]["entry"] == "train_step":
            args = event["args"]
            yield event["pid"], (event["name"], streams[event["pid"], event["tid"]], args["instruction"], args["repetition"])


def main():
    measured, predicted = list(spans(sys.argv[1])), list(spans(sys.argv[2]))
    ranks = {rank for rank, _ in measured}
    expected = Counter(key for _, key in predicted)
    steps = {Counter(key for of, key in measured if of == rank)[key] // count for rank in ranks for key, count in expected.items()}
    assert len(steps) == 1, steps
    assert {key for _, key in measured} == set(expected), {key for _, key in measured} ^ set(expected)
    print(f"{len(ranks)} ranks, {steps.pop()} steps, the same instructions")


if __name__ == "__main__":
    main()
