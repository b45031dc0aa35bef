"""Contraction paths for einsum, proven optimal where the search can prove it, outer products among them."""

from __future__ import annotations

import itertools
import time
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence

from ._library import InputError, ask, ask_quickly

Pair = tuple[int, ...]
_OBJECTIVES = {"macs": "macs", "size": "live", "time": "time"}

try:
    from opt_einsum.paths import PathOptimizer as _PathOptimizer
except ImportError:
    _PathOptimizer = object


# ---- notation

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _symbol(number: int) -> str:
    """Letters, then characters outside ASCII; surrogates are none."""
    if number < len(_LETTERS):
        return _LETTERS[number]
    code = number - len(_LETTERS) + 0xC0
    return chr(code if code < 0xD800 else code + 0x800)


def _shape(operand: Any) -> tuple[int, ...]:
    shape = getattr(operand, "shape", operand)
    try:
        return tuple(int(size) for size in shape)
    except (TypeError, ValueError):
        raise InputError(f"{operand!r:.60} is no shape; give a tuple of sizes, or an array") from None


class Network:
    """Terms of an einsum as lists of indices (any characters), the output, and the size of each index. The ellipsis is
    spelled out, an index that a term has twice stands once, and broadcast sizes of 1 are taken as what they become."""

    def __init__(self, terms: Sequence[Sequence[Any]], output: Sequence[Any], sizes: Mapping[Any, int]) -> None:
        symbols: dict[Any, str] = {}
        for index in itertools.chain(*terms, output):
            symbols.setdefault(index, _symbol(len(symbols)))
        self.terms = [[symbols[index] for index in dict.fromkeys(term)] for term in terms]
        self.output = [symbols[index] for index in output]
        missing = [index for index in symbols if index not in sizes]
        if missing:
            raise InputError(f"index {missing[0]!r} has no size")
        self.sizes = {symbols[index]: int(sizes[index]) for index in symbols}

    @classmethod
    def parse(cls, subscripts: str, operands: Sequence[Any]) -> "Network":
        shapes = [_shape(operand) for operand in operands]
        left, arrow, right = subscripts.replace(" ", "").partition("->")
        texts = left.split(",")
        if len(texts) != len(shapes):
            raise InputError(f"{subscripts!r} has {len(texts)} terms, and {len(shapes)} shapes are given")
        terms = [_spelled(text, shape, number) for number, (text, shape) in enumerate(zip(texts, shapes))]
        sizes: dict[Any, int] = {}
        for number, (term, shape) in enumerate(zip(terms, shapes)):
            for index, size in zip(term, shape):
                known = sizes.setdefault(index, size)
                if size != known and 1 not in (size, known):
                    raise InputError(f"index {index!r} has size {size} on term {number} and {known} before; it has "
                                     "one size")
                sizes[index] = max(known, size)
                if size < 1:
                    raise InputError(f"index {index!r} has size {size} on term {number}; sizes are at least 1")
        dots = max((index for index in sizes if isinstance(index, int)), default=-1)
        ellipsis = list(range(dots, -1, -1))
        if arrow:
            before, spread, behind = right.partition("...")
            output = [*before, *(ellipsis if spread else []), *behind]
        else:
            once = [index for index in sizes if not isinstance(index, int) and sum(t.count(index) for t in terms) == 1]
            output = [*ellipsis, *sorted(once)]
        for index in output:
            if index not in sizes:
                raise InputError(f"index {index!r} of the output is on no term of {subscripts!r}")
        if len(set(output)) < len(output):
            raise InputError(f"the output of {subscripts!r} has an index twice; it has each once")
        return cls(terms, output, sizes)

    @property
    def einsum(self) -> str:
        return ",".join("".join(term) for term in self.terms) + "->" + "".join(self.output)


def _spelled(text: str, shape: tuple[int, ...], number: int) -> list[Any]:
    """One term's indices; those of its ellipsis are numbers, counted from the right."""
    before, dots, behind = text.partition("...")
    named = len(before) + len(behind)
    if len(shape) < named or (not dots and len(shape) != named):
        raise InputError(f"term {number}, {text!r}, names {named} indices, and its shape {shape} has {len(shape)}")
    term = [*before, *range(len(shape) - named - 1, -1, -1), *behind]
    for letter in before + behind:
        if letter in ".>-" or letter.isspace():
            raise InputError(f"term {number}, {text!r}, is no list of indices")
    return term


# ---- the path


