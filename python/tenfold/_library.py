"""The shared library: where it is, and its one call."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import sys
import threading
import warnings
from typing import Any, Callable, Mapping, Optional, Union

VERSION = "0.1.0"

Progress = Union[None, bool, Callable[[str, int, int], Any]]


class Error(Exception):
    """What the library refuses, or could not do. `file`, `line` and `column` say where the input is wrong; line and
    column count from 1, None is unknown."""

    def __init__(self, message: str, file: Optional[str] = None, line: Optional[int] = None,
                 column: Optional[int] = None) -> None:
        super().__init__(message, file, line, column)
        self.message, self.file, self.line, self.column = message, file, line, column

    def __str__(self) -> str:
        places = [str(place) for place in (self.file, self.line, self.column) if place is not None]
        return ": ".join([":".join(places), self.message] if places else [self.message])


class InputError(Error, ValueError):
    """The request or a file is wrong; the message says what would be right."""


class OutsideError(Error, OSError):
    """An outside cause: a full disk, a missing program, no memory."""

    def __str__(self) -> str:
        return Error.__str__(self)


class LibraryError(Error, ImportError):
    """There is no library, or it is of another version."""


class _CError(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_uint), ("column", ctypes.c_uint),
                ("file", ctypes.c_char * 512), ("message", ctypes.c_char * 1024)]


_ON_PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)
_ON_NOTE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class _Listener(ctypes.Structure):
    _fields_ = [("progress", _ON_PROGRESS), ("note", _ON_NOTE), ("user", ctypes.c_void_p)]


_OK, _MEMORY, _IO, _INTERRUPTED = 0, 4, 5, 6  # of tn_status (base/error.h)


# ---- where the library is


def _same_series(version: str) -> bool:
    """Before 1.0 the second number goes up where something changes its meaning."""
    return version.split(".")[:2] == VERSION.split(".")[:2]


def _places() -> list[pathlib.Path]:
    """Files to try, the first that is there."""
    here = pathlib.Path(__file__).resolve().parent
    name = "libtenfold.so"
    soname = f"{name}.{'.'.join(VERSION.split('.')[:2])}"
    remembered = here / "checkout.txt"
    checkout = pathlib.Path(remembered.read_text().strip()) if remembered.is_file() else here.parent.parent
    places = [checkout / "build" / name]
    for prefix in (pathlib.Path(sys.prefix), pathlib.Path.home() / ".local", pathlib.Path("/usr/local"),
                   pathlib.Path("/usr")):
        places.append(prefix / "lib" / soname)
        places.extend(sorted(prefix.glob(f"lib/*-linux-gnu*/{soname}")))
    return [place for place in places if place.is_file()] + [pathlib.Path(soname)]


def _open(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(f"{path} can't be loaded: {error}; build or install tenfold, or name the library in "
                           "TENFOLD_LIBRARY") from None
    try:
        library.tn_version.restype = ctypes.c_char_p
        version = library.tn_version().decode()
        library.tn_ask_heard
    except AttributeError:
        raise LibraryError(f"{path} is no tenfold library that can be asked from Python; this package needs version "
                           f"{VERSION}") from None
    if not _same_series(version):
        raise LibraryError(f"{path} is tenfold {version}, and this package is of version {VERSION}; install both "
                           "of one version")
    library.tn_ask_heard.argtypes = [ctypes.c_char_p, ctypes.POINTER(_Listener), ctypes.POINTER(ctypes.c_void_p),
                                     ctypes.POINTER(_CError)]
    library.tn_answer_free.argtypes = [ctypes.c_void_p]
    library.tn_answer_free.restype = None
    library.tn_interrupt.restype = library.tn_interrupt_clear.restype = None
    return library


def _find() -> ctypes.CDLL:
    named = os.environ.get("TENFOLD_LIBRARY")
    if named:
        path = pathlib.Path(named)
        return _open(str(path / "libtenfold.so" if path.is_dir() else path))
    return _open(str(_places()[0]))


_loaded: Optional[ctypes.CDLL] = None
_loading = threading.Lock()


def library() -> ctypes.CDLL:
    """The library, loaded once."""
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                _loaded = _find()
    return _loaded


# ---- progress


class _Bar:
    """One line on standard error, where somebody sees it."""

    def __init__(self) -> None:
        self.width = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        share = done / total if total else 0.0
        text = f"[{'#' * int(24 * share):.<24}] {100 * share:3.0f} %  {done:,} of {total:,} {what}"
        self.width = max(self.width, len(text))
        print(f"\r{text:<{self.width}}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.width:
            print(f"\r{'':<{self.width}}\r", end="", file=sys.stderr, flush=True)


def _bar_of(progress: Progress) -> Optional[Callable[[str, int, int], Any]]:
    if callable(progress):
        return progress
    shown = progress if progress is not None else sys.stderr.isatty() or "ipykernel" in sys.modules
    return _Bar() if shown else None


# ---- the call


def _raise(error: _CError) -> None:
    message, file = error.message.decode(errors="replace"), error.file.decode(errors="replace")
    if error.status == _INTERRUPTED:
        raise KeyboardInterrupt(message)
    kind = OutsideError if error.status in (_MEMORY, _IO) else InputError
    raise kind(message, file or None, error.line or None, error.column or None)


def _call(request: bytes, listener: Optional[_Listener]) -> dict[str, Any]:
    called, answer, error = library(), ctypes.c_void_p(), _CError()
    heard = ctypes.byref(listener) if listener is not None else None
    if called.tn_ask_heard(request, heard, ctypes.byref(answer), ctypes.byref(error)) != _OK:
        _raise(error)
    try:
        return json.loads(ctypes.string_at(answer))
    finally:
        called.tn_answer_free(answer)


def _call_interruptibly(request: bytes, listener: _Listener) -> dict[str, Any]:
    """In a thread of its own, so that Ctrl-C reaches the main thread, which then asks the work to stop and waits for
    what is finished to be kept."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append((_call(request, listener), None))
        except BaseException as error:  # handed to the thread that waits
            outcome.append((None, error))
        finally:
            ended.set()

    library()  # a missing library is found here, in the caller's thread
    ended, stopped = threading.Event(), False
    threading.Thread(target=work, name="tenfold", daemon=True).start()
    while not ended.is_set():
        try:
            ended.wait(1)
        except KeyboardInterrupt:
            library().tn_interrupt()
            stopped = True
    if stopped:
        library().tn_interrupt_clear()
        if outcome[0][1] is None:
            raise KeyboardInterrupt("interrupted")
    answer, error = outcome[0]
    if error is not None:
        raise error.with_traceback(None)
    return answer


