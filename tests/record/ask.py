# SPDX-License-Identifier: Apache-2.0
"""Asks one question of the record: on the command line, as JSON, in Python, in C, or of edited files."""

import ctypes
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback

from answer import compact, compact_all
from edit import read_edits

TIMEOUT_S = 120
ROOT = pathlib.Path(__file__).resolve().parents[2]
WITHOUT_THREADS = {"estimate", "comm", "validate", "plot", "list", "show", "calculon", "help",
                   "version", "schema", "catalogue"}


class Place:
    """Where this process asks: programs, and a copy of the input files to run in."""
    build = files = folder = threads = None
    show = False
    inputs = {}


def begin(build, files, threads=None, show=False):
    """Makes this process ready to ask."""
    Place.build, Place.files, Place.threads, Place.show = build.resolve(), files, threads, show
    Place.folder = pathlib.Path(tempfile.mkdtemp(prefix="record-"))
    Place.inputs = {path.name: path.read_bytes() for path in files.iterdir()}
    for name, data in Place.inputs.items():
        (Place.folder / name).write_bytes(data)
    os.chdir(Place.folder)
    os.environ.update(NO_COLOR="1", COLUMNS="80",
                      RECKON_LIBRARY=str(Place.build / "lib" / "libreckon.so.1"))
    sys.path.insert(0, str(ROOT / "python"))
    import atexit  # pylint: disable=import-outside-toplevel
    import multiprocessing.util  # pylint: disable=import-outside-toplevel
    atexit.register(shutil.rmtree, Place.folder, True)
    multiprocessing.util.Finalize(None, shutil.rmtree, (Place.folder, True), exitpriority=1)


def command_line(kind, rest):
    """A question as a person would type it, in tests/record/files."""
    if kind == "json":
        return f"rk_answer_request: {rest}"
    if kind == "python":
        function, options = rest.split(" ", 1)
        return f"python: reckon.{function}(**{options})"
    if kind == "edit":
        return f"{rest}  (files as tests/record/edit.py edits them)"
    return ("record_typed " if kind == "c" else "reckon ") + rest


def answer(question):
    """The compact answer to (kind, rest)."""
    kind, rest = question
    if kind == "edit":
        return answer_edited(rest)
    try:
        status, members, error = {"cli": ask_command, "json": ask_json, "python": ask_python,
                                  "c": ask_typed}[kind](rest)
    except subprocess.TimeoutExpired:
        status, members, error = "timeout", {}, ""
    except Exception:  # pylint: disable=broad-except
        status, members, error = "exception", {}, traceback.format_exc()
    members = {**members, **changed_files()}
    if Place.show:
        print(f"status {status}")
        for key, value in members.items():
            print(f"{key}: " + (value if isinstance(value, str) else json.dumps(value, indent=1)))
        print(error)
    return compact(status, members, error)


def answer_whole(rest):
    """The same in full, as text."""
    return json.dumps(ask_edited(rest), default=str)


def answer_edited(rest):
    """The compact answer to commands that run with edited files."""
    return compact_all(*ask_edited(rest))


def ask_edited(rest):
    edited, commands = read_edits(shlex.split(rest), Place.inputs)
    inputs, answers = Place.inputs, []
    Place.inputs = {**inputs, **edited}
    try:
        for name, data in edited.items():
            (Place.folder / name).write_bytes(data)
        for words in commands:
            if words[0] == "json":
                request = (Place.folder / words[2][1:]).read_text()
                answers.append(ask_json(f"{words[1]} {request}"))
            else:
                answers.append(run_command(words))
            if Place.show:
                print(*answers[-1], sep="\n")
        changed = changed_files()
    finally:
        Place.inputs = inputs
        for name in edited:
            (Place.folder / name).write_bytes(inputs[name])
    if Place.show:
        print(changed)
    return answers, changed


