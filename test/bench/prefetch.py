"""prefetch.py [--machine FILE] [--seconds S] [--rounds N]: steps with the chosen prefetch and with fixed distances, by the clock of this CPU.

Of the plans of prediction.py that gather, each is compiled with "auto" distances for this machine (calibrated, or FILE) and with fixed ones. In each of N
rounds (default 8) every different plan runs for about S seconds (default 1), the chosen one first in even rounds and last in odd ones. Prints for each plan
the least of the rounds' median steps, because other work only lengthens steps, its ratio to the chosen one, and in brackets the largest median. Exits with 1
if a fixed distance is more than 2 % faster. Needs sluice-import, sluice-compile, sluice-plan and sluice-train in PATH, and a quiet machine.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from prediction import PLANS, run, train

CHOICES = ["auto", 0, 1, 2, 4]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    slower = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = options.machine or folder / "cpu.toml"
        if not options.machine:
            run("sluice-plan", "calibrate", "-o", machine)
        print("| plan | " + " | ".join(f"`{choice}`" for choice in CHOICES) + " |\n|" + "---|" * (len(CHOICES) + 1), flush=True)
        for title, arguments, settings in PLANS:
            if not any(setting.startswith("mesh.shard") for setting in settings):
                continue
            run("sluice-import", *arguments, "-o", folder / "m.mlir")
            plans, steps = {}, 0
            for choice in CHOICES:
                path = folder / f"{choice}"
                path.mkdir(exist_ok=True)
                words = [word for setting in settings + [f"schedule.forward_prefetch={choice}", f"schedule.backward_prefetch={choice}"] for word in ("--set", setting)]
                run("sluice-compile", folder / "m.mlir", *words, *(["--machine", machine] if choice == "auto" else []), "-o", path / "m.plan")
                plans.setdefault((path / "m.plan").read_bytes(), []).append(choice)
                steps = steps or max(6, int(options.seconds / json.loads(run("sluice-plan", "simulate", path / "m.plan", "--machine", machine, "--json"))["step_s"]))
            times = {choices[0]: [] for choices in plans.values()}
            for number in range(options.rounds):
                for choice in list(times)[:: -1 if number % 2 else 1]:
                    times[choice].append(train(folder / f"{choice}", steps)[0])
            most, of = ({choice: pick(times[choices[0]]) for choices in plans.values() for choice in choices} for pick in (max, min))
            print(f"| {title} | " + " | ".join(f"{of[choice]:.2f} ms, {of[choice] / of['auto']:.3f} ({most[choice]:.0f})" for choice in CHOICES) + " |", flush=True)
            slower += [f"{title}: distance {choice} is faster" for choice in CHOICES if of[choice] < 0.98 * of["auto"]]
    print("\n".join(slower) or "no fixed distance is more than 2 % faster")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
