"""A plan that does not update a parameter is refused, whether an update is lost before or after the unsharded program is recorded."""

from sluice import *

PARAMETER = "0.lin.bias"


def without_updates(text, count):
    """The module without its first `count` writes to the parameter and its states."""
    kept, lost = [], 0
    for line in text.splitlines(True):
        if f'model.write @"{PARAMETER}"' in line and lost < count:
            lost += 1
        else:
            kept.append(line)
    expect_equal(lost, count, "writes of the parameter")
    return "".join(kept)


@test
def lost_updates_are_refused():
    module = SCRATCH / "recompute.mlir"
    run("sluice-compile", zoo("unused-linear"), *set_options(["mesh.shard=2"]), "--compile-to=recompute", "-o", module)
    # The parameter and two states, in the module; then also in the recorded program.
    for count in (0, 3, 6):
        edited = SCRATCH / f"without-{count}.mlir"
        edited.write_text(without_updates(module.read_text(), count))
        done = try_compile(edited, [])
        if count == 0:
            expect_equal(done.returncode, 0, "exit code of the unchanged module")
            continue
        expect_equal(done.returncode, 1, f"exit code without {count} writes")
        text = f"P10 each parameter is updated once: parameter '{PARAMETER}' is frozen, but a loss of the unsharded program depends on it"
        expect(text in done.stderr, f"without {count} writes: expected '{text}' but got {done.stderr}")


main()
