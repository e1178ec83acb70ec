"""Prints where the time of a build went, from the log of ninja.

usage: build_times.py BUILD [--depth N]

For each folder of outputs, N levels deep (2): the number of commands and the sum of their seconds, each command counted alone; then the sum of all, and
the time from the first to the last. A command that ran several times is counted once, with its last run. Commands of one build only: remove
BUILD/.ninja_log before it. Sums depend on the load of the machine: compare builds of one day, one after the other.
"""

import argparse
import collections
from pathlib import Path


def commands(log):
    """(begin, end, outputs) of each command, in milliseconds. Outputs of one command have one hash and one begin."""
    last = {}
    for line in log.read_text().splitlines()[1:]:
        begin, end, _, output, command = line.split("\t")
        last[output] = (int(begin), int(end), command)
    groups = collections.defaultdict(list)
    for output, key in last.items():
        groups[key].append(output)
    return [(begin, end, outputs) for (begin, end, _), outputs in groups.items()]


def folder_of(output, depth):
    return "/".join(part for part in output.split("/")[:-1] if part not in ("CMakeFiles", "Unity") and not part.endswith(".dir"))\
        .split("/", depth)[:depth]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--depth", type=int, default=2)
    options = parser.parse_args()
    done = commands(options.build / ".ninja_log")
    seconds, counts = collections.Counter(), collections.Counter()
    for begin, end, outputs in done:
        folder = "/".join(folder_of(outputs[0], options.depth)) or "."
        seconds[folder] += (end - begin) / 1000
        counts[folder] += 1
    for folder, total in seconds.most_common():
        print(f"{folder:32} {counts[folder]:5} commands {total:8.0f} s")
    first, last = min(each[0] for each in done), max(each[1] for each in done)
    print(f"{'all':32} {len(done):5} commands {sum(seconds.values()):8.0f} s, {(last - first) / 1000:.0f} s elapsed")


if __name__ == "__main__":
    main()
