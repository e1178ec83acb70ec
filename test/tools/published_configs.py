"""published_configs.py CONFIGS.json: `sluice-import hf` accepts the configs of published checkpoints.

CONFIGS.json has the values of each checkpoint's config.json by its name, and `parameters`: the number of parameters of
the model that transformers builds from it. A factor "48 x 1" is a list of 48 ones. With --parameters, which needs torch
and transformers, prints the file with the numbers that transformers has.
"""

import json
import math
import re
import sys
import tempfile
from pathlib import Path

from sluice import try_run


def expanded(config):
    """The config.json: without the number of parameters, with lists of factors."""
    config = {key: value for key, value in config.items() if key != "parameters"}
    scaling = config.get("rope_scaling") or {}
    for name in ("short_factor", "long_factor"):
        if name in scaling:
            count, factor = scaling[name][0].split(" x ")
            config["rope_scaling"] = config["rope_scaling"] | {name: [float(factor)] * int(count)}
    return config


def parameters_of(config):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    with tempfile.TemporaryDirectory() as folder, torch.device("meta"):
        (Path(folder) / "config.json").write_text(json.dumps(config))
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    return sum(parameter.numel() for parameter in model.parameters())


def main():
    configs = json.loads(Path(sys.argv[1]).read_text())
    if sys.argv[2:] == ["--parameters"]:
        lines = [f"{json.dumps(name)}: {json.dumps(config | {'parameters': parameters_of(expanded(config))})}" for name, config in configs.items()]
        print("{\n" + ",\n".join(lines) + "\n}")
        return
    failures = 0
    for name, config in configs.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.json"
            path.write_text(json.dumps(expanded(config)))
            done = try_run("sluice-import", "hf", path, "--batch", 1, "--sequence", 8, "--train-only", "--verbose", "-o", "-")
        shapes = re.findall(r"model\.parameter @\S+ : tensor<([0-9x]+)xf32>", done.stdout)
        count = sum(math.prod(map(int, shape.split("x"))) for shape in shapes)
        if done.returncode != 0 or count != config["parameters"]:
            failures += 1
            print(f"{name}: {done.stderr.strip()}: expected {config['parameters']} parameters but got {count}")
        without = [line.split("'")[1] for line in done.stderr.splitlines() if line.startswith("note: no effect")]
        print(f"{name}: no effect: {' '.join(without)}")
    print(f"{len(configs)} configs, {failures} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
