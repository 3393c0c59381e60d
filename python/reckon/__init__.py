# SPDX-License-Identifier: Apache-2.0
"""
What a large-language-model training run will cost, before you pay for it.

    import reckon
    plan = reckon.plan("llama3-70b", "h100-sxm", accelerators=64, global_batch=512)
    plan.best.estimate.step_s

Functions take a model, a system and the options of the command of the same name, with '_' for '-'.
A model or a system is a name of the catalogue, the path of a document, or a document as a mapping.
Long searches report to `progress` (reckon.print_progress shows a line) and stop on Ctrl-C.  The
interpreter lock is released while the library works.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._library import (
    ProgressCallback,
    ReckonError,
    catalogue,
    command_schema,
    print_progress,
    run_command,
    version,
)
from .results import (
    Choice,
    Collective,
    Comm,
    Estimate,
    Fit,
    Interval,
    MeasuredRun,
    Picture,
    Plan,
    Run,
    Spread,
    Strategy,
    Sweep,
    Table,
    Timeline,
    Validation,
    choice_of,
    plan_of,
    run_of,
)

__all__ = [
    "Choice",
    "Collective",
    "Comm",
    "Estimate",
    "Fit",
    "Interval",
    "MeasuredRun",
    "Picture",
    "Plan",
    "ReckonError",
    "Run",
    "Spread",
    "Strategy",
    "Sweep",
    "Table",
    "Timeline",
    "Validation",
    "catalogue",
    "comm",
    "estimate",
    "fit",
    "plan",
    "print_progress",
    "run",
    "schema",
    "sweep",
    "timeline",
    "validate",
    "version",
]
__version__ = version()

Document = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def _ask(
    name: str, options: Dict[str, Any], progress: Optional[ProgressCallback]
) -> Dict[str, Any]:
    return json.loads(run_command(name, {**options, "json": True}, progress).text)


def plan(
    model: Document,
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Plan:
    """
    The best strategies to train a model on a system.

    Needs `accelerators` and `global_batch` (sequences).  Degrees may be lists: tp=[4, 8].
    """
    return plan_of(_ask("plan", {"model": model, "system": system, **options}, progress))


def estimate(
    model: Document,
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Choice:
    """
    A step of one strategy: time, memory and communication, part by part.

    Raises ReckonError where the framework refuses the strategy, LookupError where none of those
    left open fits.
    """
    answer = _ask("estimate", {"model": model, "system": system, **options}, progress)
    choice = choice_of(answer)
    if choice is None:
        raise LookupError("no strategy fits; reckon.plan(...).raw says what is missing")
    return choice


def fit(
    model: Document,
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Fit:
    """Whether a strategy, or any, fits in memory, and if not what would make it fit."""
    answer = _ask("fit", {"model": model, "system": system, **options}, progress)
    return Fit(fits=bool(answer.get("fits")), choice=choice_of(answer), raw=answer)


def run(
    model: Document,
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Run:
    """A whole training run of `tokens`: days, failures, checkpoints, money and energy."""
    return run_of(_ask("run", {"model": model, "system": system, **options}, progress))


def comm(
    system: Document, *, progress: Optional[ProgressCallback] = None, **options: Any
) -> Comm:
    """Collectives on a system by size: s and bytes/s."""
    answer = _ask("comm", {"system": system, **options}, progress)
    return Comm(
        items=list(answer.get("collectives", [])),
        raw=answer,
        system=str(answer.get("system", "")),
        ranks=int(answer.get("ranks", 0)),
    )


def validate(
    runs: Union[str, "os.PathLike[str]", Sequence[Mapping[str, Any]]],
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Validation:
    """Predictions of measured runs: a table by name or file, its text, or rows as mappings."""
    if not isinstance(runs, (str, os.PathLike)):
        runs = json.dumps({"rows": [dict(row) for row in runs]})
    asked = {"runs": runs, **options}
    answer = _ask("validate", asked, progress)
    rows = list(answer.get("rows", []))
    picture = None
    if any(row.get("step_s") and row.get("step_measured_s") for row in rows):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "errors.svg"
            run_command("validate", {**asked, "plot": str(path)}, progress)
            picture = Picture(path.read_text(encoding="utf-8"))
    return Validation(items=rows, raw=answer, picture=picture)


def _read_cell(text: str) -> Any:
    """A cell of a table that the library wrote: a number, True or False, a text, or None."""
    if text in ("", "true", "false"):
        return {"": None, "true": True, "false": False}[text]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return text


def _read_csv(text: str) -> List[Dict[str, Any]]:
    rows = csv.DictReader(io.StringIO(text))
    return [{key: _read_cell(cell) for key, cell in row.items()} for row in rows]


def sweep(
    grid: Union[str, "os.PathLike[str]", Mapping[str, Any]],
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Sweep:
    """A search or an estimate at every point of a grid: a file, or the grid as a mapping."""
    text = run_command("sweep", {"grid": grid, **options}, progress).text
    return Sweep(items=_read_csv(text), raw={"csv": text})


def schema(command: str, method: Optional[str] = None) -> Dict[str, Any]:
    """The JSON Schema of the options of a command, which are those of the function of its name."""
    return json.loads(command_schema(command, method))


def timeline(
    model: Document,
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Timeline:
    """The timeline of one step.  Raises LookupError where no strategy fits."""
    asked = {"model": model, "system": system, **options}
    trace = _ask("timeline", asked, progress)
    if "traceEvents" not in trace:
        raise LookupError("no strategy fits; reckon.plan(...).raw says what is missing")
    operations = _read_csv(run_command("timeline", {**asked, "csv": True}, progress).text)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "step.svg"
        run_command("timeline", {**asked, "output": str(path)}, progress)
        return Timeline(trace, Picture(path.read_text(encoding="utf-8")), operations)
