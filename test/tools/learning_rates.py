"""The learning-rate schedules' rates, as runs log them, against those of transformers' get_scheduler.

Sluice's rate of step n, counted from 1, is get_scheduler's of step n counted from 0: no step has rate 0, the peak occurs once, and the last step has `min_lr`. The page's
pictures and its table of first and last rates are those of the runs and of get_scheduler.
"""

# REQUIRES: compiler

from sluice import *

PAGE = ROOT / "docs" / "recipe.md"
CASES = json.loads((REFERENCE / "lr-schedules.json").read_text())
# Of the page's pictures: one column per step.
PICTURE = {"optimizer.lr": 0.5, "lr_schedule.warmup_steps": 4, "lr_schedule.total_steps": 40, "lr_schedule.min_lr": 0.05}
ROWS = 5


def logged(settings, steps):
    plan, log = SCRATCH / "p.plan", SCRATCH / "run.jsonl"
    run("sluice-compile", zoo("mlp-sequence", "dim=2"), *set_options(f"{key}={value}" for key, value in settings.items()), "-o", plan)
    run("sluice-train", plan, "--data", "random:1", "--steps", steps, "--log", log, "--quiet")
    return [record["lr"] for record in map(json.loads, log.read_text().splitlines()) if "lr" in record]


@test
def rates_of_get_scheduler():
    for case in CASES:
        settings = case["settings"]
        found = logged(settings, settings["lr_schedule.total_steps"])
        expect_near(found, case["rates"][1:], 1e-6, f"{settings} against {case['get_scheduler']}")


@test
def one_peak_and_the_minimum_at_the_end():
    for name in ("linear", "cosine", "wsd"):
        for warmup, decay in ((0, 12), (1, 11), (4, 8), (11, 1)):
            settings = {"lr_schedule.name": name, "optimizer.lr": 0.5, "lr_schedule.warmup_steps": warmup, "lr_schedule.total_steps": 12, "lr_schedule.min_lr": 0.125}
            if name == "wsd":
                settings["lr_schedule.decay_steps"] = 11 if warmup == 0 else decay
            found = logged(settings, 14)
            expect_equal((found.count(0.5), found[11:]), (1, [0.125] * 3), f"peaks and last rates of {settings}: {found}")
            expect_equal(found.index(0.5), max(warmup, 1) - 1, f"step of the peak of {settings}")


def picture(name):
    rates = logged({"lr_schedule.name": name} | PICTURE, PICTURE["lr_schedule.total_steps"])
    heights = [math.ceil(rate / PICTURE["optimizer.lr"] * ROWS - 1e-4) for rate in rates]
    return ["".join("#" if height == row else " " for height in heights).rstrip() for row in range(ROWS, 0, -1)]


@test
def page_has_the_pictures():
    text = PAGE.read_text()
    for name in ("constant", "linear", "cosine", "wsd"):
        lines = picture(name)
        expect("\n".join(["", *lines, ""]) in text, f"expected the picture of {name}\n" + "\n".join(lines))


main()
