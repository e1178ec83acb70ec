"""simulate.py PREDICTION TRACE: the numbers of `sluice-plan simulate --json` agree with each other and with the trace."""

import json
import math
import sys


def main():
    prediction, trace = (json.load(open(path)) for path in sys.argv[1:])
    collectives = prediction["collectives"]
    exposed = sum(each["exposed_s"] for each in collectives)
    assert math.isclose(prediction["exposed_communication_s"], exposed, rel_tol=1e-9), exposed
    for each in collectives:
        assert -1e-12 <= each["exposed_s"] <= each["s"] + 1e-12, each
        assert bool(each["because"]) == (each["exposed_s"] > 0), each
    assert [each["i"] for each in collectives] == sorted(each["i"] for each in collectives)
    # Work and waits of the main stream are its time, but for the end of the last run's other streams.
    total = prediction["work_s"] + exposed + prediction["other_waits_s"]
    assert 0.8 * prediction["step_s"] <= total <= 1.01 * prediction["step_s"], (total, prediction["step_s"])
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert sum(event["name"].startswith("all_gather") for event in spans) == sum(each["kind"] == "all_gather" for each in collectives)
    ends = {}
    for event in spans:
        begin, end = event["ts"], event["ts"] + event["dur"]
        assert begin >= ends.get(event["tid"], begin) - 0.002, event
        ends[event["tid"]] = end
    assert prediction["step_s"] * 1e6 >= 0.9 * (max(ends.values()) - min(event["ts"] for event in spans if event["ts"] >= 0))
    print("the numbers agree")


if __name__ == "__main__":
    main()
