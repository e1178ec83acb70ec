"""Logs of runs with and without evaluations.

eval_loss.py PLAIN.jsonl WITH.jsonl STEP...   the same steps and memory; the second has an eval_loss at these steps alone
eval_loss.py --same A.jsonl B.jsonl            the same eval_loss at the same steps
eval_loss.py --last EVALUATED.jsonl... TRAINED.jsonl   the last eval_loss of each is the first loss of the last
"""

import sys

from sluice import read_log


def main():
    if sys.argv[1] == "--last":
        expected = read_log(sys.argv[-1])[0][0]["loss"]
        for name in sys.argv[2:-1]:
            got = read_log(name)[0][-1]["eval_loss"]
            assert abs(got - expected) <= 2e-6 * expected, f"{name}: eval_loss {got}, expected {expected}"
        print("one loss")
        return
    if sys.argv[1] == "--same":
        a, b = ([(line["step"], line["eval_loss"]) for line in read_log(name)[0] if "eval_loss" in line] for name in sys.argv[2:])
        assert a and a == b, (a, b)
        print("the same evaluations")
        return
    (plain, memory), (evaluated, memory_too) = read_log(sys.argv[1]), read_log(sys.argv[2])
    times = {"step_ms", "tokens_per_s", "eval_loss"}
    for a, b in zip(plain, evaluated, strict=True):
        assert "eval_loss" not in a
        assert ("eval_loss" in b) == (str(b["step"]) in sys.argv[3:]), b
        assert {k: v for k, v in a.items() if k not in times} == {k: v for k, v in b.items() if k not in times}, (a, b)
    losses = [line["eval_loss"] for line in evaluated if "eval_loss" in line]
    assert sorted(losses, reverse=True) == losses and losses[0] > losses[-1], f"{losses} do not fall"
    for key in ("predicted_peak", "measured_peak", "predicted_process"):
        assert memory[key] == memory_too[key], (memory, memory_too)
    print("the same training in the same memory")


if __name__ == "__main__":
    main()
