# SPDX-License-Identifier: Apache-2.0
"""
What a large-language-model training run will cost, before you pay for it.

    import reckon
    plan = reckon.plan("llama3-70b", "h100-sxm", accelerators=64, global_batch=512)
    plan.best.estimate.step_s

Functions take a model, a system and the options of the command of the same name, with '_' for '-'.
A model or a system is a name of the catalogue, the path of a document, or a document as a mapping.
A system may come with a number ("64xh100"), and a launch can replace the model
(reckon.from_file("run.sh")).
Long searches report to `progress` (reckon.print_progress shows a line).  Ctrl-C stops every call at
once.  The interpreter lock is released while the library works.  Numbers may be of any type that
has __index__ or __float__, such as those of numpy.

Where nothing fits, plan, estimate, emit, run, timeline, explain, design, shape and sweep raise
NothingFitsError, a LookupError with the reason and with changes that would help.  `fit` answers
this very question and raises nothing.  `estimate` of a strategy that is given in full returns its
figures, with estimate.fits False.
"""

from __future__ import annotations

import csv
import io
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._library import (
    NothingFitsError,
    ProgressCallback,
    ReckonError,
    Words,
    catalogue,
    command_schema,
    fit_of,
    launch_as_file,
    print_progress,
    run_command,
    to_json,
    version,
)
from ._pictures import Picture, Report, written_picture
from .predictor import Prediction, Predictions, Predictor
from .results import (
    Choice,
    Collective,
    Comm,
    Estimate,
    Explanation,
    Fit,
    Interval,
    Launch,
    MeasuredRun,
    Plan,
    Run,
    Spread,
    Strategy,
    Sweep,
    Table,
    Timeline,
    Validation,
    choice_of,
    launch_of,
    plan_of,
    run_of,
    shortage_of,
)

__all__ = [
    "Choice",
    "Collective",
    "Comm",
    "Estimate",
    "Explanation",
    "Fit",
    "Interval",
    "MeasuredRun",
    "Launch",
    "NothingFitsError",
    "Picture",
    "Plan",
    "Prediction",
    "Predictions",
    "Predictor",
    "ReckonError",
    "Report",
    "Run",
    "Spread",
    "Strategy",
    "Sweep",
    "Table",
    "Timeline",
    "Validation",
    "calibrate",
    "catalogue",
    "comm",
    "convert",
    "design",
    "emit",
    "estimate",
    "explain",
    "fit",
    "from_file",
    "plan",
    "print_progress",
    "run",
    "schema",
    "shape",
    "show",
    "sweep",
    "timeline",
    "validate",
    "version",
]
__version__ = version()

Document = Union[str, "os.PathLike[str]", Mapping[str, Any]]

# Options for the output of the command; results have methods for that.
_WRITERS = {"json": "to_dict()", "csv": "to_frame()", "output": "report().save(path)"}


def _question(
    model: Union[Document, Launch], system: Document, options: Mapping[str, Any]
) -> Dict[str, Any]:
    """The options of a question; a Launch as the model is the option `launch`."""
    job = {"launch": model.source} if isinstance(model, Launch) else {"model": model}
    return {**job, "system": system, **options}


def _check_keywords(name: str, options: Mapping[str, Any]) -> None:
    for key in options:
        if key in _WRITERS:
            raise ReckonError(f"{name}() has no keyword {key}; its result has {_WRITERS[key]}")


def _ask(
    name: str, options: Dict[str, Any], progress: Optional[ProgressCallback]
) -> Dict[str, Any]:
    _check_keywords(name, options)
    return dict(json.loads(run_command(name, {**options, "json": True}, progress).text))


def _search(
    name: str, options: Dict[str, Any], progress: Optional[ProgressCallback]
) -> Dict[str, Any]:
    """The JSON answer of a search; NothingFitsError where it has no strategy."""
    _check_keywords(name, options)
    answer = run_command(name, {**options, "json": True}, progress)
    is_json = answer.text.startswith("{")  # a timeline of nothing is a text
    raw = dict(json.loads(answer.text)) if is_json else {}
    if not answer.found and not choice_of(raw):
        if name in ("shape", "timeline"):  # which do not say why
            raw = {**fit_of(options), **raw}
        raise NothingFitsError(shortage_of(raw), raw, options)
    return raw


