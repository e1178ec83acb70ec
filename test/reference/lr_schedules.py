"""lr_schedules.py OUT.json: the learning rates of transformers' get_scheduler, for test/tools/learning_rates.py.

Each case has the settings of Sluice's schedule and the rates of steps 0 to total_steps, counted as transformers counts them: the first update has rate 0 of the list.
Run with a Python that has torch and transformers.
"""

import json
import sys

import torch
from transformers import get_scheduler

PEAK = 0.5


def rates(name, warmup, total, **more):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    scheduler = get_scheduler(name, optimizer, num_warmup_steps=warmup, num_training_steps=total, scheduler_specific_kwargs=more)
    found = []
    for _ in range(total + 1):
        found.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return found


def case(name, warmup, total, theirs, lowest=0.0, decay=None, **more):
    settings = {"lr_schedule.name": name, "optimizer.lr": PEAK, "lr_schedule.warmup_steps": warmup, "lr_schedule.total_steps": total, "lr_schedule.min_lr": lowest}
    if decay is not None:
        settings["lr_schedule.decay_steps"] = decay
    return {"settings": settings, "get_scheduler": theirs, "rates": rates(theirs, warmup, total, **more)}


cases = [case("constant", 4, 12, "constant_with_warmup"), case("linear", 4, 12, "linear"), case("cosine", 4, 12, "cosine"), case("cosine", 1, 12, "cosine"),
         case("cosine", 4, 12, "cosine_with_min_lr", lowest=0.1, min_lr=0.1),
         case("wsd", 4, 12, "warmup_stable_decay", decay=5, num_decay_steps=5, decay_type="1-sqrt"),
         case("wsd", 2, 12, "warmup_stable_decay", num_decay_steps=3, decay_type="1-sqrt")]
with open(sys.argv[1], "w") as file:
    json.dump(cases, file, indent=1)
    file.write("\n")