class _First(tuple):
    """A path's first pair. NumPy asks it whether it is the word "einsum_path", then takes what is behind: so asked,
    the path gives all of its pairs."""

    owner: "Path"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and other == "einsum_path":
            self.owner._asked_by_numpy = True
            return True
        return tuple.__eq__(self, other)

    __hash__ = tuple.__hash__


class Path(list[Pair]):
    """Pairs of operands in the order in which they are merged: the two are taken out of the list of operands, and what
    they make is put at its end. It is what `numpy.einsum(..., optimize=path)` and
    `opt_einsum.contract(..., optimize=path)` take.

    macs, flops: multiply-adds of all merges, and twice as many. peak_elements: elements of the inputs, the
    intermediates that live and the one that is made, at the worst merge. largest_intermediate: elements.
    exact: nothing better exists under the objective. lower_bound: of the objective, whatever the tree.
    ssa: the same pairs, operands numbered 0.. and results behind them. predicted_seconds: of objective "time".
    """

    def __init__(self, pairs: Iterable[Pair], **figures: Any) -> None:
        self._asked_by_numpy = False
        super().__init__(tuple(pair) for pair in pairs)
        if self:
            first = _First(self[0])
            first.owner = self
            self[0] = first
        self.ssa: list[Pair] = figures.get("ssa", [])
        self.macs: int = figures.get("macs", 0)
        self.flops: int = 2 * self.macs
        self.peak_elements: int = figures.get("peak_elements", 0)
        self.largest_intermediate: int = figures.get("largest_intermediate", 0)
        self.exact: bool = figures.get("exact", True)
        self.lower_bound: Optional[float] = figures.get("lower_bound")
        self.predicted_seconds: Optional[float] = figures.get("predicted_seconds")
        self.search_seconds: float = figures.get("search_seconds", 0.0)

    def __getitem__(self, key: Any) -> Any:
        if self._asked_by_numpy and key == slice(1, None, None):
            self._asked_by_numpy = False
            return list(self)
        return super().__getitem__(key)

    def __reduce__(self) -> Any:
        return (list, ([tuple(pair) for pair in self],))

    def __repr__(self) -> str:
        proven = "optimal" if self.exact else "not proven"
        return f"<tenfold.Path {list(map(tuple, self))}, {self.macs:,} multiply-adds, {proven}>"


def _linear(merges: Sequence[Sequence[int]], tensors: int) -> list[Pair]:
    """Pairs of numbers that stay, as places in a list from which operands are taken."""
    left = list(range(tensors))
    pairs = []
    for number, (a, b) in enumerate(merges):
        i, j = sorted((left.index(a), left.index(b)))
        pairs.append((i, j))
        del left[j], left[i]
        left.append(tensors + number)
    return pairs


_rates: Optional[list[float]] = None


def _measured_rates() -> list[float]:
    """Of NumPy on this machine, once a process: multiply-adds a second, elements a second, seconds a merge."""
    global _rates
    if _rates is None:
        import numpy

        def least(work: Any, *operands: Any) -> float:
            spent = []
            for _ in range(5):
                start = time.perf_counter()
                work(*operands)
                spent.append(time.perf_counter() - start)
            return max(min(spent), 1e-9)

        square, long, small = numpy.ones((256, 256)), numpy.ones((1024, 1024)), numpy.ones((2, 2))
        product = least(numpy.tensordot, square, square, 1)
        copied = least(lambda array: array.T.copy(), long)
        _rates = [square.shape[0] ** 3 / product, 2 * long.size / copied, least(numpy.tensordot, small, small, 1)]
    return _rates


def _search(network: Network, objective: str, memory_limit: Optional[int], seconds: Optional[float],
            rates: Optional[Sequence[float]], outer: bool, seed: int) -> Optional[Path]:
    tensors = len(network.terms)
    if objective not in _OBJECTIVES:
        raise InputError(f"unknown objective {objective!r}; it is one of {', '.join(_OBJECTIVES)}")
    if tensors < 2:
        return Path([(0,)] if tensors else [])
    options: dict[str, Any] = {"einsum": network.einsum, "sizes": network.sizes, "alone": True, "seed": seed,
                               "objective": _OBJECTIVES[objective], "max-live": memory_limit, "time": seconds}
    if not outer:
        options["outer"] = "no"
    if objective == "time":
        options["rates"] = list(rates or _measured_rates())
    answer = (ask_quickly if tensors <= 16 else ask)("order", **options)
    if not answer["found"]:
        return None
    best = answer["flows"][0]
    return Path(_linear(best["path"], tensors), ssa=[tuple(pair) for pair in best["path"]], macs=best["macs"],
                peak_elements=best["peak_elements"], largest_intermediate=best["largest_intermediate"],
                exact=answer["exact"], lower_bound=answer.get("lower_bound", answer.get("least_seconds")),
                predicted_seconds=answer.get("predicted_seconds"), search_seconds=answer["seconds"])


