# SPDX-License-Identifier: Apache-2.0
"""Predictions in loops: documents are read once, and a strategy is predicted in microseconds."""

from __future__ import annotations

import array
import ctypes
import dataclasses
import json
import os
import sys
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ._library import Error, ReckonError, check, library, run_command, to_json
from ._words import in_words_of_python

_STRATEGY_BYTES = 1024  # room for an rk_strategy; the library fills as much as it has


class _Choice(ctypes.Structure):
    """rk_setup_choice"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("framework", ctypes.c_char_p),
        ("stack", ctypes.c_void_p),
        ("mfu_convention", ctypes.c_char_p),
        ("max_memory_bytes", ctypes.c_double),
    ]


class _Prediction(ctypes.Structure):
    """The start of rk_prediction, of which the library fills as much as is asked for."""

    _fields_ = [
        ("step_s", ctypes.c_double),
        ("time_s", ctypes.c_double * 32),
        ("model_flops", ctypes.c_double),
        ("hardware_flops", ctypes.c_double),
        ("mfu", ctypes.c_double),
        ("hfu", ctypes.c_double),
        ("tokens_per_s", ctypes.c_double),
        ("sent_bytes", ctypes.c_double * 5),
        ("fits", ctypes.c_bool),
        ("thrashes", ctypes.c_bool),
        ("worst_stage", ctypes.c_int64),
        ("memory_total_bytes", ctypes.c_double),
        ("memory_part_bytes", ctypes.c_double * 16),
        ("memory_usable_bytes", ctypes.c_double),
        ("host_memory_bytes", ctypes.c_double),
        ("interval_s", ctypes.c_double * 2),
        ("comparable", ctypes.c_size_t * 2),
        ("comparable_text", ctypes.c_char * 256),
        ("bf16_step_s", ctypes.c_double),
        ("memory_needed_bytes", ctypes.c_double),
    ]


_OLD_NAMES = {"memory_bytes": "memory_total_bytes", "usable_bytes": "memory_usable_bytes"}


class _OldNames:
    """Names of 0.1, until 0.3."""

    if not TYPE_CHECKING:  # a misspelling is still one

        def __getattr__(self, name: str) -> Any:
            if name not in _OLD_NAMES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warnings.warn(f"{name} is called {_OLD_NAMES[name]}", DeprecationWarning, stacklevel=2)
            return getattr(self, _OLD_NAMES[name])


@dataclasses.dataclass(frozen=True)
class Prediction(_OldNames):
    """
    One strategy: s, bytes; `mfu` is a share.  It fits if `memory_needed_bytes`, which is `memory_total_bytes` without
    what the allocator can reclaim, is at most `memory_usable_bytes`.
    """

    step_s: float
    memory_total_bytes: float
    memory_needed_bytes: float
    memory_usable_bytes: float
    fits: bool
    mfu: float
    tokens_per_s: float


@dataclasses.dataclass(frozen=True)
class Predictions(_OldNames):
    """
    Many strategies: an array of each figure of a Prediction, of numpy if a field was.  Strategies
    that the framework rejects have NaN, False, and a `reason`.
    """

    step_s: Any
    memory_total_bytes: Any
    memory_needed_bytes: Any
    fits: Any
    mfu: Any
    tokens_per_s: Any
    reason: List[Optional[str]]

    def __len__(self) -> int:
        return len(self.reason)


_FIGURES = ("step_s", "memory_total_bytes", "memory_needed_bytes", "mfu", "tokens_per_s")


def _is_column(value: Any) -> bool:
    return getattr(value, "shape", ()) != () or isinstance(value, (list, tuple, range, array.array))


def _is_numpy(value: Any) -> bool:
    return type(value).__module__.split(".")[0] in ("numpy", "pandas")


class Predictor:
    """
    Predicts steps of strategies for one model on one system.

        predict = reckon.Predictor("llama3-70b", "64xh100", global_batch=512)
        predict(tp=8, pp=2).step_s
        predict.all(tp=[4, 8, 8], pp=[4, 2, 1]).step_s

    Keywords are those of `estimate`; those of a call replace those of the predictor.  Fields that
    neither gives follow from the others or have the framework's default: nothing is searched.
    Threads may share a predictor.
    """

    def __init__(
        self,
        model: Union[str, "os.PathLike[str]", Mapping[str, Any]],
        system: Union[str, "os.PathLike[str]", Mapping[str, Any]],
        *,
        framework: Optional[str] = None,
        stack: Union[str, "os.PathLike[str]", Mapping[str, Any], None] = None,
        mfu_convention: Optional[str] = None,
        max_memory_bytes: float = 0,
        **options: Any,
    ) -> None:
        self._members: Dict[str, Any] = {}
        given_model = self._create("model", _document("model", model))
        given_system, count = self._create_system(_document("system", system))
        choice = _Choice(
            size=ctypes.sizeof(_Choice),
            framework=framework.encode() if framework else None,
            mfu_convention=mfu_convention.encode() if mfu_convention else None,
            max_memory_bytes=max_memory_bytes,
        )
        if stack is not None:
            choice.stack = self._create("stack", _document("stack", stack), given_system)
        self._setup = self._create("setup", given_model, given_system, ctypes.byref(choice))
        if count and options.setdefault("accelerators", count) != count:
            raise ReckonError(
                f"{system!r} is {count} accelerators, and accelerators={options['accelerators']}: "
                "leave out one"
            )
        self._fixed = {key: to_json(key, value) for key, value in options.items()}

    def _create(self, kind: str, *arguments: Any) -> ctypes.c_void_p:
        """A handle of the library, which lives as long as the predictor."""
        handle, error = ctypes.c_void_p(), Error()
        create = getattr(library, f"rk_{kind}_create")
        status = create(*arguments, ctypes.byref(handle), ctypes.byref(error))
        if status:
            raise ReckonError(self._reason(status, error))
        weakref.finalize(self, getattr(library, f"rk_{kind}_free"), handle)
        return handle

    def _create_system(self, name: bytes) -> Tuple[ctypes.c_void_p, int]:
        """A system, and the accelerators of a name such as "64xh100" (0: of none)."""
        try:
            return self._create("system", name), 0
        except ReckonError:
            if not any(sign in name for sign in b"x*:-") or name.startswith(b"{"):
                raise
            asked = {"system": name.decode(), "op": "all_reduce", "bytes": 1024, "json": True}
            answer = json.loads(run_command("comm", asked).text)
            return self._create("system", answer["system"].encode()), int(answer["ranks"])

    def _rows(self, fields: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[bytes]:
        """The options of each strategy as JSON."""
        fixed = {key: value for key, value in self._fixed.items() if key not in columns}
        fixed.update((key, to_json(key, value)) for key, value in fields.items())
        start = "{" + ", ".join(f'"{key}": {value}' for key, value in fixed.items())
        if not columns:
            yield (start + "}").encode()
            return
        cells = [
            [f'"{key}": {_cell(cell)}' for cell in json.loads(to_json(key, column))]
            for key, column in columns.items()
        ]
        if len({len(column) for column in cells}) > 1:
            lengths = ", ".join(f"{key} {len(cell)}" for key, cell in zip(columns, cells))
            raise ReckonError(f"arrays must have the same length: {lengths}")
        start += ", " if fixed else ""
        for row in zip(*cells):
            yield (start + ", ".join(row) + "}").encode()

    def _predictions(
        self, rows: Iterator[bytes]
    ) -> Iterator[Tuple[Optional[_Prediction], Optional[str]]]:
        """The figures of each row, in a struct that the next row fills again, or what is wrong."""
        strategy, found, error = ctypes.create_string_buffer(_STRATEGY_BYTES), _Prediction(), Error()
        size, error_at, found_at = ctypes.sizeof(found), ctypes.byref(error), ctypes.byref(found)
        for row in rows:
            status = library.rk_strategy_read(
                self._setup, row, strategy, _STRATEGY_BYTES, error_at
            ) or library.rk_predict_step(self._setup, strategy, found_at, size, error_at)
            yield (None, self._reason(status, error)) if status else (found, None)

    def _reason(self, status: int, error: Error) -> str:
        try:
            check(status, error)
        except ReckonError as reported:
            return in_words_of_python("Predictor", str(reported), self._members)
        return ""

    def __call__(self, **fields: Any) -> Prediction:
        """Predicts one strategy.  Raises ReckonError where it is not legal."""
        found, reason = next(self._predictions(self._rows(fields, {})))
        if found is None:
            raise ReckonError(reason)
        return Prediction(
            step_s=found.step_s,
            memory_total_bytes=found.memory_total_bytes,
            memory_needed_bytes=found.memory_needed_bytes,
            memory_usable_bytes=found.memory_usable_bytes,
            fits=found.fits,
            mfu=found.mfu,
            tokens_per_s=found.tokens_per_s,
        )

    def all(self, **fields: Any) -> Predictions:
        """Predicts many strategies: lists and arrays are columns, a strategy per row."""
        rows = {key: value for key, value in fields.items() if _is_column(value)}
        if not rows:
            raise ReckonError("all() needs a list or an array of at least one field, such as tp=[4, 8]")
        fixed = {key: value for key, value in fields.items() if key not in rows}
        as_numpy = any(_is_numpy(value) for value in rows.values())
        return self._predict_all(self._rows(fixed, rows), as_numpy)

    def _predict_all(self, rows: Iterator[bytes], as_numpy: bool) -> Predictions:
        columns = {name: array.array("d") for name in _FIGURES}
        step, memory, needed, mfu, rate = (columns[name].append for name in _FIGURES)
        fits, reasons, nan = array.array("b"), [], float("nan")
        for found, reason in self._predictions(rows):
            reasons.append(reason)
            if found is None:
                fits.append(0)
                for append in (step, memory, needed, mfu, rate):
                    append(nan)
                continue
            step(found.step_s)
            memory(found.memory_total_bytes)
            needed(found.memory_needed_bytes)
            mfu(found.mfu)
            rate(found.tokens_per_s)
            fits.append(found.fits)
        numpy: Any = sys.modules.get("numpy") if as_numpy else None
        if numpy:
            figures = {name: numpy.asarray(column) for name, column in columns.items()}
            return Predictions(fits=numpy.asarray(fits).astype(bool), reason=reasons, **figures)
        return Predictions(fits=[bool(fit) for fit in fits], reason=reasons, **columns)


def _cell(cell: Any) -> str:
    """A value as JSON; most are integers, which are their own."""
    return str(cell) if type(cell) is int else json.dumps(cell)


def _document(what: str, given: Any) -> bytes:
    """A document as the library takes it: a name, a path or JSON."""
    given = os.fspath(given) if isinstance(given, os.PathLike) else given
    return (given if isinstance(given, str) else to_json(what, given)).encode()