def _plain(value: Any) -> Any:
    """What JSON has no word for: NumPy's numbers, paths, tuples."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return value.item()
    return value


def request_of(command: str, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> bytes:
    """A request as JSON: `max_live=3` is the option --max-live, `out` is -o; None is not given."""
    named = {"o" if name == "out" else name.rstrip("_").replace("_", "-"): _plain(value)
             for name, value in options.items() if value is not None}
    try:
        return json.dumps({"command": command, "arguments": _plain(list(arguments)), "options": named},
                          allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"{command} takes texts, numbers, truths, lists and mappings of them: {error}") from None


def ask_quickly(command: str, *arguments: Any, **options: Any) -> dict[str, Any]:
    """For what takes no time worth interrupting."""
    return _call(request_of(command, arguments, options), None)


def ask(command: str, *arguments: Any, progress: Progress = None, **options: Any) -> dict[str, Any]:
    """Asks any command of the program `tenfold`; the answer is the object that --json prints.

    `arguments` stand behind the command, `options` are its options by name: `max_live=100` is --max-live 100,
    `set={"build.rows": 8}` is --set build.rows=8, `out` is -o. `progress`: None shows a bar where standard error is a
    terminal or a notebook, True always, False never; a function is called with ("designs", done, total).
    Raises InputError, OutsideError, or KeyboardInterrupt once what was finished is kept.
    """
    request, bar = request_of(command, arguments, options), _bar_of(progress)
    failed: list[BaseException] = []
    notes: list[str] = []

    @_ON_PROGRESS
    def on_progress(_user: Any, what: bytes, done: int, total: int) -> None:
        try:
            if bar and not failed:
                bar(what.decode(), done, total)
        except BaseException as error:  # no exception passes through C
            failed.append(error)
            library().tn_interrupt()

    @_ON_NOTE
    def on_note(_user: Any, text: bytes) -> None:
        notes.append(text.decode(errors="replace"))

    listener = _Listener(on_progress, on_note, None)
    in_main = threading.current_thread() is threading.main_thread()
    try:
        answer = _call_interruptibly(request, listener) if in_main else _call(request, listener)
    except KeyboardInterrupt:
        if not failed:
            raise
        answer = {}
    finally:
        if isinstance(bar, _Bar):
            bar.end()
    if failed:
        library().tn_interrupt_clear()
        raise failed[0]
    for note in notes:
        warnings.warn(note.strip(), stacklevel=3)
    return answer
