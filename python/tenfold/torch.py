"""Tensor-train layers in PyTorch whose forward and backward pass follow the flow that tenfold chose.

    layer = tenfold.torch.TTLinear((12, 8, 8), (8, 8, 12), rank=12, tokens=32)
    layer(x).sum().backward()

`contract(subscripts, x, *parameters)` is the function beneath, for any network of an input and parameters.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Optional, Sequence, Union

import torch

from ._einsum import Step, TrainingPath, training_path
from ._library import InputError


class _Side:
    """An operand as a matrix, or a stack of them: which order its indices take, and whether the matrix is read
    transposed, so that nothing is copied where the order allows it."""

    def __init__(self, own: str, batch: str, first: str, second: str) -> None:
        self.transposed = own == batch + second + first
        wanted = own if self.transposed else batch + first + second
        self.order = None if wanted == own else [own.index(index) for index in wanted]

    def matrix(self, tensor: torch.Tensor, batch: int, first: int, second: int) -> torch.Tensor:
        if self.order is not None:
            tensor = tensor.permute(self.order)
        rows, columns = (second, first) if self.transposed else (first, second)
        shape = (batch, rows, columns) if batch > 1 else (rows, columns)
        tensor = tensor.reshape(shape)
        return tensor.transpose(-2, -1) if self.transposed else tensor


class _Product:
    """One step as a matrix product."""

    def __init__(self, step: Step) -> None:
        left, out = step.subscripts.split("->")
        a, b = left.split(",")
        batch = "".join(i for i in a if i in b and i in out)
        summed = [i for i in a if i in b and i not in out]
        self.batch, self.rows = batch, "".join(i for i in a if i not in b)
        self.columns = "".join(i for i in b if i not in a)
        orders = ["".join(summed), "".join(i for i in b if i in summed)]
        sides = [(_Side(a, batch, self.rows, order), _Side(b, batch, order, self.columns), order) for order in orders]
        self.a, self.b, self.summed = min(sides, key=lambda side: (side[0].order is not None) +
                                          (side[1].order is not None))
        made = batch + self.rows + self.columns
        self.made, self.order = made, None if made == out else [made.index(index) for index in out]
        self.phase, self.names = step.phase, (step.out, step.a, step.b)

    def sized(self, sizes: dict[str, int]) -> tuple[int, int, int, int, list[int]]:
        batch, rows, summed, columns = (math.prod(sizes[i] for i in group)
                                        for group in (self.batch, self.rows, self.summed, self.columns))
        return batch, rows, summed, columns, [sizes[index] for index in self.made]

    def __call__(self, a: torch.Tensor, b: torch.Tensor, size: tuple[int, int, int, int, list[int]]) -> torch.Tensor:
        batch, rows, summed, columns, made = size
        product = torch.matmul(self.a.matrix(a, batch, rows, summed), self.b.matrix(b, batch, summed, columns))
        product = product.reshape(made)
        return product if self.order is None else product.permute(self.order)


class Plan:
    """A training flow, ready to be executed for any number of rows of its input."""

    def __init__(self, flow: TrainingPath) -> None:
        self.flow = flow
        self.products = [_Product(step) for step in flow.steps]
        self.forward = [p for p in self.products if p.phase == "forward"]
        self.backward = [p for p in self.products if p.phase != "forward"]
        self.inputs = ["X", *(f"G{k}" for k in range(1, len(flow.network.terms)))]
        read = {name for p in self.backward for name in p.names[1:]}
        self.saved = [p.names[0] for p in self.forward if p.names[0] in read]
        self._sizes: dict[tuple[int, ...], list[Any]] = {}

    def sizes(self, shape: tuple[int, ...]) -> list[Any]:
        """Of every product, for an input of that shape."""
        known = self._sizes.get(shape)
        if known is None:
            sizes = {**self.flow.network.sizes, **dict(zip(self.flow.network.terms[0], shape))}
            known = self._sizes[shape] = [product.sized(sizes) for product in self.products]
        return known

    def run(self, values: dict[str, torch.Tensor], products: Sequence[_Product], sizes: Sequence[Any]) -> None:
        for product, size in zip(products, sizes):
            out, a, b = product.names
            values[out] = product(values[a], values[b], size)


class _Contraction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Plan, *inputs: torch.Tensor) -> torch.Tensor:
        values = dict(zip(plan.inputs, inputs))
        plan.run(values, plan.forward, plan.sizes(inputs[0].shape))
        ctx.plan = plan
        ctx.save_for_backward(*inputs, *(values[name] for name in plan.saved))
        return values["Y"]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
        plan = ctx.plan
        values = dict(zip([*plan.inputs, *plan.saved], ctx.saved_tensors))
        values["dY"] = gradient
        plan.run(values, plan.backward, plan.sizes(values["X"].shape)[len(plan.forward):])
        return (None, *(values.get(f"d{name}") for name in plan.inputs))


@functools.lru_cache(maxsize=256)
def _plan(subscripts: str, shapes: tuple[tuple[int, ...], ...], objective: str, input_gradient: bool) -> Plan:
    return Plan(training_path(subscripts, *shapes, objective=objective, input_gradient=input_gradient))


def contract(subscripts: str, x: torch.Tensor, *parameters: torch.Tensor, objective: str = "macs",
             rows: Optional[int] = None) -> torch.Tensor:
    """einsum of an input and parameters, differentiable; forward and backward pass take the flow that
    `tenfold.training_path` chooses. `rows`: the size of x's first index that the flow is chosen for; None: as it is."""
    shape = tuple(x.shape) if rows is None else (rows, *x.shape[1:])
    shapes = (shape, *(tuple(core.shape) for core in parameters))
    return _Contraction.apply(_plan(subscripts, shapes, objective, x.requires_grad), x, *parameters)


