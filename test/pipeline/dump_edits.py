"""Edits of dumped phases: a line is deleted or repeated, or a number, symbol, value, attribute or enumerator of it is replaced. The module compiles, or the compiler
exits with 1 and an error with the file's name. The edits are drawn by a fixed seed, two lines of each phase."""

# REQUIRES: compiler

import random

from sluice import *

REPLACED = [(r"\d+", ["0", "1", "7", "99999"]), (r"@[\w.]+", ["@nowhere", "@h.0.attn.c_attn.weight", "@compute", "@mesh"]),
            (r"%\d+", ["%0", "%1", "%2", "%5"]), (r'(?:, )?[\w.]+ = (?:#[\w.]+<[^>]*>|"[^"]*"|\d+ : i64)', [""]),
            (r"(?<=<)(?:forward|backward|update|loss|device|host|mean|sum|first|last|train|eval)(?=>)", ["forward", "update", "host", "sum", "last", "eval"])]


def edits(draw, line):
    yield []
    yield [line, line]
    for pattern, others in REPLACED:
        if found := list(re.finditer(pattern, line)):
            match = draw.choice(found)
            yield [line[:match.start()] + draw.choice(others) + line[match.end():]]


@functools.cache
def dumps():
    folder = SCRATCH / "phases"
    run("sluice-compile", zoo("mlp-sequence", "dim=4"), *set_options(["mesh.shard=2", "gradient.microbatches=2"]), "--dump-phases", folder, "-o", SCRATCH / "p.plan")
    return folder


@test
def edited_dumps():
    folder, edited, count = dumps(), SCRATCH / "edited.mlir", 0
    draw = random.Random(7)
    for dump in sorted(folder.glob("*.mlir")):
        lines = dump.read_text().split("\n")
        for at in draw.sample(range(len(lines)), 2):
            for new in edits(draw, lines[at]):
                edited.write_text("\n".join(lines[:at] + new + lines[at + 1:]))
                done, count = try_run("sluice-compile", edited, "-o", SCRATCH / "p.plan"), count + 1
                located = re.search(r"edited\.mlir|\(at [\w.-]+\)", done.stderr) and "error: " in done.stderr and "internal error" not in done.stderr
                expect(done.returncode == 0 or (done.returncode == 1 and located),
                       f"{dump.name}:{at + 1} as {new}: expected an error with a location but got exit {done.returncode}\n{done.stderr}")
    expect(count > 60, f"edits, expected more than 60 but got {count}")


@test
def plan_that_the_checker_refuses():
    """An edit that only the checker finds: the error names the file."""
    edited = SCRATCH / "edited.mlir"
    text = (dumps() / "10-memory.mlir").read_text()
    edited.write_text(re.sub(r"\n *plan\.wait [^\n]*on @compute[^\n]*", "", text))
    done = try_run("sluice-compile", edited, "-o", SCRATCH / "p.plan")
    expect_equal(done.returncode, 1, "exit")
    for part in ("edited.mlir: the checker refuses the plan: P", "note: the input is the dump of a phase, which may have been edited"):
        expect(part in done.stderr, f"expected '{part}' but got\n{done.stderr}")


main()
