"""What a training step of a tensor-train layer takes in PyTorch, beside einsum of the same network in its own order.

bench/time_torch.py, with TENFOLD_LIBRARY the shared library and python on PYTHONPATH, as the target `bench` runs it."""

import time

try:
    import torch
except ImportError:
    print("time_torch: skipped, as PyTorch is absent")
    raise SystemExit(0)

import tenfold.torch

STEPS = 20
CASES = [((12, 8, 8), (8, 8, 12), 12, 32), ((32, 24), (24, 32), 16, 128)]


def einsum_of(layer, n, tokens):
    """PyTorch goes from left to right: the terms in the best order for that, the cores of the inputs first, from the last."""
    left, output = layer.subscripts.split("->")
    first, *terms = left.split(",")
    turned = ",".join([first, *reversed(terms)]) + "->" + output
    return lambda v: torch.einsum(turned, v.reshape(tokens, *n), *reversed(layer.cores)).reshape(tokens, -1) + layer.bias


torch.set_num_threads(1)
for m, n, rank, tokens in CASES:
    layer = tenfold.torch.TTLinear(m, n, rank, tokens=tokens)
    x = torch.randn(tokens, layer.in_features, requires_grad=True)
    gradient = torch.randn(tokens, layer.out_features)
    spent = {layer: [], einsum_of(layer, n, tokens): []}
    for _ in range(STEPS):
        for function, times in spent.items():
            start = time.perf_counter()
            function(x).backward(gradient)
            times.append(1e3 * (time.perf_counter() - start))
    ours, theirs = map(min, spent.values())
    print(f"{m} x {n}, rank {rank}, {tokens} tokens: {ours:.3f} ms a step, PyTorch's einsum {theirs:.3f} ms")