def members_of(text, name="output"):
    """The members of a JSON answer; another text is one member."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    return {name: value if value is not None else text} if text else {}


def changed_files():
    """What the question wrote: file -> content.  Leaves the folder as it was."""
    changed = {}
    for path in sorted(Place.folder.iterdir()):
        if not path.exists():  # the journal of the database that was read before
            continue
        if path.suffix == ".db":
            with sqlite3.connect(path) as base:
                changed[path.name] = list(base.iterdump())
        elif Place.inputs.get(path.name) != path.read_bytes():
            text = path.read_bytes()
            if path.suffix == ".gz":
                text = __import__("gzip").decompress(text)
            content = members_of(text.decode(errors="replace"))
            content.pop("reckon", None)
            changed[path.name] = content
        else:
            continue
        path.unlink()
        if path.name in Place.inputs:
            path.write_bytes(Place.inputs[path.name])
    return changed


# ---- ways to ask -----------------------------------------------------------------------------------

def run(words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=TIMEOUT_S, cwd=Place.folder)


def ask_command(rest):
    words = shlex.split(rest)
    takes = words and words[0] not in WITHOUT_THREADS and not words[0].startswith("_")
    if Place.threads and takes and not {"-t", "--threads", "--help", "--help-all"} & set(words):
        words += ["--threads", str(Place.threads)]
    return run_command(words)


def run_command(words):
    done = run([Place.build / "tests" / "reckon_with_codes", *words])
    return done.returncode, members_of(done.stdout.decode(errors="replace")), \
        done.stderr.decode(errors="replace")


def ask_typed(rest):
    words = shlex.split(rest)
    if Place.threads and not any(word.startswith("threads=") for word in words):
        words.append(f"threads={Place.threads}")
    done = run([Place.build / "tests" / "record" / "record_typed", *words])
    members = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        name, _, value = line.partition(" ")
        part, _, key = name.partition(".")
        if part == "strategy":
            key, _, value = f"{key} {value}".rpartition(" ")
        member = members.setdefault(part, {})
        try:
            member[f"{key} {len(member)}" if key == "line" else key.replace(" ", "_")] = \
                float(value)
        except ValueError:
            member[f"{key} {len(member)}" if key == "line" else key.replace(" ", "_")] = value
    return done.returncode, members, done.stderr.decode(errors="replace")


def options_of(command, request):
    options = json.loads(request)
    if Place.threads and command not in WITHOUT_THREADS and isinstance(options, dict):
        options.setdefault("threads", Place.threads)
    return options


def ask_json(rest):
    import reckon._library as lib  # pylint: disable=import-outside-toplevel
    command, request = rest.split(" ", 1)
    if Place.threads:
        try:
            request = json.dumps(options_of(command, request))
        except ValueError:
            pass
    function = lib.library.rk_answer_request
    function.restype = ctypes.c_int
    text, error = ctypes.c_void_p(), lib.Error()
    status = function(command.encode(), request.encode(), None, ctypes.byref(text),
                      ctypes.byref(error))
    try:
        found = ctypes.string_at(text.value).decode(errors="replace") if text.value else ""
    finally:
        lib.library.rk_free(text)
    message = ctypes.create_string_buffer(1024)
    if status:
        lib.library.rk_error_text(ctypes.byref(error), message, len(message))
    where = f"error {error.code} at {error.line}:{error.column}({error.path.decode()}): "
    return status, members_of(found), where * bool(status) + message.value.decode(errors="replace")


def plain(value):
    """A result of the Python package as plain data, without `raw`, which the command gives too."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name))
                for field in dataclasses.fields(value) if field.name not in ("raw", "trace")}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def ask_python(rest):
    import reckon  # pylint: disable=import-outside-toplevel
    name, request = rest.split(" ", 1)
    try:
        result = getattr(reckon, name)(**options_of(name, request))
    except (reckon.ReckonError, LookupError, TypeError, ValueError) as error:
        return type(error).__name__, {}, str(error)
    members = plain(result)
    members = members if isinstance(members, dict) else {"value": members}
    if hasattr(result, "rows"):
        members["rows"] = plain(result.rows())
    return 0, members, ""
