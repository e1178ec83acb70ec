"""The models and the attention of the bundle's benchmarks by PyTorch on one GPU: torch.compile, fused AdamW, its own attention, bf16.

  compare.py            on the GPU
  compare.py --smoke    a step of small models on the CPU, to show that it runs

Prints the middle of the steps' times, the first ten left out, as run-benchmarks.sh does, and for attention the least time of
each of PyTorch's kernels. The Llama of 7B is wrapped by FSDP2 for a world of one. Needs torch alone.
"""

import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

SMOKE = "--smoke" in sys.argv
DEVICE = "cpu" if SMOKE else "cuda"


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        parts = self.attention(self.norm1(x)).chunk(3, dim=2)
        q, k, v = (part.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.projection(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, vocabulary, length):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([GptBlock(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places.weight
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def rotations(length, size, base):
    angles = torch.outer(torch.arange(length).float(), base ** (-torch.arange(0, size, 2).float() / size))
    angles = torch.cat([angles, angles], dim=1)
    return angles.cos(), angles.sin()


class LlamaBlock(nn.Module):
    def __init__(self, width, inner, heads, key_heads):
        super().__init__()
        self.size = width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, key_heads * self.size, bias=False) for _ in range(2))
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, cos, sin):
        h = self.norm1(x)
        q, k, v = (p(h).view(*x.shape[:2], -1, self.size).transpose(1, 2) for p in (self.q, self.k, self.v))

        def turn(t):
            half = self.size // 2
            return (t * cos + torch.cat([-t[..., half:], t[..., :half]], dim=-1) * sin).to(v.dtype)

        mixed = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
        x = x + self.o(mixed.transpose(1, 2).reshape(x.shape))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, layers, width, inner, heads, key_heads, vocabulary, length, base, tied, recompute):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([LlamaBlock(width, inner, heads, key_heads) for _ in range(layers)])
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.tokens.weight
        self.recompute = recompute
        cos, sin = rotations(length, width // heads, base)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, self.cos, self.sin, use_reentrant=False) if self.recompute else block(x, self.cos, self.sin)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())


def sharded(model):
    """FSDP2 over a world of one, bf16 computing, f32 parameters and reductions."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    if not torch.distributed.is_initialized():
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", str(20000 + os.getpid() % 20000))
        torch.distributed.init_process_group("gloo" if SMOKE else "nccl", rank=0, world_size=1)
    mesh = torch.distributed.device_mesh.init_device_mesh(DEVICE, (1,))
    # Without casts of inputs: a recomputed block would get the rotations in f32.
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, cast_forward_inputs=False)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    return fully_shard(model, mesh=mesh, mp_policy=policy)


def train(title, make, rows, length, vocabulary, steps, shard=False):
    try:
        torch.manual_seed(0)
        with torch.device(DEVICE):
            model = make()
        if shard:
            model = sharded(model)
            for block in model.blocks:
                block.compile(disable=SMOKE)
        else:
            model.compile(disable=SMOKE)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        tokens = torch.randint(vocabulary, (rows, length + 1), device=DEVICE)
        times = []
        for _ in range(steps):
            synchronize()
            begin = time.perf_counter()
            with torch.autocast(DEVICE, torch.bfloat16, enabled=not shard):
                loss = model(tokens[:, :-1], tokens[:, 1:])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            synchronize()
            times.append(time.perf_counter() - begin)
        middle = statistics.median(times[10:] or times)
        print(f"{title + ', PyTorch':<48} {middle * 1e3:10.3f} ms a step {rows * length / middle:12.0f} tokens/s", flush=True)
    except torch.OutOfMemoryError:
        print(f"skipped: {title}, PyTorch: it does not fit this GPU's memory", flush=True)
    finally:
        model = optimizer = loss = None
        if DEVICE == "cuda":
            torch.cuda.empty_cache()


def attention(size, length, tokens=16384, width=2048):
    """Each of PyTorch's kernels of attention, forward and backward, causal, bf16; flops of the causal half."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    shape = (max(1, tokens // length), width // size, length, size)
    q, k, v = (torch.randn(shape, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    slope = torch.randn(shape, device=DEVICE, dtype=torch.bfloat16)
    product = 2 * shape[0] * shape[1] * (length * (length + 1) // 2) * size
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    if SMOKE:
        backends = {"math": SDPBackend.MATH}
    for name, backend in backends.items():
        title = f"heads of {size}, T {length}, PyTorch {name}"
        try:
            with sdpa_kernel(backend):
                def forward():
                    return F.scaled_dot_product_attention(q, k, v, is_causal=True)

                out = forward()

                def backward():
                    torch.autograd.grad(out, (q, k, v), slope, retain_graph=True)

                for what, run, flops in (("attention", forward, 2 * product), ("attention_grad", backward, 5 * product)):
                    least = 1e9
                    for _ in range(1 if SMOKE else 6):
                        synchronize()
                        begin = time.perf_counter()
                        times = 1 if SMOKE else 50
                        for _ in range(times):
                            run()
                        synchronize()
                        least = min(least, (time.perf_counter() - begin) / times)
                    print(f"{what + ', ' + title:<48} {least * 1e3:10.4f} ms {flops / least * 1e-12:9.1f} TFLOP/s", flush=True)
        except RuntimeError as error:
            print(f"skipped: {title}: {str(error).splitlines()[0]}", flush=True)


def main():
    print(f"PyTorch {torch.__version__}")
    if SMOKE:
        train("gpt2, small", lambda: Gpt(1, 32, 2, 64, 16), 2, 16, 64, 1)
        train("llama, small", lambda: Llama(2, 32, 64, 4, 2, 64, 16, 1e4, True, True), 2, 16, 64, 1, shard=True)
        attention(16, 32, tokens=64, width=32)
        return
    for size in (64, 128):
        for length in (1024, 2048, 4096, 8192):
            attention(size, length)
    train("gpt2 124M, bf16, B 32, T 1024", lambda: Gpt(12, 768, 12, 50257, 1024), 32, 1024, 50257, 30)
    train("gpt2 1.5B, bf16, B 8, T 1024", lambda: Gpt(48, 1600, 25, 50257, 1024), 8, 1024, 50257, 20)
    train("llama 1B, bf16, B 4, T 4096", lambda: Llama(16, 2048, 8192, 32, 8, 128256, 4096, 5e5, True, False), 4, 4096, 128256, 20)
    train("llama 7B, bf16, B 2, T 4096, block recompute", lambda: Llama(32, 4096, 11008, 32, 32, 32000, 4096, 1e4, False, True), 2, 4096, 32000, 15, shard=True)


if __name__ == "__main__":
    main()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
