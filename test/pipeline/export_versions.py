"""Archives of three modules by four versions of torch give one model and the same weights."""

import zipfile

from sluice import *

VERSIONS = REFERENCE / "export-versions"


def imported(version, name):
    """The model without locations, and the weights."""
    path, model = VERSIONS / version / f"{name}.pt2", SCRATCH / f"{name}-{version}.mlir"
    with zipfile.ZipFile(path) as archive:
        program = json.loads(next(archive.read(entry) for entry in archive.namelist() if entry.endswith("models/model.json")))
    expect_equal(program["torch_version"].split("+")[0], version, f"{path}: the version that wrote it")
    run("sluice-import", "export", path, "-o", model, "--weights", model.with_suffix(".safetensors"))
    lines = [re.sub(r" loc\(.*", "", line) for line in model.read_text().splitlines() if not line.startswith("#loc")]
    return lines, tensors(model.with_suffix(".safetensors").read_bytes())


@test
def equal_models():
    versions = sorted(folder.name for folder in VERSIONS.iterdir())
    expect_equal(versions, ["2.11.0", "2.13.0", "2.15.0", "2.9.1"], "versions")
    for name, op in (("transformer", "model.attention"), ("average", "model.stop_gradient"), ("images", "model.batch_norm")):
        lines, weights = imported("2.15.0", name)
        expect(any(f"{op} " in line for line in lines) and len(weights) > 1, f"{name}: no {op}")
        for version in versions[:2] + versions[3:]:
            expect_equal(imported(version, name), (lines, weights), f"{name}: model and weights of torch {version} and 2.15.0")


main(no_empty_loops=True)
