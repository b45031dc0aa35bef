"""The program's commands as functions: arguments as they stand behind the command, options as keywords."""

from __future__ import annotations

import json
import os
import pathlib
import struct
import tempfile
from typing import Any, Mapping, Optional, Union

from ._library import InputError, Progress, ask
from ._results import Design

Answer = dict[str, Any]
PathLike = Union[str, "os.PathLike[str]"]
Budget = Union[str, Mapping[str, Any], list[str]]


def cost(model: PathLike, device: Optional[str] = None, *, set: Optional[Mapping[str, Any]] = None,
         point: Optional[int] = None, **keys: Any) -> Design:
    """One design's cost: a model on a device, or the design `point` of a sweep's folder.

    `set` and further keywords override keys of the model, its build or the device:
    `cost("atis-2enc", "u50", batch=4, **{"build.rows": 8})`."""
    return Design(ask("cost", model, device=device, point=point, set={**(set or {}), **keys}, progress=False))


def order(network: Optional[PathLike] = None, **options: Any) -> Answer:
    """Contraction flows of one layer (`layer="tt:m=12x8x8,..."`) or network (`einsum=`, `sizes=`)."""
    return ask("order", *_given(network), **options)


def train(model: PathLike, data: PathLike = "none", *, progress: Progress = None, **options: Any) -> Answer:
    """Trains a model, or a sweep's design (`point=`), on this CPU: the priced step, executed. `data="none"` with
    `steps=N` times N steps on random words."""
    return ask("train", model, data=data, progress=progress, **options)


def validate(target: Optional[PathLike] = None, **options: Any) -> Answer:
    """Runs the chosen flows on this CPU: numbers, multiply-adds and peak memory against what was predicted."""
    return ask("validate", *_given(target), **options)


def accuracy(*arguments: Any, **options: Any) -> Answer:
    """Accuracy of a space's designs: `accuracy(space, data=, out=)`, `accuracy("fit", table)`."""
    return ask("accuracy", *arguments, **options)


def export(folder: PathLike, point: int, out: PathLike, **options: Any) -> Answer:
    """Hands a sweep's design over: its files in the folder `out`."""
    return ask("export", folder, point=point, out=out, **options)


def rtl(target: PathLike, out: PathLike, **options: Any) -> Answer:
    """Hardware of a model or a sweep's design, in SystemVerilog."""
    return ask("rtl", target, out=out, **options)


def model(checkpoint: PathLike, out: PathLike, **options: Any) -> Answer:
    """Writes a model file from a checkpoint or an ONNX graph."""
    return ask("model", checkpoint, out=out, **options)


def merge(*folders: PathLike, out: PathLike, **options: Any) -> Answer:
    """Joins the parts of a sweep."""
    return ask("merge", *folders, out=out, **options)


def slurm(space: PathLike, out: PathLike, **options: Any) -> Answer:
    """Writes a sweep's jobs for a cluster."""
    return ask("slurm", space, out=out, **options)


def recommend(folder: PathLike, **options: Any) -> Answer:
    """Which design of a sweep to build, and why."""
    return ask("recommend", folder, **options)


def compare(*models: PathLike, **options: Any) -> Answer:
    """The same training on an FPGA and on GPUs, or fronts of sweeps with each other."""
    return ask("compare", *models, **options)


def hardware(question: str, **options: Any) -> Answer:
    """One question to the hardware model: `hardware("memory", width=32, depth=1152)`."""
    return ask("hardware", question, **options)


def technique(name: str, *arguments: Any, **options: Any) -> Answer:
    """One question to a technique's formula: `technique("procrustes", tiles=[10, 2, 8, 4])`."""
    return ask("technique", name, *arguments, **options)


def roofline(*arguments: Any, **options: Any) -> Answer:
    """Times of matrix products on a GPU: `roofline(device="h200", dtype="fp32", m=32, n=768, k=768)`."""
    return ask("roofline", *arguments, **options)


def finetune(part: str, *arguments: Any, **options: Any) -> Answer:
    """Throughput and price of fine-tuning: `finetune("fit", "measured.csv", law="best")`."""
    return ask("finetune", part, *arguments, **options)


def list_(what: str) -> list[Any]:
    """Names of "models", "devices", "spaces", "flows", "formats", "techniques", "gpus"."""
    answer = ask("list", what)
    return next(value for key, value in answer.items() if key != "schema")


def doctor(**options: Any) -> Answer:
    """What of tenfold works on this machine."""
    return ask("doctor", **options)


def _given(argument: Any) -> tuple[Any, ...]:
    return () if argument is None else (argument,)


# ---- ranks


def ranks(weights: Any, budget: Optional[Budget] = None, *, model: Optional[PathLike] = None,
          progress: Progress = None, **options: Any) -> Answer:
    """Ranks from trained weights under a budget.

    `weights`: a file (.npz, .safetensors, its .index.json, .onnx), or a mapping of names to arrays: PyTorch's
    state_dict or NumPy arrays. `budget`: what all layers may take together, `{"params": 300000}`, "12MB" or "80 %".
    `model`: the model that the weights belong to; None: the one that `tenfold model` reads from the weights, if it
    knows them."""
    with tempfile.TemporaryDirectory(prefix="tenfold-") as folder:
        if isinstance(weights, Mapping):
            file = pathlib.Path(folder) / "weights.safetensors"
            write_safetensors(file, weights)
        else:
            file = pathlib.Path(weights)
        try:
            if model is None:
                model = pathlib.Path(folder) / "model.yaml"
                ask("model", file, out=model, progress=False)
            return ask("ranks", model, weights=file, budget=budget, progress=progress, **options)
        except InputError as error:
            if error.file is None or not error.file.startswith(folder):
                raise
            raise InputError(error.message, "weights" if isinstance(weights, Mapping) else str(weights)) from None


_TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16",
          "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def write_safetensors(path: PathLike, arrays: Mapping[str, Any]) -> None:
    """The arrays, NumPy's or PyTorch's, as a safetensors file."""
    import numpy

    header: dict[str, Any] = {}
    data: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        if hasattr(array, "detach"):  # of PyTorch; NumPy has no bfloat16
            array = array.detach().cpu()
            array = (array.float() if str(array.dtype) == "torch.bfloat16" else array).numpy()
        array = numpy.asarray(array)
        if array.dtype.name not in _TYPES:
            raise InputError(f"{name}: arrays of {array.dtype.name} can't be weights; "
                             f"{', '.join(_TYPES)} and bfloat16 can")
        raw = numpy.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [offset, offset + len(raw)]}
        data.append(raw)
        offset += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(data)
