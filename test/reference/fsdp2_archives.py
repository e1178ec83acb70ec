"""Peak memory of PyTorch FSDP2 for models that are imported from archives of torch.export, by PyTorch's own tracker.

    python3 fsdp2_archives.py [NAME...]        (torch 2.15.0, transformers 5.24.0)

Writes fsdp2-archives/NAME.pt2, without the values of parameters, and fsdp2-archives.json; models of export-sharding/ have their archives there.
With names only these are measured again. One rank of a fake process group runs two steps under FSDPMemTracker on fake tensors: no values exist and
nothing is computed, but each op allocates what it would on the CPU.

The training loop is

    model(*inputs)["loss"].backward(); optimizer.step(); optimizer.zero_grad()

with the loss inside of the module. The units are the numbered blocks, and the root.
"""

import copy
import json
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import transformers
from export_routes import without_folders
from export_sharding import Loss, models, without_parameters
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

FOLDER = Path(__file__).resolve().parent
ARCHIVES = FOLDER / "fsdp2-archives"
SIZES = {"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 4096, "max_position_embeddings": 256}
CASES = ((4, False, None), (8, True, "bfloat16"))
GROUPED = {**SIZES, "num_key_value_heads": 2}


class Causal(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, labels):
        return {"loss": self.model(input_ids=input_ids, labels=labels, use_cache=False).loss}


def causal():
    """Models of transformers that are not in export-sharding/."""
    c = transformers
    plain = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    yield "gpt2", c.GPT2LMHeadModel(c.GPT2Config(n_embd=512, n_layer=4, n_head=8, vocab_size=4096, n_positions=256, **plain))
    yield "gpt2-dropout", c.GPT2LMHeadModel(c.GPT2Config(n_embd=512, n_layer=4, n_head=8, vocab_size=4096, n_positions=256))
    yield "llama", c.LlamaForCausalLM(c.LlamaConfig(**GROUPED, tie_word_embeddings=False))
    yield "qwen2", c.Qwen2ForCausalLM(c.Qwen2Config(**GROUPED, tie_word_embeddings=True, use_sliding_window=False))
    yield "mistral", c.MistralForCausalLM(c.MistralConfig(**GROUPED, sliding_window=None))
    yield "opt", c.OPTForCausalLM(c.OPTConfig(hidden_size=512, ffn_dim=2048, num_hidden_layers=4, num_attention_heads=8, vocab_size=4096,
                                              max_position_embeddings=256, word_embed_proj_dim=512, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0))
    yield "gpt-neox", c.GPTNeoXForCausalLM(c.GPTNeoXConfig(**SIZES, hidden_dropout=0.0, attention_dropout=0.0))


def cases():
    """Name, folder of the archive, module and inputs."""
    for name, model, inputs in models():
        if name == "mixer":
            continue
        yield name, "export-sharding", model, inputs
    rows = torch.zeros(4, 256, dtype=torch.int64)
    for name, model in causal():
        yield name, "fsdp2-archives", Causal(model), (rows, rows.clone())


def blocks_of(model):
    """Paths of the children of the module lists that are in no other list."""
    paths = []
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.ModuleList) and not any(path.startswith(other + ".") for other in paths):
            paths += [f"{path}.{name}" for name, _ in module.named_children()]
    return paths


def make_fake(model, mode):
    """Replaces parameters and buffers; tied ones stay tied."""
    fakes = {}

    def fake(tensor):
        if isinstance(tensor, torch.nn.Parameter):
            return torch.nn.Parameter(mode.from_tensor(tensor.detach()), tensor.requires_grad)
        return mode.from_tensor(tensor)

    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    if id(tensor) not in fakes:
                        fakes[id(tensor)] = (tensor, fake(tensor))
                    tensors[name] = fakes[id(tensor)][1]


def measure(model, inputs, units, mesh, checkpoint, compute):
    options = {"mesh": mesh}
    if compute:
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=getattr(torch, compute), reduce_dtype=torch.float32)
    for path in units:
        module = model.get_submodule(path)
        if checkpoint:
            module = checkpoint_wrapper(module)
            parent, _, name = path.rpartition(".")
            model.get_submodule(parent).register_module(name, module)
        fully_shard(module, reshard_after_forward=True, **options)
    fully_shard(model, reshard_after_forward=False, **options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    tracker = FSDPMemTracker(model, optimizer)
    tracker.track_inputs(inputs)
    with tracker:
        for step in range(2):
            model(*inputs)["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
            if step == 0:
                tracker.reset_mod_stats()
    peak = {getattr(kind, "name", "total"): size for kind, size in tracker.get_tracker_snapshot("peak")[torch.device("cpu")].items()}
    return {"peak": peak.pop("total"), "parts": {name.lower(): size for name, size in peak.items() if size}}


def main():
    warnings.filterwarnings("ignore")
    ARCHIVES.mkdir(exist_ok=True)
    out = FOLDER / "fsdp2-archives.json"
    found = {case["name"]: case for case in json.loads(out.read_text())["models"]} if out.exists() else {}
    for name, folder, model, inputs in cases():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        path = FOLDER / folder / f"{name}.pt2"
        if folder == "fsdp2-archives":
            torch.export.save(torch.export.export(model.train(), inputs, strict=False), path)
            without_folders(path)
            without_parameters(path)
        units, results = blocks_of(model), []
        for shard, checkpoint, compute in CASES:
            # PyTorch refuses checkpoints of T5's blocks: the recomputation saves other tensors.
            if checkpoint and name == "t5":
                continue
            dist.init_process_group("fake", rank=0, world_size=shard, store=FakeStore())
            mesh = init_device_mesh("cpu", (shard,))
            module, mode = copy.deepcopy(model).train(), FakeTensorMode(allow_non_fake_inputs=True)
            make_fake(module, mode)
            with mode:
                measured = measure(module, tuple(mode.from_tensor(x) for x in inputs), units, mesh, checkpoint, compute)
            dist.destroy_process_group()
            results.append({"shard": shard, "checkpoint": checkpoint, "compute": compute, **measured})
            print(name, results[-1], flush=True)
        found[name] = {"name": name, "archive": f"{folder}/{name}.pt2", "units": units, "cases": results}
    out.write_text(json.dumps({"torch": torch.__version__, "models": sorted(found.values(), key=lambda model: model["name"])}, indent=1) + "\n")


if __name__ == "__main__":
    main()
