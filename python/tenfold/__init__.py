"""tenfold: what tensor-train training costs on small devices, and contraction paths for einsum.

    import tenfold
    tenfold.cost("atis-2enc", "u50")                     # one design
    sweep = tenfold.sweep("atis-2enc-u50", "results/u50")  # a space, its front, what to build
    tenfold.path("ab,bc,cd->ad", (4, 8), (8, 16), (16, 2)) # for numpy.einsum and opt_einsum.contract

Every command of the program is a function here; `ask` takes any of them by name. Files are found as the program finds
them (TENFOLD_PATH, the source tree, the installed data). The page is docs/python.md.
"""

from ._commands import (accuracy, compare, cost, doctor, export, finetune, hardware, merge, model, order, ranks,
                        recommend, roofline, rtl, slurm, technique, train, validate)
from ._commands import list_ as list
from ._einsum import Optimizer, Path, TrainingPath, path, training_path
from ._library import Error, InputError, LibraryError, OutsideError, ask
from ._results import Design, Front, Sweep, sweep

from ._library import VERSION as __version__

__all__ = ["Design", "Error", "Front", "InputError", "LibraryError", "Optimizer", "OutsideError", "Path", "Sweep",
           "TrainingPath", "accuracy", "ask", "compare", "cost", "doctor", "export", "finetune", "hardware", "list",
           "merge", "model", "order", "path", "ranks", "recommend", "roofline", "rtl", "slurm", "sweep", "technique",
           "train", "training_path", "validate"]
