"""The peer of test/bench/conv.sh: the memory tests' convolutional model in one process, one JSON line.

    python conv_cpu.py [--hidden 32] [--batch 2] [--side 224] [--steps 12]

Times leave out the first two steps.
"""

import argparse
import json
import os
import statistics
import time

import torch
from torch import nn

WARM_UP = 2


def block(channels, out, kernel, padding):
    return [nn.Conv2d(channels, out, kernel, padding=padding), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    hidden = options.hidden
    model = nn.Sequential(*block(3, 64, 3, 0), *block(64, hidden, 5, 2), *block(hidden, hidden, 5, 2),
                          *block(hidden, hidden, 5, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(hidden, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    seconds = []
    for _ in range(options.steps):
        image = torch.randn(options.batch, 3, options.side, options.side)
        began = time.perf_counter()
        loss = model(image)[0].sum() ** 2
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"torch": torch.__version__, "median_step_s": statistics.median(seconds[WARM_UP:])}))


if __name__ == "__main__":
    main()
