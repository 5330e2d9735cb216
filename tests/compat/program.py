"""A small language model as people write them for PyTorch: trained, checkpointed, saved and continued. Prints its losses as JSON.

Run as `python program.py FOLDER`: FOLDER holds text.txt and receives start.pt, unless that is there, and model.pt.
"""

import json
import math
import os
import sys
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    block_size: int = 16
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 16


class Text(Dataset):
    def __init__(self, text, block_size):
        self.chars = sorted(set(text))
        self.data = torch.tensor([self.chars.index(c) for c in text], dtype=torch.long)
        self.block_size = block_size

    def __len__(self):
        return (len(self.data) - 1) // self.block_size

    def __getitem__(self, i):
        chunk = self.data[i * self.block_size : (i + 1) * self.block_size + 1]
        return chunk[:-1], chunk[1:]


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.qkv, self.proj = nn.Linear(c.n_embd, 3 * c.n_embd), nn.Linear(c.n_embd, c.n_embd)
        self.n_head = c.n_head
        self.register_buffer("mask", torch.tril(torch.ones(c.block_size, c.block_size)).view(1, 1, c.block_size, c.block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln1, self.ln2, self.attn = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd), Attention(c)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c, vocab_size):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, c.n_embd), nn.Embedding(c.block_size, c.n_embd)
        self.h = nn.ModuleList([Block(c) for _ in range(c.n_layer)])
        self.ln_f, self.head = nn.LayerNorm(c.n_embd), nn.Linear(c.n_embd, vocab_size, bias=False)
        self.wte.weight = self.head.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.h:
            x = checkpoint(block, x, use_reentrant=False)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


def clip(parameters, max_norm):
    total = torch.sqrt(sum((p.grad.detach() ** 2).sum() for p in parameters))
    for p in parameters:
        p.grad.mul_(torch.clamp(max_norm / (total + 1e-6), max=1.0))


def main(folder, mode):
    c = Config()
    data = Text(open(os.path.join(folder, "text.txt")).read(), c.block_size)
    model = GPT(c, len(data.chars))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device)
    start, saved = os.path.join(folder, "start.pt"), os.path.join(folder, "model.pt")
    if os.path.exists(start):
        model.load_state_dict(torch.load(start, map_location=device))
    else:
        torch.save(model.state_dict(), start)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95)
    )
    schedule = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
    scaler = torch.amp.GradScaler(device, enabled=mode == "float16")
    losses = []
    for _ in range(2):
        for x, y in DataLoader(data, batch_size=4, shuffle=False):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=mode == "bfloat16"):
                loss = model(x.to(device), y.to(device))
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            clip(list(model.parameters()), 1.0)
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            losses.append(loss.item())
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "args": vars(c)}, saved)
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    return losses


if __name__ == "__main__":
    print(json.dumps({mode: main(sys.argv[1], mode) for mode in ("float32", "bfloat16")}))