def path(subscripts: str, *shapes: Any, objective: str = "macs", memory_limit: Optional[int] = None,
         seconds: Optional[float] = None, rates: Optional[Sequence[float]] = None, outer: bool = True,
         seed: int = 1) -> Path:
    """The best order of contracting an einsum, for `numpy.einsum(..., optimize=)` and
    `opt_einsum.contract(..., optimize=)`.

    `shapes`: a shape or an array for each term. `objective`: "macs", the fewest multiply-adds; "size", the fewest
    elements live at once (inputs, intermediates and what is being made); "time", the least time that `rates` predict
    (multiply-adds a second, elements a second, seconds a merge; None: NumPy's, measured once). `memory_limit`: most
    elements live at once; MemoryError where no order keeps it. `seconds`: the best that is found in that time, where
    none is proven sooner. `outer`: whether operands that share no index may be merged. Indices on any number of terms,
    indices of every term and the output, sums of one term and the ellipsis are taken as they come; up to 256 terms.
    """
    found = _search(Network.parse(subscripts, shapes), objective, memory_limit, seconds, rates, outer, seed)
    if found is None:
        raise MemoryError(f"no order of {subscripts!r} stays within {memory_limit:,} live elements")
    return found


class Optimizer(_PathOptimizer):  # type: ignore[misc, valid-type]
    """What `opt_einsum.contract(..., optimize=Optimizer())` and cotengra's functions take as optimizer; options as
    `path` has them. A `memory_limit` of theirs bounds the largest intermediate; where no order found keeps it, all
    operands are merged at once, as opt_einsum's own optimizers do."""

    def __init__(self, objective: str = "macs", *, seconds: Optional[float] = None,
                 rates: Optional[Sequence[float]] = None, outer: bool = True, seed: int = 1) -> None:
        self.objective, self.seconds, self.rates, self.outer, self.seed = objective, seconds, rates, outer, seed
        self.last: Optional[Path] = None

    def __call__(self, inputs: Sequence[Iterable[Any]], output: Iterable[Any], size_dict: Mapping[Any, int],
                 memory_limit: Optional[int] = None) -> list[Pair]:
        terms = [sorted(term, key=str) if isinstance(term, (set, frozenset)) else list(term) for term in inputs]
        network = Network(terms, sorted(output, key=str) if isinstance(output, (set, frozenset)) else list(output),
                          size_dict)
        limit = None
        if memory_limit is not None and memory_limit >= 0:
            limit = int(memory_limit) + sum(_elements(term, network.sizes) for term in network.terms)
        self.last = _search(network, self.objective, limit, self.seconds, self.rates, self.outer, self.seed)
        return [tuple(pair) for pair in self.last] if self.last is not None else [tuple(range(len(terms)))]


def _elements(term: Iterable[str], sizes: Mapping[str, int]) -> int:
    product = 1
    for index in term:
        product *= sizes[index]
    return product


# ---- forward and gradients together


class Step:
    """One product of a training flow: `out` = the contraction of `a` with `b`, each a name ("X", "G1", "dY", "T4", "Y",
    "dX", "dG1") with its indices."""

    def __init__(self, phase: str, out: str, a: str, b: str, indices: Mapping[str, str]) -> None:
        self.phase, self.out, self.a, self.b = phase, out, a, b
        self.subscripts = f"{indices[a]},{indices[b]}->{indices[out]}"

    def __repr__(self) -> str:
        return f"{self.out} = {self.a} {self.b}  ({self.subscripts}, {self.phase})"


