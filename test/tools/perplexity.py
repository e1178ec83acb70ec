"""perplexity.py EVALUATION TRAINING: the evaluation's loss is the last one of the training's log, and exp(loss) the perplexity."""

import json
import math
import sys

evaluation = json.loads(open(sys.argv[1]).readline())
trained = [json.loads(line) for line in open(sys.argv[2])]
expected = next(line["eval_loss"] for line in reversed(trained) if "eval_loss" in line)
assert evaluation["step"] == 0 and evaluation["eval_loss"] == expected, (evaluation, expected)
assert math.isclose(evaluation["perplexity"], math.exp(expected), rel_tol=1e-6), evaluation
print("one loss, and its perplexity")