def plan(
    model: Union[Document, Launch],
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Plan:
    """
    The best strategies to train a model on a system.

    Needs `accelerators` and `global_batch` (sequences).  Degrees may be lists: tp=[4, 8].  Raises
    NothingFitsError.
    """
    return plan_of(_search("plan", _question(model, system, options), progress))


def estimate(
    model: Union[Document, Launch],
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Choice:
    """
    A step of one strategy: time, memory and communication, part by part.

    Raises ReckonError where the framework refuses the strategy, NothingFitsError where none of
    those left open fits.  A strategy that is given in full has figures although it does not fit:
    estimate.fits is False.
    """
    answer = _search("estimate", _question(model, system, options), progress)
    choice = choice_of(answer)
    assert choice
    return choice


def fit(
    model: Union[Document, Launch],
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Fit:
    """Whether a strategy, or any, fits in memory, and if not what would make it fit."""
    answer = _ask("fit", _question(model, system, options), progress)
    return Fit(fits=bool(answer.get("fits")), choice=choice_of(answer), raw=answer)


def run(
    model: Union[Document, Launch],
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Run:
    """
    A whole training run of `tokens`: days, failures, checkpoints, money and energy.  Raises
    NothingFitsError.
    """
    return run_of(_search("run", _question(model, system, options), progress))


def explain(
    model: Union[Document, Launch],
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Explanation:
    """
    What each number of a machine is worth: the best strategy, searched again with every number
    better by `change` percent.  Raises NothingFitsError.
    """
    answer = _search("explain", _question(model, system, options), progress)
    return Explanation(items=list(answer["numbers"]), raw=answer)


def comm(
    system: Document, *, progress: Optional[ProgressCallback] = None, **options: Any
) -> Comm:
    """Collectives on a system by size: s and bytes/s."""
    asked = {"system": system, **options}
    answer = _ask("comm", asked, progress)
    return Comm(
        items=list(answer.get("collectives", [])),
        raw=answer,
        system=str(answer.get("system", "")),
        ranks=int(answer.get("ranks", 0)),
        asked=asked,
    )


def validate(
    runs: Union[str, "os.PathLike[str]", Sequence[Mapping[str, Any]]],
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Validation:
    """Predictions of measured runs: a table by name or file, its text, or rows as mappings."""
    if not isinstance(runs, (str, os.PathLike)):
        runs = to_json("runs", {"rows": [dict(row) for row in runs]})
    asked = {"runs": runs, **options}
    answer = _ask("validate", asked, progress)
    rows = list(answer.get("rows", []))
    picture = None
    if any(row.get("step_s") and row.get("step_measured_s") for row in rows):
        picture = written_picture("validate", asked, "plot")
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
    """
    A search or an estimate at every point of a grid: a file, or the grid as a mapping.  Points at
    which nothing fits have None for their results; NothingFitsError where that is so at all.
    """
    _check_keywords("sweep", options)
    answer = run_command("sweep", {"grid": grid, **options}, progress)
    table = {"csv": answer.text}
    if not answer.found:
        raise NothingFitsError("nothing fits at any point of the grid", table, {})
    return Sweep(items=_read_csv(answer.text), raw=table)


def design(
    model: Union[Document, Launch],
    system: Document,
    *,
    prices: Document,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Table:
    """
    Machines that train a model fast enough, on the front of speed and price, cheapest first:
    the numbers of `system` that `prices` varies.  Raises NothingFitsError.
    """
    asked = {**_question(model, system, options), "prices": prices}
    answer = _search("design", asked, progress)
    return Table(items=list(answer.get("front", [])), raw=answer)


def shape(
    model: Union[Document, Launch],
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Table:
    """
    Shapes of about as many parameters as the model has, fastest first.  Raises NothingFitsError.
    """
    answer = _search("shape", _question(model, system, options), progress)
    return Table(items=list(answer.get("shapes", [])), raw=answer)


def emit(
    model: Union[Document, Launch],
    system: Document,
    *,
    kind: str = "megatron",
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> str:
    """
    The launch file that starts the best strategy, or the one that options give in full: `kind` is
    "megatron", "megatron-slurm", "torchtitan" or "torchtitan-python".  Raises NothingFitsError.
    """
    asked = _question(model, system, options)
    _check_keywords("emit", options)
    answer = run_command("estimate", {**asked, "emit": kind}, progress)
    if not answer.text:
        raw = fit_of(asked)
        raise NothingFitsError(shortage_of(raw), raw, asked)
    return answer.text


def convert(
    launch: Words, *, progress: Optional[ProgressCallback] = None, **options: Any
) -> Launch:
    """
    The job that a launch of a training framework means: a file (script, YAML, TOML, JSON), or the
    words of a command line.  Nothing is run.
    """
    with launch_as_file(launch) as path:
        return launch_of(launch, _ask("convert", {"from": path, **options}, progress))


def from_file(path: Union[str, "os.PathLike[str]"]) -> Launch:
    """
    A launch of a training framework, as a model for the other functions:
    reckon.plan(reckon.from_file("run.sh"), "h100-sxm").  Keywords win over what the launch says.
    """
    return convert(path)


def show(name: str) -> Dict[str, Any]:
    """A document of the catalogue or a file: a model, a system, an accelerator or a stack."""
    return json.loads(run_command("show", {"name": name, "json": True}).text)


def calibrate(
    recipe: Document, *, progress: Optional[ProgressCallback] = None, **options: Any
) -> Dict[str, Any]:
    """The constants of a recipe, fitted to its measurements; the report as JSON."""
    return _ask("calibrate", {"recipe": recipe, **options}, progress)


def schema(command: str, method: Optional[str] = None) -> Dict[str, Any]:
    """The JSON Schema of the options of a command, which are those of the function of its name."""
    return json.loads(command_schema(command, method))


def timeline(
    model: Union[Document, Launch],
    system: Document,
    *,
    progress: Optional[ProgressCallback] = None,
    **options: Any,
) -> Timeline:
    """The timeline of one step.  Raises NothingFitsError."""
    asked = _question(model, system, options)
    trace = _search("timeline", asked, progress)
    operations = _read_csv(run_command("timeline", {**asked, "csv": True}, progress).text)
    return Timeline(trace, written_picture("timeline", asked), operations)
