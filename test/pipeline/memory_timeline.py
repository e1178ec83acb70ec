"""The live bytes of device memory at every instruction of a plan, from the output of `sluice-plan print`."""

import re

from sharding_tools import run


class MemoryTimeline:
    """Live bytes by class at every instruction of an entry point."""

    def __init__(self, plan, entry="train_step"):
        text = run("sluice-plan", "print", plan.path).stdout
        step = text.split(f"entry {entry}")[1].split("\nentry ")[0]
        self.phases = [match[1] for match in re.finditer(r"^ +\d+ \w+ \S+ (\w+) \S+?(?: recompute)?:", step, re.M)]
        self.buffers = []
        # Lifespans of gathered parameters, by name.
        self.gathers = {}
        for match in re.finditer(rf"^buffer \d+ %(\S+)\.gathered\.\d+:\S+ device gathered at \d+ bytes \d+ {entry} \[(\d+), (\d+)\)", text, re.M):
            self.gathers.setdefault(match[1], []).append((int(match[2]), int(match[3])))
        for match in re.finditer(r"^buffer \d+ \S+ device (\w+) at \d+ bytes (\d+) (persistent|(\w+) \[(\d+), (\d+)\))", text, re.M):
            if match[3] == "persistent":
                self.buffers.append((match[1], int(match[2]), 0, len(self.phases)))
            elif match[4] == entry:
                self.buffers.append((match[1], int(match[2]), int(match[5]), int(match[6])))

    def at(self, instruction, classes=None):
        return sum(size for kind, size, begin, end in self.buffers if begin <= instruction < end and
                   (classes is None or kind in classes))

    def peak(self, phases, without=()):
        """Over the instructions of these phases, of all classes but some."""
        kinds = {kind for kind, *_ in self.buffers} - set(without)
        return max((self.at(i, kinds) for i, phase in enumerate(self.phases) if phase in phases), default=0)
