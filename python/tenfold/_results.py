"""A design and a sweep, as a Python user handles and looks at them."""

from __future__ import annotations

import base64
import html
import json
import os
import pathlib
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from ._library import InputError, Progress, ask

if TYPE_CHECKING:
    import pandas

PathLike = Union[str, "os.PathLike[str]"]


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    caption = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return (f"<table>{caption}<thead>{row([html.escape(name) for name in head], 'th')}</thead><tbody>" +
            "".join(row([_cell(value) for value in cells], "td") for cells in rows) + "</tbody></table>")


class Design(dict[str, Any]):
    """What `tenfold cost --json` answers, a dict; a notebook shows it as tables."""

    def _repr_html_(self) -> str:
        latency, memory, energy = self.get("latency", {}), self.get("memory", {}), self.get("energy", {})
        first = [("parameters", self.get("parameters"), ""), ("step", latency.get("seconds_per_step"), "s"),
                 ("epoch", latency.get("seconds_per_epoch"), "s"), ("step", latency.get("cycles_per_step"), "cycles"),
                 ("peak memory", memory.get("peak_bytes"), "bytes"), ("step", energy.get("joules_per_step"), "J"),
                 ("power", energy.get("watts"), "W")]
        title = f"{self.get('model')} on {self.get('device')}: {'fits' if self.get('fits') else 'does not fit'}"
        used = [(name, part.get("used"), part.get("available"), part.get("share"))
                for name, part in self.get("resources", {}).items()]
        return (_table(["quantity", "value", "unit"], first, title) +
                _table(["resource", "used", "available", "share"], used))


class Front(list[dict[str, Any]]):
    """Designs, one dict each; a notebook shows them as a table."""

    def to_pandas(self) -> "pandas.DataFrame":
        import pandas

        frame = pandas.DataFrame(list(self))
        return frame.set_index("id") if "id" in frame else frame

    def _repr_html_(self) -> str:
        head = list(self[0]) if self else ["id"]
        return _table(head, [[design.get(name) for name in head] for design in self], f"{len(self)} designs")


class Figures(list[pathlib.Path]):
    """Files of figures; a notebook shows the PNGs."""

    def _repr_html_(self) -> str:
        shown = [path for path in self if path.suffix == ".png"]
        images = "".join(f'<img src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}">'
                         for path in shown)
        return images or _table(["figure"], [[path] for path in self])


def _frame(front: Front) -> Any:
    """A DataFrame by id where pandas is there, else the list."""
    try:
        return front.to_pandas()
    except ImportError:
        return front


class Sweep:
    """The folder of a sweep. `summary` is what the sweep answered (of an older folder, its sweep.json)."""

    def __init__(self, folder: PathLike, summary: Optional[Mapping[str, Any]] = None) -> None:
        self.folder = pathlib.Path(folder)
        if summary is None:
            file = self.folder / "sweep.json"
            if not file.is_file():
                raise InputError("no sweep.json: this is no folder of a sweep; tenfold.sweep makes one", str(file))
            summary = json.loads(file.read_text())
        self.summary: dict[str, Any] = dict(summary)

    def designs(self, where: Optional[str] = None, *, sort: Optional[str] = None, limit: Optional[int] = None,
                all: bool = False, **options: Any) -> "Union[pandas.DataFrame, Front]":
        """Designs that fulfil a condition, "dsp < 2000 and seconds_per_step < 0.01": of the front, or with `all` of
        what `sweep(..., keep_all=True)` kept. A DataFrame by id, or a Front where pandas is absent."""
        return _frame(self._designs(where, sort=sort, limit=limit, all=all, **options))

    def _designs(self, where: Optional[str] = None, **options: Any) -> Front:
        arguments = (self.folder,) if where is None else (self.folder, where)
        return Front(ask("query", *arguments, progress=False, **options)["rows"])

    @property
    def front(self) -> "Union[pandas.DataFrame, Front]":
        """The designs that no other beats in all objectives."""
        return self.designs()

    def design(self, id: int, *, set: Optional[Mapping[str, Any]] = None, **keys: Any) -> Design:
        """One design's cost; with `set` and further keywords, what if it were otherwise."""
        changes = {**(set or {}), **keys}
        return Design(ask("cost", self.folder, point=int(id), set=changes or None, progress=False))

    def recommend(self, **options: Any) -> dict[str, Any]:
        """Which design to build, and why."""
        return ask("recommend", self.folder, **options)

    def plot(self, x: Optional[str] = None, y: Optional[str] = None, **options: Any) -> Figures:
        """Draws the sweep's figures, or one quantity over another, by gnuplot."""
        return Figures(pathlib.Path(path) for path in ask("plot", self.folder, x=x, y=y, **options)["figures"])

    def report(self, out: PathLike) -> pathlib.Path:
        """One page of HTML to look through."""
        return pathlib.Path(ask("report", self.folder, out=out)["reports"][0])

    def __repr__(self) -> str:
        return f"<tenfold.Sweep {self.summary.get('space')} in {self.folder}: front of {self.summary.get('front')}>"

    def _repr_html_(self) -> str:
        names = ["space", "designs", "evaluated", "feasible", "front", "complete"]
        return (_table(names, [[self.summary.get(name) for name in names]], str(self.folder)) +
                self._designs()._repr_html_())


def sweep(space: PathLike, out: PathLike, *, set: Optional[Mapping[str, Any]] = None, progress: Progress = None,
          **options: Any) -> Sweep:
    """Evaluates every design of a space and keeps the Pareto front in the folder `out`. Options are those of
    `tenfold sweep`: threads, shard, resume, keep_all, budget, seed, epsilon, time, method. Ctrl-C stops; what is
    finished is kept, and `resume=True` goes on with it, or looks for the front anew where not every design is evaluated."""
    return Sweep(out, ask("sweep", space, out=out, set=set, progress=progress, **options))
