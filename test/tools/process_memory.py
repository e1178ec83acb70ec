"""process_memory.py RUN.jsonl...: in each run's summary, predicted and measured growth of the process agree."""

import sys

from sluice import read_log

failed = False
for name in sys.argv[1:]:
    _, summary = read_log(name)
    predicted, measured = summary["predicted_process"], summary["measured_process"]
    allowed = max(0.02 * measured, 4 << 20)
    if measured <= 0 or abs(predicted - measured) > allowed:
        print(f"{name}: predicted {predicted}, measured {measured}, expected a difference of at most {allowed:.0f}")
        failed = True
sys.exit(failed)
