"""Peak memory of PyTorch FSDP2, by PyTorch's own tracker: writes fsdp2-memory.json.

    python3 fsdp2_memory.py [OUT]

Needs PyTorch 2.15 and no GPU. Each configuration is a model, written with PyTorch's modules and the names that
sluice-import gives, and a recipe. One rank of a fake process group runs two steps on the CPU under FSDPMemTracker
(torch.distributed._tools), which intercepts every operation: no collective communicates, but each allocates what it
would. The tracker counts the bytes of storages; the figures are the peak over both steps and its parts.

The training loop is

    out = model(x); loss = loss_of(out); loss.backward(); optimizer.step(); optimizer.zero_grad()
"""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore


class MLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.in_proj, self.out_proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return F.relu(self.out_proj(F.relu(self.in_proj(x))))


class MLPs(nn.Sequential):
    """The zoo's mlp-sequence."""

    def __init__(self, count, dim):
        super().__init__(*(MLP(dim) for _ in range(count)))

    def blocks(self):
        return range(len(self))


class GPT2Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.c_attn, self.c_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.c_fc, self.c_out = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        shape = (*x.shape[:2], self.heads, -1)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.c_proj(y)
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class LlamaBlock(nn.Module):
    def __init__(self, dim, heads, key_heads, hidden):
        super().__init__()
        self.heads, self.key_heads = heads, key_heads
        size = dim // heads
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.q_proj, self.o_proj = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(dim, key_heads * size, bias=False) for _ in range(2))
        self.gate_proj, self.up_proj = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x, cos, sin):
        def rotate(t):
            a, b = t.chunk(2, -1)
            return t * cos + torch.cat((-b, a), -1) * sin

        def heads(t, count):
            return t.view(*x.shape[:2], count, -1).transpose(1, 2)

        y = self.input_layernorm(x)
        q, k, v = rotate(heads(self.q_proj(y), self.heads)), rotate(heads(self.k_proj(y), self.key_heads)), heads(self.v_proj(y), self.key_heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.key_heads)
        x = x + self.o_proj(y.transpose(1, 2).reshape(x.shape))
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class GPT2(nn.Module):
    """Tied embedding, as the model family of Hugging Face."""

    def __init__(self, layers, dim, heads, vocabulary, positions):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, dim), nn.Embedding(positions, dim)
        self.h = nn.ModuleList(GPT2Block(dim, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(dim)

    def blocks(self):
        return self.h

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


class Llama(nn.Module):
    def __init__(self, layers, dim, heads, key_heads, hidden, vocabulary):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, dim)
        self.layers = nn.ModuleList(LlamaBlock(dim, heads, key_heads, hidden) for _ in range(layers))
        self.norm, self.lm_head = nn.RMSNorm(dim), nn.Linear(dim, vocabulary, bias=False)
        self.size = dim // heads

    def blocks(self):
        return self.layers

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        angles = torch.outer(torch.arange(tokens.shape[1]).float(), 1e4 ** (-torch.arange(0, self.size, 2) / self.size))
        cos, sin = (torch.cat((f(angles),) * 2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
        for block in self.layers:
            x = block(x, cos, sin)
        return self.lm_head(self.norm(x))


GPT2_TINY = {"layers": 4, "dim": 128, "heads": 4, "vocabulary": 512, "positions": 128}
LLAMA_TINY = {"layers": 4, "dim": 128, "heads": 4, "key_heads": 4, "hidden": 344, "vocabulary": 512}


def config(model, sizes, batch, shard=2, **recipe):
    return {"model": model, "sizes": sizes, "batch": batch, "shard": shard, "recipe": recipe}


# Optimizers are PyTorch's defaults on the CPU (not foreach, not fused).
CONFIGS = [
    config("mlp-sequence", {"count": 4, "dim": 512}, 256),
    config("mlp-sequence", {"count": 4, "dim": 512}, 256, shard=8),
    config("mlp-sequence", {"count": 4, "dim": 512}, 4096, shard=4, reshard=False),
    config("mlp-sequence", {"count": 3, "dim": 500}, 8, shard=3),
    config("mlp-sequence", {"count": 4, "dim": 512}, 256, shard=4, optimizer="sgd"),
    config("mlp-sequence", {"count": 4, "dim": 512}, 4096, shard=4, compute="bf16"),
    config("gpt2", GPT2_TINY, (4, 128)),
    config("gpt2", GPT2_TINY, (4, 128), shard=4, checkpoint=True),
    config("gpt2", GPT2_TINY, (8, 64), shard=4, reshard=False),
    config("gpt2", GPT2_TINY, (8, 128), compute="bf16"),
    config("gpt2", {**GPT2_TINY, "vocabulary": 8192}, (4, 128), shard=4, checkpoint=True),
    config("gpt2", GPT2_TINY, (4, 128), shard=4, optimizer="sgd"),
    config("llama", LLAMA_TINY, (4, 128)),
    config("llama", LLAMA_TINY, (4, 128), shard=4, checkpoint=True),
    config("llama", {**LLAMA_TINY, "vocabulary": 8192}, (4, 128), shard=8, compute="bf16", checkpoint=True),
    config("llama", LLAMA_TINY, (8, 128), shard=4, reshard=False),
    # The width of the tracker's test, and its types.
    config("mlp-sequence", {"count": 4, "dim": 2048}, 256, shard=4, compute="f16"),
    config("mlp-sequence", {"count": 4, "dim": 2048}, 256, shard=4, compute="f16", reshard=False),
]


def measure(case):
    recipe = case["recipe"]
    torch.manual_seed(0)
    model = {"mlp-sequence": MLPs, "gpt2": GPT2, "llama": Llama}[case["model"]](**case["sizes"])
    mesh = init_device_mesh("cpu", (case["shard"],))
    options = {"mesh": mesh, "mp_policy": MixedPrecisionPolicy()}
    if "compute" in recipe:
        compute = {"bf16": torch.bfloat16, "f16": torch.float16}[recipe["compute"]]
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=compute, reduce_dtype=torch.float32)
    blocks = model.blocks() if case["model"] != "mlp-sequence" else model
    for name, block in list(blocks.named_children()):
        if recipe.get("checkpoint"):
            block = checkpoint_wrapper(block)
            blocks.register_module(name, block)
        fully_shard(block, reshard_after_forward=recipe.get("reshard", True), **options)
    root = dict(options)
    if "mp_policy" in options:
        # The results of the model are f32.
        root["mp_policy"] = MixedPrecisionPolicy(options["mp_policy"].param_dtype, options["mp_policy"].reduce_dtype, output_dtype=torch.float32)
    fully_shard(model, **root)
    if recipe.get("optimizer") == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tracker = FSDPMemTracker(model, optimizer)

    def step(inputs):
        out = model(inputs[0])
        loss = out.sum() if len(inputs) == 1 else F.cross_entropy(out.flatten(0, 1), inputs[1].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    if case["model"] == "mlp-sequence":
        inputs = (torch.randn(case["batch"], case["sizes"]["dim"]),)
    else:
        inputs = tuple(torch.randint(case["sizes"]["vocabulary"], case["batch"]) for _ in range(2))
    tracker.track_inputs(inputs)
    with tracker:
        for index in range(2):
            step(inputs)
            if index == 0:
                tracker.reset_mod_stats()
    peak = {getattr(kind, "name", "total"): size for kind, size in tracker.get_tracker_snapshot("peak")[torch.device("cpu")].items()}
    return {**case, "peak": peak.pop("total"), "parts": {name.lower(): size for name, size in peak.items() if size}}


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "fsdp2-memory.json"
    cases = []
    for case in CONFIGS:
        dist.init_process_group("fake", rank=0, world_size=case["shard"], store=FakeStore())
        cases.append(measure(case))
        dist.destroy_process_group()
        print(cases[-1], flush=True)
    out.write_text(json.dumps({"torch": torch.__version__, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