_LETTERS = "abcdefghijklmnopqrstuvwyz"  # x is the row


class TTLinear(torch.nn.Module):
    """y = x W^T + b with W (prod(m) by prod(n)) as a tensor train: 2d cores, the first d with the factors m of the
    outputs, the others with the factors n of the inputs. `cores[k]` has the axes rank, factor, rank (the first and the
    last core have one rank), as the arrays core1, core2, ... of `tenfold validate --case` do.

    `rank`: one number, or the 2d - 1 inner ranks; ranks above what their cut can have are cut down to it. `tokens`: rows
    of x that the flow is chosen for; None: those of the first call. Drawn cores give elements of W the variance
    1 / prod(n)."""

    def __init__(self, m: Sequence[int], n: Sequence[int], rank: Union[int, Sequence[int]], bias: bool = True, *,
                 tokens: Optional[int] = None, objective: str = "macs", device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.m, self.n, self.tokens, self.objective = tuple(m), tuple(n), tokens, objective
        factors = [*self.m, *self.n]
        if not self.m or not self.n or min(factors) < 1:
            raise InputError(f"factors {self.m} and {self.n} are no folding; each side has factors of at least 1")
        inner = [rank] * (len(factors) - 1) if isinstance(rank, int) else list(rank)
        if len(inner) != len(factors) - 1 or min(inner, default=1) < 1:
            raise InputError(f"{len(factors)} cores have {len(factors) - 1} inner ranks of at least 1, not {rank}")
        self.ranks = [min(r, math.prod(factors[:k + 1]), math.prod(factors[k + 1:])) for k, r in enumerate(inner)]
        self.in_features, self.out_features = math.prod(self.n), math.prod(self.m)
        shapes = [(left, factor, right) for left, factor, right in zip([1, *self.ranks], factors, [*self.ranks, 1])]
        shapes[0], shapes[-1] = shapes[0][1:], shapes[-1][:-1]
        deviation = (self.in_features * math.prod(self.ranks)) ** (-0.5 / len(factors))
        self.cores = torch.nn.ParameterList(
            torch.nn.Parameter(deviation * torch.randn(shape, device=device, dtype=dtype)) for shape in shapes)
        self.bias = torch.nn.Parameter(torch.zeros(self.out_features, device=device, dtype=dtype)) if bias else None
        axes, bonds = _LETTERS[:len(factors)], _LETTERS.upper()
        ends = ["", *bonds[:len(factors) - 1], ""]
        terms = [f"{ends[k]}{axis}{ends[k + 1]}" for k, axis in enumerate(axes)]
        outputs, inputs = axes[:len(self.m)], axes[len(self.m):]
        self.subscripts = f"x{inputs},{','.join(terms)}->x{outputs}"
        self._dense = f"{','.join(terms)}->{axes}"

    def flow(self, tokens: int, input_gradient: bool = True) -> TrainingPath:
        """The training flow for so many rows."""
        shapes = ((tokens, *self.n), *(tuple(core.shape) for core in self.cores))
        return _plan(self.subscripts, shapes, self.objective, input_gradient).flow

    def weight(self) -> torch.Tensor:
        """W as a whole."""
        return torch.einsum(self._dense, *self.cores).reshape(self.out_features, self.in_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[-1] != self.in_features:
            raise InputError(f"an input of {tuple(x.shape)}; its last axis has {self.in_features}")
        rows = x.reshape(-1, *self.n)
        if self.tokens is None:
            self.tokens = rows.shape[0]
        y = contract(self.subscripts, rows, *self.cores, objective=self.objective, rows=self.tokens)
        y = y.reshape(*x.shape[:-1], self.out_features)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return f"m={self.m}, n={self.n}, ranks={self.ranks}, bias={self.bias is not None}"
