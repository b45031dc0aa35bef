"""Second moments of what layers take, under the layers' names, for `tenfold ranks --covariance`.

In PyTorch, around any run of the model over data like that it will see:

    import moments
    with moments.collect(model, moments.names("model.yaml")) as found:
        for batch in data:
            model(batch)
    found.save("moments.npz")                   # {layer: E[x x^T], inputs x inputs}

`names(MODEL.yaml)` reads which array is which layer's from the file that `tenfold model` wrote; without it layers have their
modules' names. Every module with a matrix `weight` that takes its input first is covered (Linear and its like). Those whose
matrix nothing calls as a module, such as the projections inside torch.nn.MultiheadAttention, are not; `missing` lists them.

In ONNX Runtime, for the matrix products of a graph (needs the packages onnx and onnxruntime):

    found = moments.collect_onnx("net.onnx", batches, moments.names("model.yaml"))   # batches: dicts of inputs

Wide layers: `diagonal=True` keeps E[x^2] alone, which `ranks` takes as well. NumPy is all that the rest needs.
"""
import contextlib
import re

import numpy


def names(model_file):
    """{array: [layers]} of the `checkpoint:` of a model file that `tenfold model` wrote."""
    found = {}
    with open(model_file, encoding="utf-8") as file:
        for line in file:
            entry = re.search(r'\{layer: "([^"]*)", tensor: "([^"]*)"', line)
            if entry:
                found.setdefault(entry[2], []).append(entry[1])
    return found


def _layers(array, mapping):
    """The layers of an array; patterns with {i} stand for a number, {i-1} and {i+1} for its neighbours."""
    if mapping is None:
        return [array.removesuffix(".weight")]
    layers = list(mapping.get(array, []))
    for pattern, targets in mapping.items():
        step = re.search(r"\{i([+-]1)?\}", pattern)
        if not step:
            continue
        parts = [re.escape(part) for part in re.split(r"\{i(?:[+-]1)?\}", pattern)]
        match = re.fullmatch(r"(\d+)".join(parts), array)
        if match and len(set(match.groups())) == 1:
            number = int(match[1]) - int(step[1] or 0)
            layers += [target.replace("{i}", str(number)) for target in targets]
    return layers


class Moments:
    """Sums of x x^T over rows x; `save` divides them by the number of rows."""

    def __init__(self, diagonal=False):
        self.diagonal, self.sums, self.rows, self.missing = diagonal, {}, {}, []

    def add(self, layer, x):
        x = numpy.asarray(x, dtype="f8").reshape(-1, x.shape[-1])
        part = (x * x).sum(0) if self.diagonal else x.T @ x
        self.sums[layer] = self.sums[layer] + part if layer in self.sums else part
        self.rows[layer] = self.rows.get(layer, 0) + len(x)

    def means(self):
        return {layer: total / self.rows[layer] for layer, total in self.sums.items()}

    def save(self, path):
        if not self.sums:
            raise ValueError("no layer was run: call the model inside `with collect(..)`")
        numpy.savez(path, **self.means())


@contextlib.contextmanager
def collect(model, mapping=None, diagonal=False):
    """Moments of the modules' inputs while the block runs."""
    found, handles, wanted = Moments(diagonal), [], set()

    def watch(layers):
        def hook(module, inputs):
            for layer in layers:
                found.add(layer, inputs[0].detach().cpu().numpy())
        return hook

    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        layers = _layers(name + ".weight", mapping) if getattr(weight, "ndim", 0) == 2 else []
        if layers and not type(module).__name__.startswith("Embedding"):
            handles.append(module.register_forward_pre_hook(watch(layers)))
            wanted.update(layers)
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
        found.missing = sorted(wanted - set(found.sums))


def collect_onnx(path, batches, mapping=None, diagonal=False):
    """The same of the constants that MatMul and Gemm multiply by: their left operands become outputs of the graph."""
    import onnx
    import onnxruntime

    model = onnx.load(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    products = [node for node in model.graph.node if node.op_type in ("MatMul", "Gemm") and node.input[1] in constants]
    given = {value.name for value in (*model.graph.output, *model.graph.input)}
    for operand in dict.fromkeys(node.input[0] for node in products):
        if operand not in given:
            model.graph.output.append(onnx.helper.make_empty_tensor_value_info(operand))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = [value.name for value in session.get_outputs()]
    found = Moments(diagonal)
    for batch in batches:
        values = {**batch, **dict(zip(outputs, session.run(None, batch)))}
        for node in products:
            for layer in _layers(node.input[1], mapping):
                found.add(layer, values[node.input[0]])
    return found
