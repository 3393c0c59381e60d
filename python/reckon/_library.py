# SPDX-License-Identifier: Apache-2.0
"""The shared library: finding it, and running its commands."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any, Callable, List, Mapping, Optional

RK_OK = 0
RK_ERR_STOPPED = 6


class ReckonError(Exception):
    """What is wrong with a request or a document, and what would be right."""


class _Error(ctypes.Structure):
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
    ]


# Reports progress: what is counted, how many are done, and the total (0: unknown).
ProgressCallback = Callable[[str, int, int], None]


def _candidates() -> List[str]:
    given = os.environ.get("RECKON_LIBRARY")
    if given:
        return [given]
    found = []
    if shutil.which("pkg-config"):
        asked = subprocess.run(
            ["pkg-config", "--variable=libdir", "libreckon"], capture_output=True, text=True
        )
        if asked.returncode == 0:
            found.append(str(pathlib.Path(asked.stdout.strip()) / "libreckon.so.0"))
    named = ctypes.util.find_library("reckon")
    if named:
        found.append(named)
    return found + ["libreckon.so.0"]


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
    pointer, text, error = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Error)
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
        "rk_command_schema": (ctypes.c_int, [pointer, ctypes.POINTER(pointer), error]),
        "rk_free": (None, [pointer]),
        "rk_catalogue_name": (text, [ctypes.c_size_t, ctypes.POINTER(text)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _declare(_load())


def version() -> str:
    """The version of the library, e.g. "0.1.0"."""
    return _library.rk_version().decode()


def catalogue(kind: str) -> List[str]:
    """The names of the built-in catalogue of a kind: "models", "systems", "stacks"..."""
    names, folder, index = [], ctypes.c_char_p(), 0
    while True:
        name = _library.rk_catalogue_name(index, ctypes.byref(folder))
        if name is None:
            return names
        if (folder.value or b"").decode() == kind:
            names.append(name.decode())
        index += 1


def _check(status: int, error: _Error) -> None:
    if status != RK_OK:
        text = ctypes.create_string_buffer(1024)
        _library.rk_error_text(ctypes.byref(error), text, len(text))
        raise ReckonError(text.value.decode(errors="replace"))


def _document_text(value: Any) -> Any:
    """A path is its name; documents may be given as mappings."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def print_progress(what: str, done: int, total: int) -> None:
    """A progress callback that keeps one line of standard error up to date."""
    share = f", {100 * done / total:.0f} %" if total else ""
    sys.stderr.write(f"\r{done:,} {what}{share}\033[K" + ("\n" if total and done >= total else ""))
    sys.stderr.flush()


def command_schema(name: str, method: Optional[str] = None) -> str:
    """The JSON Schema of the requests of a command, as text."""
    error, text, command = _Error(), ctypes.c_void_p(), ctypes.c_void_p()
    found = _library.rk_command_find(name.encode())
    if not found:
        raise ReckonError(f"reckon has no command {name!r}")
    _check(
        _library.rk_command_resolve(
            found, _encode(method), None, None, ctypes.byref(command), ctypes.byref(error)
        ),
        error,
    )
    _check(_library.rk_command_schema(command, ctypes.byref(text), ctypes.byref(error)), error)
    try:
        return ctypes.string_at(text.value or 0).decode()
    finally:
        _library.rk_free(text)


class Answer:
    """What a command wrote, what it remarked, and whether it found what was asked for."""

    def __init__(self, text: str, remarks: List[str], found: bool) -> None:
        self.text, self.remarks, self.found = text, remarks, found


def _encode(value: Any) -> Optional[bytes]:
    return value.encode() if isinstance(value, str) else None


def run_command(
    name: str, options: Mapping[str, Any], progress: Optional[ProgressCallback] = None
) -> Answer:
    """
    Runs a command of `reckon`.  `options` has the names of the command line; None is as if absent.
    Ctrl-C stops a search.  The interpreter lock is released while the library works.
    """
    given = {key: _document_text(value) for key, value in options.items() if value is not None}
    pieces: List[bytes] = []
    remarks: List[str] = []
    raised: List[BaseException] = []

    @_WRITE
    def write(_user: Any, data: Any, size: int) -> None:
        pieces.append(ctypes.string_at(data, size))

    @_REMARK
    def remark(_user: Any, line: bytes) -> None:
        remarks.append(line.decode(errors="replace"))

    @_PROGRESS
    def report(_user: Any, at: Any) -> bool:
        try:
            if progress:
                progress(at.contents.what.decode(), at.contents.done, at.contents.total)
            return True
        except BaseException as exception:  # Ctrl-C, or whatever the callback raises
            raised.append(exception)
            return False

    error, command, job = _Error(), ctypes.c_void_p(), ctypes.c_void_p()
    found = _library.rk_command_find(name.encode())
    if not found:
        raise ReckonError(f"reckon has no command {name!r}")
    _check(
        _library.rk_command_resolve(
            found,
            _encode(given.get("method")),
            _encode(given.get("model")),
            _encode(given.get("system")),
            ctypes.byref(command),
            ctypes.byref(error),
        ),
        error,
    )
    _check(_library.rk_job_create(command, ctypes.byref(job), ctypes.byref(error)), error)
    try:
        request = json.dumps(given).encode()
        _check(_library.rk_job_set_json(job, request, ctypes.byref(error)), error)
        control = _Control(
            size=ctypes.sizeof(_Control), write=write, remark=remark, progress=report
        )
        status = _library.rk_job_run(job, ctypes.byref(control), ctypes.byref(error))
        if raised:
            raise raised[0]
        _check(status, error)
        text = b"".join(pieces).decode()
        return Answer(text, remarks, bool(_library.rk_job_found(job)))
    finally:
        _library.rk_job_free(job)