class TrainingPath:
    """Forward product and all gradients of one einsum, planned together. The first term is the input X, the others
    the parameters G1, G2, ...; dY is the gradient of the output Y.

    steps: the products in order, those of the forward phase first. forward_macs, backward_macs, total_macs: of one
    training step. saved_elements: intermediates that live from the forward to the backward pass.
    peak_elements: live at the worst step. recomputed_macs: of backward_macs, what is made again.
    exact: nothing with one tree forward and one backward is better. lower_bound: multiply-adds of any program.
    """

    def __init__(self, network: Network, point: Mapping[str, Any], exact: bool, lower_bound: int) -> None:
        self.network = network
        self.forward_macs: int = point["forward_macs"]
        self.backward_macs: int = point["backward_macs"]
        self.total_macs: int = point["total_macs"]
        self.saved_elements: int = point["saved_elements"]
        self.peak_elements: int = point["peak_elements"]
        self.recomputed_macs: int = point["recomputed_macs"]
        self.exact, self.lower_bound = exact, lower_bound
        tensors = len(network.terms)
        self.forward = Path(_linear(point["path"], tensors), ssa=[tuple(pair) for pair in point["path"]],
                            macs=self.forward_macs, peak_elements=self.peak_elements, exact=exact)
        self.steps = _steps(network, point["steps"])

    def run(self, x: Any, parameters: Sequence[Any], gradient: Any = None, einsum: Any = None) -> tuple[Any, ...]:
        """Executes the steps: (y,) without a gradient, else (y, dx, [gradients of the parameters]). `einsum`:
        a function as numpy.einsum, which is the default."""
        if einsum is None:
            import numpy

            einsum = numpy.einsum
        values = {"X": x, **{f"G{k + 1}": core for k, core in enumerate(parameters)}}
        if gradient is not None:
            values["dY"] = gradient
        for step in self.steps:
            if step.phase == "forward" or gradient is not None:
                values[step.out] = einsum(step.subscripts, values[step.a], values[step.b])
        if gradient is None:
            return (values["Y"],)
        return values["Y"], values.get("dX"), [values[f"dG{k + 1}"] for k in range(len(parameters))]

    def __repr__(self) -> str:
        return (f"<tenfold.TrainingPath of {len(self.network.terms)} terms: {self.total_macs:,} multiply-adds, "
                f"{self.saved_elements:,} elements saved>")


def _steps(network: Network, steps: Sequence[Sequence[str]]) -> list[Step]:
    """Each tensor is the contraction of a set of the terms and dY, and has the indices that its set shares with the
    rest; outputs have their own order."""
    terms = {"X": network.terms[0], "dY": network.output}
    terms.update({f"G{k}": term for k, term in enumerate(network.terms[1:], 1)})
    sets = {name: frozenset([name]) for name in terms}
    indices = {name: "".join(term) for name, term in terms.items()}
    indices.update({"Y": "".join(network.output), "dX": indices["X"]})
    indices.update({f"d{name}": indices[name] for name in terms if name.startswith("G")})
    planned = []
    for phase, out, a, b in steps:
        sets[out] = sets[a] | sets[b]
        if out not in indices:
            outside = set().union(*(terms[name] for name in terms if name not in sets[out]))
            indices[out] = _product_order(indices[a], indices[b], outside)
        planned.append(Step(phase, out, a, b, indices))
    return planned


def _product_order(a: str, b: str, kept: Iterable[str]) -> str:
    """As a batched matrix product leaves them: what both have, then what a has, then what b has."""
    both = [index for index in a if index in kept and index in b]
    return "".join(both + [i for i in a if i in kept and i not in b] + [i for i in b if i in kept and i not in a])


def training_front(subscripts: str, *shapes: Any, input_gradient: bool = True) -> Iterator[TrainingPath]:
    """Every training flow that no other beats in multiply-adds, saved elements and peak at once."""
    network = Network.parse(subscripts, shapes)
    answer = ask("order", einsum=network.einsum, sizes=network.sizes, training=True, progress=False,
                 no_input_gradient=not input_gradient)
    for point in answer["front"]:
        yield TrainingPath(network, point, answer["exact"], answer["lower_bound"])


def training_path(subscripts: str, *shapes: Any, objective: str = "macs", memory_limit: Optional[int] = None,
                  input_gradient: bool = True) -> TrainingPath:
    """The forward product of an einsum and the gradients of all its terms, planned together: `objective` "macs", the
    fewest multiply-adds of a training step; "size", the least peak of live elements; "saved", the fewest elements kept
    from the forward pass. `memory_limit`: most elements live at once. The first term is the input, the others are the
    parameters; an index that only one term has must be in the output."""
    keys = {"macs": "total_macs", "size": "peak_elements", "saved": "saved_elements"}
    if objective not in keys:
        raise InputError(f"unknown objective {objective!r}; it is one of {', '.join(keys)}")
    front = [flow for flow in training_front(subscripts, *shapes, input_gradient=input_gradient)
             if memory_limit is None or flow.peak_elements <= memory_limit]
    if not front:
        raise MemoryError(f"no training flow of {subscripts!r} was found within {memory_limit:,} live elements")
    return min(front, key=lambda flow: (getattr(flow, keys[objective]), flow.total_macs))
