"""The GPT-2 of the bundle's benchmark by PyTorch on one GPU: torch.compile, fused AdamW, its own attention, bf16.

Prints the middle of the steps' times, the first ten left out, as run-benchmarks.sh does. Needs torch alone.
"""

import statistics
import time

import torch
import torch.nn.functional as F

LAYERS, WIDTH, HEADS, VOCABULARY, ROWS, LENGTH = 12, 768, 12, 50257, 8, 1024


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.attention, self.projection = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.view(*x.shape[:2], HEADS, -1).transpose(1, 2) for part in self.attention(self.norm1(x)).split(WIDTH, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.projection(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = torch.nn.LayerNorm(WIDTH)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places.weight
        logits = self.norm(self.blocks(x)) @ self.tokens.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    torch.manual_seed(0)
    model = torch.compile(Model().cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(VOCABULARY, (ROWS, LENGTH + 1), device="cuda")
    times = []
    for _ in range(30):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    middle = statistics.median(times[10:])
    print(f"{'gpt2 124M, bf16, B 8, T 1024, PyTorch ' + torch.__version__:<40} {middle * 1e3:10.3f} ms a step {ROWS * LENGTH / middle:12.0f} tokens/s")


if __name__ == "__main__":
    main()
