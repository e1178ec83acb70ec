"""The phases of the compiler, with all passes and without some.

Settings of a recipe may begin with "zoo NAME", which replaces the GPT-2 model.
"""

from sluice import *


def pipeline():
    """The passes of the compiler with their options, by phase."""
    empty = SCRATCH / "empty.mlir"
    empty.write_text("module {}\n")
    listing = run("sluice-compile", "--help").stdout
    phases = re.findall(r"^  (\w+): ", listing[listing.index("Phases:"):], re.M)
    passes = {}
    for phase in phases[:-1]:
        # The passes refuse the empty module after they are printed.
        text = try_run("sluice-opt", empty, f"-sluice-{phase}", "--dump-pass-pipeline", "--verify-each=0").stderr
        # Options without a value are left out.
        passes[phase] = [(name, " ".join(option for option in options.split() if not option.endswith("=")))
                         for name, options in re.findall(r"^ +([a-z-]+)(?:\{([^}]*)\})?", text, re.M)]
    return passes


def model_of(settings):
    return zoo(settings[0].removeprefix("zoo ")) if settings[0].startswith("zoo ") else gpt2_tiny(4, 64)


def settings_of(settings):
    return [setting for setting in settings if not setting.startswith("zoo ")]


def phases_of(settings):
    """The folder of the phases of the plan with all passes."""
    return SCRATCH / re.sub(r"\W+", "-", " ".join(settings))


def plan_of(settings):
    """The plan with all passes."""
    return Plan(model_of(settings), settings_of(settings), f"--dump-phases={phases_of(settings)}")


def first_module(settings):
    """The input of the first phase: the model with its recipe and its digest."""
    first = sorted(phases_of(settings).iterdir())[0].read_text()
    # One level of braces: tables within the recipe contain none.
    recipe = re.search(r"model\.recipe = \{(?:[^{}]|\{[^{}]*\})*\}", first)[0]
    digest = re.search(r'model\.source_digest = "\w+"', first)[0]
    path = SCRATCH / "first.mlir"
    path.write_text(model_of(settings).read_text().replace("attributes {", f"attributes {{{recipe}, {digest}, ", 1))
    return path


def module_before(phases, phase, settings):
    """The input of a phase."""
    plan_of(settings)
    at = list(phases).index(phase)
    return sorted(phases_of(settings).iterdir())[at - 1] if at else first_module(settings)


def run_phase(phases, phase, passes, settings, before=None):
    """The module after a phase that consists of these passes; the error's text if they refuse it. `before`: the input, if it is not that of the phase."""
    before = before or module_before(phases, phase, settings)
    at = list(phases).index(phase)
    after = SCRATCH / "after.mlir"
    done = try_run("sluice-opt", before, f"-pass-pipeline=builtin.module({','.join(passes)})", "--mlir-print-debuginfo", "-o", after)
    if done.returncode != 0:
        return None, done.stderr
    text = after.read_text()
    marked = re.sub(r'(model\.compiled_to = )"\w+"', rf'\1"{phase}"', text, count=1)
    if at == 0:
        marked = text.replace("attributes {", f'attributes {{model.compiled_to = "{phase}", ', 1)
    after.write_text(marked)
    return after, ""


def plan_without(phases, phase, name, settings):
    """The plan without a pass, or the error's text."""
    after, error = run_phase(phases, phase, [p for p in phases[phase] if p != name], settings)
    if after is None:
        return None, error
    try:
        return Plan(after), ""
    except Failed as failure:
        return None, str(failure)


def phases_and_passes():
    """The passes by phase, with the axis that a pass is for."""
    return {phase: [f"{name}{{{axis[0]}}}" if (axis := re.findall(r"axis=\w+", options)) else name for name, options in passes]
            for phase, passes in pipeline().items()}
