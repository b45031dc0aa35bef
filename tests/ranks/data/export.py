#!/usr/bin/env python3
"""Exports the graphs of this folder from PyTorch (1.13; CPU), and counts.csv beside them: parameters of each module, and the
multiply-adds of its forward pass as its matrix products and convolutions are called (batch of 2).

    python3 tests/ranks/data/export.py tests/ranks/data
"""
import csv
import os
import sys
import warnings

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

warnings.filterwarnings("ignore")
WIDTH, HEADS, WIDE, TOKENS, WORDS, BATCH = 8, 2, 12, 6, 20, 2


class Counter(TorchDispatchMode):
    """Multiply-adds by the shapes that reach the library."""

    macs = 0

    def __torch_dispatch__(self, function, types, operands=(), options=None):
        result = function(*operands, **(options or {}))
        name = function.__name__.split(".")[0]
        pairs = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2)}
        if name in pairs:
            self.macs += result.numel() * operands[pairs[name][0]].shape[-1]
        if name == "convolution":
            self.macs += result.numel() * operands[1][0].numel()
        return result


class Attention(nn.Module):
    def __init__(self, batch_first):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x):
        return self.head(self.attention(x, x, x)[0])


class Encoder(nn.Module):
    def __init__(self, pooled=False, **options):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, WIDE, dropout=0, **options)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 3)
        self.pooled = pooled

    def forward(self, tokens):
        x = self.encoder(self.words(tokens))
        return self.head(x.mean(1) if self.pooled else x)


class Sliced(nn.Module):
    """Queries, keys and values by Slice and Squeeze, as Paddle writes them; in a gated feed-forward SiLU as x sigmoid(x)."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.fused = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.gate = nn.Linear(WIDTH, WIDE)
        self.up = nn.Linear(WIDTH, WIDE)
        self.down = nn.Linear(WIDE, WIDTH)

    def forward(self, x):
        fused = self.fused(self.norm(x)).reshape(x.shape[0], x.shape[1], 3, HEADS, WIDTH // HEADS)
        fused = fused.permute(2, 0, 3, 1, 4)
        q, k, v = (fused[i : i + 1].squeeze(0) for i in range(3))
        shares = torch.softmax(q @ k.transpose(2, 3) * (WIDTH // HEADS) ** -0.5, -1)
        x = x + self.output((shares @ v).transpose(1, 2).reshape(x.shape))
        gate = self.gate(x)
        return self.down(gate * torch.sigmoid(gate) * self.up(x))


class Recogniser(nn.Module):
    """Convolutions in groups and pooling, which are no layers; blocks of attention over what they leave; a head."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, WIDTH, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(WIDTH, WIDTH, 3, padding=1, groups=WIDTH), nn.MaxPool2d(2))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, WIDE, dropout=0, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, x):
        x = self.stem(x)
        return torch.softmax(self.head(self.encoder(x.flatten(2).transpose(1, 2))), -1)


def wake_word(*inner):
    return nn.Sequential(nn.Flatten(), *inner, nn.Linear(8, 1), nn.Sigmoid())


def main(folder):
    torch.manual_seed(1)
    frames, tokens = torch.randn(BATCH, TOKENS, WIDTH), torch.randint(0, WORDS, (BATCH, TOKENS))
    picture, sound = torch.randn(BATCH, 3, 6, 4), torch.randn(BATCH, 5, 9)
    pictures = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, (3, 1), stride=2, padding=(1, 0)),
                             nn.ReLU(), nn.Flatten(), nn.Linear(36, 10))
    pooled = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.SiLU(), nn.Conv2d(4, 6, 1), nn.AdaptiveAvgPool2d(1),
                           nn.Flatten(), nn.Linear(6, 10))
    sounds = nn.Sequential(nn.Conv1d(5, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3))
    cases = {
        "attention": (Attention(True), frames),
        "attention-tokens-first": (Attention(False), frames.transpose(0, 1).contiguous()),
        "attention-open": (Attention(True), frames, {"dynamic_axes": {"x": {0: "batch", 1: "tokens"}}}),
        "encoder": (Encoder(batch_first=True), tokens),
        "encoder-norm-first": (Encoder(batch_first=True, norm_first=True, activation="gelu"), tokens, {"opset_version": 17}),
        "encoder-unfolded": (Encoder(batch_first=True), tokens, {"do_constant_folding": False}),
        "encoder-pooled": (Encoder(batch_first=True, pooled=True), tokens),
        "sliced": (Sliced(), frames),
        "recogniser": (Recogniser(), torch.randn(BATCH, 3, 4, 6)),
        "wake-one": (wake_word(nn.Linear(TOKENS * WIDTH, 8), nn.ReLU()), frames),
        "wake-two": (wake_word(nn.Linear(TOKENS * WIDTH, 8), nn.LayerNorm(8), nn.ReLU()), frames),
        "wake-three": (wake_word(nn.Linear(TOKENS * WIDTH, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, 8), nn.LayerNorm(8),
                                 nn.ReLU()), frames),
        "pictures": (pictures, picture),
        "pictures-pooled": (pooled, picture),
        "sounds": (sounds, sound),
    }
    behind_stem = "/stem/stem.3/MaxPool_output_0"
    rows = []
    for name, (module, example, *options) in cases.items():
        with Counter() as counter, torch.no_grad():
            module.train()(example)
        # A batch norm is folded into the convolution before it, whose bias is there already.
        parameters = sum(p.numel() for m in module.modules() if not isinstance(m, nn.BatchNorm2d)
                         for p in m.parameters(recurse=False))
        macs, start = counter.macs, ""
        if name == "recogniser":  # the part behind the stem can be taken
            with Counter() as counter, torch.no_grad():
                module.stem(example)
            macs, start = macs - counter.macs, behind_stem
            parameters -= sum(p.numel() for p in module.stem.parameters())
        rows.append((name, start, parameters, macs))
        torch.onnx.export(module.eval(), example, os.path.join(folder, name + ".onnx"), input_names=["x"],
                          **{"opset_version": 14, **(options[0] if options else {})})
    with open(os.path.join(folder, "counts.csv"), "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("graph", "from", "parameters", "multiply_adds"), *rows])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
