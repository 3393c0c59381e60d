# SPDX-License-Identifier: Apache-2.0
"""The shared library: finding it, and running its commands."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import json
import operator
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._calls import Call
from ._words import in_words_of_python

RK_OK = 0


class ReckonError(Exception):
    """What is wrong with a request or a document, and what would be right."""


class Error(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int),
        ("line", ctypes.c_int),
        ("column", ctypes.c_int),
        ("file", ctypes.c_char * 256),
        ("path", ctypes.c_char * 128),
        ("message", ctypes.c_char * 512),
    ]


class _Progress(ctypes.Structure):
    _fields_ = [
        ("what", ctypes.c_char_p),
        ("done", ctypes.c_uint64),
        ("total", ctypes.c_uint64),
        ("note", ctypes.c_char_p),
    ]


_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
_REMARK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
_PROGRESS = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(_Progress))


class _Control(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("user", ctypes.c_void_p),
        ("write", _WRITE),
        ("remark", _REMARK),
        ("progress", _PROGRESS),
        ("drawn", ctypes.c_bool),
        ("width", ctypes.c_int),
        ("team", ctypes.c_void_p),
        ("documents", ctypes.c_void_p),
    ]


# Reports progress: what is counted, how many are done, and the total (0: unknown).
ProgressCallback = Callable[[str, int, int], None]

# A launch of a training framework: a file, or the words of a command line.
Words = Union[str, "os.PathLike[str]", Sequence[str]]


def _candidates() -> List[str]:
    given = os.environ.get("RECKON_LIBRARY")
    if given:
        return [given]
    inside = pathlib.Path(__file__).with_name("libreckon.so")  # of a wheel
    found = [str(inside)] if inside.exists() else []
    if shutil.which("pkg-config") and not found:
        asked = subprocess.run(
            ["pkg-config", "--variable=libdir", "libreckon"], capture_output=True, encoding="utf-8"
        )
        if asked.returncode == 0:
            found.append(str(pathlib.Path(asked.stdout.strip()) / "libreckon.so.1"))
    named = ctypes.util.find_library("reckon")
    if named:
        found.append(named)
    return found + ["libreckon.so.1"]


def _load() -> ctypes.CDLL:
    tried = []
    for name in _candidates():
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(f"{name}: {error}")
    raise ImportError(
        "libreckon is not installed: run 'make install' in the source tree, or set "
        "RECKON_LIBRARY to the path of libreckon.so (" + "; ".join(tried) + ")"
    )


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, text, error = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Error)
    signatures = {
        "rk_version": (text, []),
        "rk_error_text": (text, [error, ctypes.c_char_p, ctypes.c_size_t]),
        "rk_command_find": (pointer, [text]),
        "rk_command_resolve": (
            ctypes.c_int,
            [pointer, text, text, text, ctypes.POINTER(pointer), error],
        ),
        "rk_job_create": (ctypes.c_int, [pointer, ctypes.POINTER(pointer), error]),
        "rk_job_set": (ctypes.c_int, [pointer, text, text, error]),
        "rk_job_set_json": (ctypes.c_int, [pointer, text, error]),
        "rk_job_run": (ctypes.c_int, [pointer, ctypes.POINTER(_Control), error]),
        "rk_job_found": (ctypes.c_bool, [pointer]),
        "rk_job_free": (None, [pointer]),
        "rk_documents_create": (ctypes.c_int, [ctypes.POINTER(pointer), error]),
        "rk_command_schema": (ctypes.c_int, [pointer, ctypes.POINTER(pointer), error]),
        "rk_free": (None, [pointer]),
        "rk_catalogue_name": (text, [ctypes.c_size_t, ctypes.POINTER(text)]),
        "rk_model_create": (ctypes.c_int, [text, ctypes.POINTER(pointer), error]),
        "rk_model_free": (None, [pointer]),
        "rk_system_create": (ctypes.c_int, [text, ctypes.POINTER(pointer), error]),
        "rk_system_free": (None, [pointer]),
        "rk_stack_create": (ctypes.c_int, [text, pointer, ctypes.POINTER(pointer), error]),
        "rk_stack_free": (None, [pointer]),
        "rk_setup_create": (
            ctypes.c_int,
            [pointer, pointer, pointer, ctypes.POINTER(pointer), error],
        ),
        "rk_setup_free": (None, [pointer]),
        "rk_strategy_read": (ctypes.c_int, [pointer, text, pointer, ctypes.c_size_t, error]),
        "rk_predict_step": (ctypes.c_int, [pointer, pointer, pointer, ctypes.c_size_t, error]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _declare(_load())


def version() -> str:
    """The version of the library, e.g. "0.2.0"."""
    return str(library.rk_version().decode())


def catalogue(kind: str) -> List[str]:
    """The names of the built-in catalogue of a kind: "models", "systems", "stacks"..."""
    names: List[str] = []
    kinds: Dict[str, None] = {}
    folder, index = ctypes.c_char_p(), 0
    while True:
        name = library.rk_catalogue_name(index, ctypes.byref(folder))
        if name is None:
            break
        kinds[(folder.value or b"").decode()] = None
        if (folder.value or b"").decode() == kind:
            names.append(name.decode())
        index += 1
    if not names:
        raise ReckonError(f"the catalogue has no {kind!r}; its kinds are {', '.join(kinds)}")
    return names


def _text_of(error: Error) -> str:
    text = ctypes.create_string_buffer(1024)
    library.rk_error_text(ctypes.byref(error), text, len(text))
    return text.value.decode(errors="replace")


def check(status: int, error: Error) -> None:
    """Raises what a function of the library reports."""
    if status != RK_OK:
        raise ReckonError(_text_of(error))


def _check_job(name: str, status: int, error: Error) -> None:
    """The same for a command, whose messages name options."""
    if status != RK_OK:
        members = json.loads(command_schema(name))["properties"]
        raise ReckonError(in_words_of_python(name, _text_of(error), members))


def _plain(value: Any) -> Any:
    """A value that json does not know: a path, a mapping, an array, or whatever is a number."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()  # a scalar of numpy or of a tensor library
    if hasattr(value, "tolist"):
        return value.tolist()
    readers: List[Callable[[Any], Any]] = [operator.index, float]
    for read in readers:
        try:
            return read(value)
        except TypeError:
            pass
    if isinstance(value, (set, frozenset, range)):
        return list(value)
    kind = type(value).__name__
    raise TypeError(f"expected a number, a text, a list, a path or a mapping, not {kind}")


