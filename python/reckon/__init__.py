# SPDX-License-Identifier: Apache-2.0
"""
What a large-language-model training run will cost, before you pay for it.

    import reckon
    plan = reckon.plan("llama3-70b", "h100-sxm", accelerators=64, global_batch=512)
    plan.best.estimate.step_s

Functions take a model, a system and the options of the command of the same name, with '_' for '-'.
A model or a system is a name of the catalogue, the path of a document, or a document as a mapping.
Long searches report to `progress` and stop on Ctrl-C.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, Mapping, Optional, Union

from ._library import ProgressCallback, ReckonError, catalogue, run_command, version
from .results import (
    Choice,
    Estimate,
    Fit,
    Interval,
    Picture,
    Plan,
    Run,
    Strategy,
    Table,
    choice_of,
    plan_of,
)

__all__ = [
    "Choice",
    "Estimate",
    "Fit",
    "Interval",
    "Picture",
    "Plan",
    "ReckonError",
    "Run",
    "Strategy",
    "Table",
    "Timeline",
    "catalogue",
    "comm",
    "estimate",
    "fit",
    "plan",
    "run",
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
    answer = _ask("run", {"model": model, "system": system, **options}, progress)
    return Run(values=dict(answer.get("run", {})), choice=choice_of(answer), raw=answer)


def comm(system: Document, **options: Any) -> Table:
    """Collectives on a system by size: s and bytes/s."""
    answer = _ask("comm", {"system": system, **options}, None)
    return Table(items=list(answer.get("collectives", [])), raw=answer)


def validate(
    runs: Union[str, "os.PathLike[str]"],
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Table:
    """Predictions against measured runs of a CSV table, a row each."""
    text = run_command("validate", {"runs": runs, "csv": True, **options}, progress).text
    return Table(items=list(csv.DictReader(io.StringIO(text))), raw={"csv": text})


def sweep(
    grid: Union[str, "os.PathLike[str]", Mapping[str, Any]],
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Table:
    """A search or an estimate at every point of a grid: a file, or the grid as a mapping."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(grid, Mapping):
            path = pathlib.Path(folder) / "grid.json"
            path.write_text(json.dumps(grid), encoding="utf-8")
            grid = path
        text = run_command("sweep", {"grid": grid, **options}, progress).text
    return Table(items=list(csv.DictReader(io.StringIO(text))), raw={"csv": text})


class Timeline:
    """One step as it runs: `trace` is for Perfetto (ui.perfetto.dev), `picture` for a page."""

    def __init__(self, trace: Dict[str, Any], picture: Picture) -> None:
        self.trace, self.picture = trace, picture

    def _repr_svg_(self) -> str:
        return self.picture.svg

    def save(self, path: str) -> None:
        """Writes the trace as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.trace, file)


def timeline(
    model: Document,
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Timeline:
    """The timeline of one step."""
    asked = {"model": model, "system": system, **options}
    trace = _ask("timeline", asked, progress)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "step.svg"
        run_command("timeline", {**asked, "output": str(path)}, progress)
        return Timeline(trace, Picture(path.read_text(encoding="utf-8")))