def to_json(what: str, value: Any) -> str:
    """`value` as JSON; `what` is its name in errors."""
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        wrong = "neither NaN nor infinite is a value" if "JSON compliant" in str(error) else error
        raise ReckonError(f"{what}: {wrong}") from None


class NothingFitsError(LookupError):
    """
    No strategy fits in memory.  `reason` says by how much the nearest one does not, `raw` is the
    answer of the library.
    """

    def __init__(self, reason: str, raw: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        super().__init__(reason, raw, options)
        self.reason, self.raw, self._options = reason, dict(raw), dict(options)

    def __str__(self) -> str:
        return self.reason

    @property
    def accelerators(self) -> Optional[int]:
        """A number of accelerators on which a strategy fits; None: not known."""
        return self.raw.get("accelerators_that_fit") or self.raw.get("fewest_accelerators") or None

    @property
    def changes(self) -> List[Mapping[str, Any]]:
        """
        Changes of one or two choices that make the nearest strategy fit, fastest first: `change`
        in words, `step_ratio`, `strategy`, `estimate`.  Empty: none does.  This asks `fit`.
        """
        try:
            found = fit_of(self._options)
        except ReckonError:
            return []  # the question is none that `fit` answers, such as one of Calculon's
        listed = found.get("shortage", {}).get("changes", [])
        return list(listed) if isinstance(listed, list) else []


def print_progress(what: str, done: int, total: int) -> None:
    """A progress callback that keeps one line of standard error up to date."""
    share = f", {100 * done / total:.0f} %" if total else ""
    sys.stderr.write(f"\r{done:,} {what}{share}\033[K" + ("\n" if total and done >= total else ""))
    sys.stderr.flush()


def command_schema(name: str, method: Optional[str] = None) -> str:
    """The JSON Schema of the requests of a command, as text."""
    error, text, command = Error(), ctypes.c_void_p(), ctypes.c_void_p()
    found = library.rk_command_find(name.encode())
    if not found:
        raise ReckonError(f"reckon has no command {name!r}")
    check(
        library.rk_command_resolve(
            found, _encode(method), None, None, ctypes.byref(command), ctypes.byref(error)
        ),
        error,
    )
    check(library.rk_command_schema(command, ctypes.byref(text), ctypes.byref(error)), error)
    try:
        return ctypes.string_at(text.value or 0).decode()
    finally:
        library.rk_free(text)


def fit_of(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The answer of `fit` to a question of another command, whose other options are left out."""
    known = json.loads(command_schema("fit"))["properties"]
    asked = {key: value for key, value in options.items() if key.replace("-", "_") in known}
    return dict(json.loads(run_command("fit", {**asked, "json": True}).text))


class Answer:
    """What a command wrote, and whether it found what was asked for."""

    def __init__(self, text: str, found: bool) -> None:
        self.text, self.found = text, found


def _encode(value: Any) -> Optional[bytes]:
    """A name or a path; a document that was given as a mapping is left to the job."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    return text.encode(errors="replace") if isinstance(text, str) else None


@contextlib.contextmanager
def launch_as_file(launch: Words) -> Iterator[Union[str, "os.PathLike[str]"]]:
    """The path of a launch; the words of a command line become a file."""
    if isinstance(launch, (str, os.PathLike)):
        yield launch
        return
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "launch.json"
        path.write_text(to_json("launch", {"argv": list(launch)}), encoding="utf-8")
        yield path


def _request_of(given: Mapping[str, Any]) -> str:
    """The options as JSON; an error names the one at fault."""
    try:
        return json.dumps(given, default=_plain, allow_nan=False)
    except (TypeError, ValueError):
        members = (f"{json.dumps(key)}: {to_json(key, value)}" for key, value in given.items())
        return "{" + ", ".join(members) + "}"


def run_command(
    name: str, options: Mapping[str, Any], progress: Optional[ProgressCallback] = None
) -> Answer:
    """
    Runs a command of `reckon`.  `options` has the names of the command line; None is as if absent,
    `set` may be a mapping, and `launch` the words of a command line.  Ctrl-C stops it at once.  The
    interpreter lock is released while the library works.
    """
    given = {key: value for key, value in options.items() if value is not None}
    if isinstance(given.get("set"), Mapping):
        given["set"] = ",".join(f"{key}={value}" for key, value in given["set"].items())
    with launch_as_file(given.get("launch", "")) as launch:
        given.update({"launch": launch} if launch else {})
        request = _request_of(given).encode()

        def work(report: Callable[..., bool]) -> Answer:
            resolve = [_encode(given.get(key)) for key in ("method", "model", "system")]
            return _run_job(name, resolve, request, report)

        return Call(work, progress).run()


def _create_documents() -> ctypes.c_void_p:
    """What commands read from the catalogue, as long as the program runs."""
    documents, error = ctypes.c_void_p(), Error()
    check(library.rk_documents_create(ctypes.byref(documents), ctypes.byref(error)), error)
    return documents


_documents = _create_documents()


def _run_job(
    name: str, resolve: List[Optional[bytes]], request: bytes, report: Callable[..., bool]
) -> Answer:
    """Runs a command in this thread, until `report` returns False."""
    pieces: List[bytes] = []

    def write(_user: Any, data: Any, size: int) -> None:
        pieces.append(ctypes.string_at(data, size))

    def progress(_user: Any, at: Any) -> bool:
        done: bool = report(at.contents.what.decode(), at.contents.done, at.contents.total)
        return done

    error, command, job = Error(), ctypes.c_void_p(), ctypes.c_void_p()
    found = library.rk_command_find(name.encode())
    if not found:
        raise ReckonError(f"reckon has no command {name!r}")
    _check_job(
        name,
        library.rk_command_resolve(found, *resolve, ctypes.byref(command), ctypes.byref(error)),
        error,
    )
    check(library.rk_job_create(command, ctypes.byref(job), ctypes.byref(error)), error)
    try:
        _check_job(name, library.rk_job_set_json(job, request, ctypes.byref(error)), error)
        control = _Control(
            size=ctypes.sizeof(_Control),
            write=_WRITE(write),
            progress=_PROGRESS(progress),
            documents=_documents,
        )
        _check_job(
            name, library.rk_job_run(job, ctypes.byref(control), ctypes.byref(error)), error
        )
        text = b"".join(pieces).decode()
        return Answer(text, bool(library.rk_job_found(job)))
    finally:
        library.rk_job_free(job)
