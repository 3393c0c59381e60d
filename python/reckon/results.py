# SPDX-License-Identifier: Apache-2.0
"""Answers as dataclasses.  Each keeps the JSON that it was made of in `raw`."""

from __future__ import annotations

import dataclasses
import html
import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar

from ._pictures import Picture, Report, draw_parts, draw_points, report_of, written_picture

T = TypeVar("T")


def _fill(kind: Type[T], members: Mapping[str, Any]) -> T:
    """Takes the fields of a dataclass from JSON members of the same names; `raw` is all of them."""
    names: Mapping[str, Any] = getattr(kind, "__dataclass_fields__")  # dataclasses.fields is slow
    values = {key: value for key, value in members.items() if key in names}
    if "raw" in names:
        values["raw"] = dict(members)
    return kind(**values)


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    try:
        import pandas  # type: ignore[import]
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas") from error
    return pandas.DataFrame(list(rows))


_SHARES = ("mfu", "hfu", "out_of_memory_risk", "goodput", "gain")


def _cell(key: str, value: Any) -> str:
    """A value for people: sizes in GiB, shares in percent, numbers with four digits; None is empty."""
    if isinstance(value, float) and key.endswith("_bytes"):
        return f"{value / 2**30:.2f} GiB"
    if isinstance(value, float) and key in _SHARES:
        return f"{value:.1%}"
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as an HTML table."""
    if not rows:
        return "<p>empty</p>"
    head = "".join(f"<th>{html.escape(str(key))}</th>" for key in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(*item))}</td>" for item in row.items()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _flat(members: Mapping[str, Any], before: str = "") -> Dict[str, Any]:
    """Figures by their names in the JSON answer; nested names are joined: time_s.linear."""
    row: Dict[str, Any] = {}
    for key, value in members.items():
        if isinstance(value, Mapping):
            row.update(_flat(value, f"{before}{key}."))
        elif not isinstance(value, list):
            row[before + key] = value
    return row


class Result:
    """What all answers share."""

    raw: Dict[str, Any]

    def to_dict(self) -> Dict[str, Any]:
        """The JSON answer of the library."""
        return self.raw

    def rows(self) -> List[Dict[str, Any]]:
        """The answer as rows of a table."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The rows as a pandas frame; nested names are joined: time_s.linear."""
        return _frame([_flat(row) for row in self.rows()])

    def _repr_html_(self) -> str:
        rows = [_flat(row) for row in self.rows()]
        inner = ("strategy.", "estimate.")
        return _table([{k: v for k, v in r.items() if not k.startswith(inner)} for r in rows])

    def report(self) -> Report:
        """The page that the command writes to a file that ends in .html; a notebook shows it."""
        return report_of(self.raw)


@dataclasses.dataclass(frozen=True)
class Strategy:
    """How a run is laid out over accelerators."""

    accelerators: int
    tp: int
    cp: int
    pp: int
    vp: int
    ep: int
    etp: int
    dp: int
    sp: bool
    zero: int
    micro_batch: int
    global_batch: int
    microbatches: int
    seq_tokens: int
    schedule: str
    recompute: str
    precision: str
    offload: str
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """
    One optimizer step: s, bytes, tokens/s; mfu and hfu are shares; out_of_memory_risk is a probability, at
    most 0.5 where it fits.
    """

    fits: bool
    step_s: float
    tokens_per_s: float
    tokens_per_s_per_accelerator: float
    tflops_per_accelerator: float
    mfu: float
    hfu: float
    mfu_convention: str
    memory_total_bytes: float
    memory_needed_bytes: float
    memory_usable_bytes: float
    memory_p10_bytes: float
    memory_p90_bytes: float
    out_of_memory_risk: float
    worst_stage: int
    time_s: Dict[str, float]
    sent_bytes_per_step: Dict[str, float]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def plot(self) -> Picture:
        """The parts of the step as bars."""
        return draw_parts(self.time_s, self.step_s, f"step of {self.step_s:.4g} s")


@dataclasses.dataclass(frozen=True)
class Interval:
    """Where measured steps of comparable runs lie: the 10th to the 90th percentile, s."""

    step_p10_s: float
    step_p90_s: float
    runs: int
    comparable: str


@dataclasses.dataclass(frozen=True)
class Choice(Result):
    """A strategy with its estimate; `stages` has the memory of each pipeline stage."""

    strategy: Strategy
    estimate: Estimate
    interval: Optional[Interval]
    stages: List[Dict[str, Any]]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def label(self) -> Optional[str]:
        """What an alternative of a plan is the fastest of, such as "no pipeline"."""
        return self.raw.get("label")

    @property
    def slowdown(self) -> Optional[float]:
        """The step time of an alternative over that of the fastest strategy."""
        return self.raw.get("slowdown")

    def rows(self) -> List[Dict[str, Any]]:
        return [_choice_row(self)]

    def _repr_html_(self) -> str:
        return _table(_shown(self.rows()))


def _choice_row(choice: Choice) -> Dict[str, Any]:
    rest = {key: choice.raw[key] for key in ("label", "slowdown", "interval") if key in choice.raw}
    return {**_flat(choice.raw["estimate"]), **_flat(choice.raw["strategy"]), **_flat(rest)}


# The columns of a strategy that a notebook shows; to_frame() has all.
_SHOWN = ("label", "step_s", "mfu", "tokens_per_s", "memory_needed_bytes",
          "out_of_memory_risk", "fits", "tp", "cp", "pp",
          "vp", "ep", "dp", "zero", "micro_batch", "schedule", "recompute", "precision")


def _shown(rows: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    return [{key: row[key] for key in _SHOWN if key in row} for row in rows]


def _choice(raw: Mapping[str, Any]) -> Choice:
    interval = raw.get("interval")
    return Choice(
        strategy=_fill(Strategy, raw["strategy"]),
        estimate=_fill(Estimate, raw["estimate"]),
        interval=_fill(Interval, interval) if interval else None,
        stages=list(raw.get("stages", [])),
        raw=dict(raw),
    )


def choice_of(raw: Mapping[str, Any]) -> Optional[Choice]:
    """The strategy of an answer; None where nothing fits."""
    return _choice(raw) if "strategy" in raw and "estimate" in raw else None


@dataclasses.dataclass(frozen=True)
class Plan(Result):
    """
    Strategies, best first: distinct alternatives with a `label` and a `slowdown`, or with `top` the
    fastest ones.
    """

    choices: List[Choice]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def best(self) -> Choice:
        """The fastest strategy within the risk of running out of memory that was asked for."""
        return self.choices[0]

    def __len__(self) -> int:
        return len(self.choices)

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def rows(self) -> List[Dict[str, Any]]:
        return [_choice_row(choice) for choice in self.choices]

    def _repr_html_(self) -> str:
        return _table(_shown(self.rows()))


def plan_of(raw: Dict[str, Any]) -> Plan:
    """A plan from its JSON answer."""
    return Plan(
        choices=[_choice(item) for item in raw.get("strategies", []) if choice_of(item)],
        raw=raw,
    )


@dataclasses.dataclass(frozen=True)
class Fit(Result):
    """
    Whether a strategy, or any, fits; `choice` is None where none is legal.  Without a number of
    accelerators `fewest_accelerators` is the answer (None: no number is enough), and `cures` has what
    people try, as rows.
    """

    fits: bool
    choice: Optional[Choice]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def fewest_accelerators(self) -> Optional[int]:
        """The fewest accelerators of this system on which a strategy fits."""
        return self.raw.get("fewest_accelerators")

    @property
    def cures(self) -> Table:
        """Recomputation, LoRA, QLoRA, ...: each on one accelerator, and on how many it fits."""
        return Table([_cure_row(cure) for cure in self.raw.get("cures", [])], self.raw)

    def rows(self) -> List[Dict[str, Any]]:
        return self.choice.rows() if self.choice else []

    def _repr_html_(self) -> str:
        return _table(_shown(self.rows()))


def _cure_row(cure: Mapping[str, Any]) -> Dict[str, Any]:
    estimate = cure["estimate"]
    keys = ("memory_needed_bytes", "step_s", "fits")
    return {"cure": cure["cure"], "options": cure["options"], **{key: estimate[key] for key in keys},
            "fewest_accelerators": cure["fewest_accelerators"] or None}


@dataclasses.dataclass(frozen=True)
class Spread:
    """A figure over all simulated runs; None: no end."""

    mean: Optional[float]
    standard_error: Optional[float]
    p10: Optional[float]
    p50: Optional[float]
    p90: Optional[float]


@dataclasses.dataclass(frozen=True)
class Run(Result):
    """
    A whole run: s, bytes, J, kg; `step_s` and `mfu`, a share, are those that the run is made of,
    "predicted" or "stated" (`step_source`).  `simulated` has spreads of total_s, goodput,
    interruptions and, with a price, cost.  The answer to `deadline`, `budget` or `max_power` is
    `clusters`, a row each: `choice` and the figures are None.
    """

    choice: Optional[Choice]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)
    tokens: Optional[float] = None
    steps: Optional[float] = None
    step_s: Optional[float] = None
    step_source: Optional[str] = None
    mfu: Optional[float] = None
    total_s: Optional[float] = None
    training_s: Optional[float] = None
    checkpoints_s: Optional[float] = None
    lost_s: Optional[float] = None
    restarts_s: Optional[float] = None
    planned_s: Optional[float] = None
    start_s: Optional[float] = None
    goodput: Optional[float] = None
    mtbf_s: Optional[float] = None
    failures: Optional[float] = None
    checkpoint_bytes: Optional[float] = None
    checkpoint_interval_s: Optional[float] = None
    accelerator_hours: Optional[float] = None
    cost: Optional[float] = None
    energy_J: Optional[float] = None
    carbon_kg: Optional[float] = None
    simulated: Dict[str, Spread] = dataclasses.field(default_factory=dict)

    @property
    def values(self) -> Dict[str, Any]:
        """All figures by the keys of the answer."""
        return dict(self.raw.get("run", {}))

    @property
    def days(self) -> Optional[float]:
        """Expected days."""
        return None if self.total_s is None else self.total_s / 86400

    @property
    def clusters(self) -> Table:
        """Clusters, the fastest first, as `reckon run --deadline` lists them."""
        return Table(list(self.raw.get("clusters", [])), self.raw)

    def rows(self) -> List[Dict[str, Any]]:
        return self.clusters.rows() or [_flat(self.values)]

    def plot(self) -> Picture:
        """Where the time of the run goes, as bars; of clusters, days and cost (or hours) as dots."""
        if self.clusters.items:
            priced = any(cluster.get("cost") for cluster in self.clusters)
            return draw_points(self.clusters.items, "days", "cost" if priced else "accelerator_hours")
        keys = ("training_s", "checkpoints_s", "lost_s", "restarts_s", "planned_s",
                "start_s")
        parts = {key[:-2]: self.values[key] for key in keys}
        return draw_parts(parts, self.total_s or 1, f"run of {self.days or 0:.4g} days")


def run_of(raw: Dict[str, Any]) -> Run:
    """A run from its JSON answer."""
    members = dict(raw.get("run", {}))
    simulated = members.pop("simulated", {})
    names = {field.name for field in dataclasses.fields(Run)} - {"choice", "raw", "simulated"}
    return Run(
        choice=choice_of(raw),
        raw=raw,
        simulated={k: _fill(Spread, v) for k, v in simulated.items() if isinstance(v, dict)},
        **{key: value for key, value in members.items() if key in names},
    )


def shortage_of(raw: Mapping[str, Any]) -> str:
    """Why nothing fits, from the JSON answer of a search."""
    if "reason" in raw and "estimate" not in raw:
        return str(raw["reason"])
    least = raw.get("shortfall", {}).get("least_memory")
    if least:
        available = raw["system"]["memory_bytes"]
        return (
            f"no strategy fits: the nearest needs {least['memory_bytes'] / 2**30:.2f} GiB of the "
            f"{available / 2**30:.2f} GiB available"
        )
    nearest = raw.get("nearest", raw)
    missing = nearest.get("shortage", {}).get("missing_bytes")
    estimate = nearest.get("estimate", {})
    if missing is None or "memory_needed_bytes" not in estimate:
        return "no strategy fits"
    needed = estimate["memory_needed_bytes"]
    enough = raw.get("accelerators_that_fit") or raw.get("fewest_accelerators")
    return (
        f"no strategy fits: the nearest needs {needed / 2**30:.2f} GiB on stage "
        f"{estimate['worst_stage']}, {missing / 2**30:.2f} GiB over the "
        f"{estimate['memory_usable_bytes'] / 2**30:.2f} GiB available"
        + (f"; strategies fit on {enough} accelerators" if enough else "")
    )


@dataclasses.dataclass(frozen=True)
class Table(Result):
    """Rows of an answer: points of a sweep, and whatever else is a table."""

    items: List[Dict[str, Any]]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def rows(self) -> List[Dict[str, Any]]:
        return self.items

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.items)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        return self.items[index]


@dataclasses.dataclass(frozen=True)
class Launch(Table):
    """
    The job of a launch.  A row is a field with its value and origin; `keys` has the keys that were
    used, cost nothing, are not priced or are unknown.
    """

    reader: str
    facts: Dict[str, Any]
    keys: Dict[str, List[Dict[str, Any]]]
    source: Any = dataclasses.field(repr=False)


def launch_of(source: Any, raw: Dict[str, Any]) -> Launch:
    facts = raw.get("facts", {})
    return Launch(
        items=[{"field": name, **fact} for name, fact in facts.items()],
        raw=raw,
        reader=str(raw.get("reader", "")),
        facts={name: fact["value"] for name, fact in facts.items()},
        keys=dict(raw.get("keys", {})),
        source=source,
    )


@dataclasses.dataclass(frozen=True)
class Sweep(Table):
    """Points of a sweep with their strategies: numbers, True and False, texts; None: no value."""

    def plot(self, x: str, y: str) -> Picture:
        """A column over another, a dot per row."""
        return draw_points(self.items, x, y)


@dataclasses.dataclass(frozen=True)
class Explanation(Table):
    """What each number of a machine is worth, the largest gain first; `raw["best"]` is without."""


@dataclasses.dataclass(frozen=True)
class Collective:
    """A collective of `bytes`, as nccl-tests count them."""

    op: str
    bytes: float
    seconds: float
    algorithm_bytes_per_s: float
    bus_bytes_per_s: float
    algorithm: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Comm(Table):
    """Collectives on a system; rows are those of the answer."""

    system: str = ""
    ranks: int = 0
    asked: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def collectives(self) -> List[Collective]:
        """The rows as dataclasses."""
        return [_fill(Collective, item) for item in self.items]

    def plot(self) -> Picture:
        """Bus bandwidth by size, a line for each collective."""
        return written_picture("comm", self.asked, "plot")


@dataclasses.dataclass(frozen=True)
class MeasuredRun:
    """A measured run beside its prediction; None: not measured, or `left_out` says why not."""

    file: str
    row: int
    id: str
    source: str
    model: str
    system: Optional[str] = None
    accelerator: Optional[str] = None
    stack: Optional[str] = None
    accelerators: Optional[int] = None
    step_s: Optional[float] = None
    step_measured_s: Optional[float] = None
    step_error: Optional[float] = None
    step_p10_s: Optional[float] = None
    step_p90_s: Optional[float] = None
    mfu: Optional[float] = None
    mfu_measured: Optional[float] = None
    memory_bytes: Optional[float] = None
    memory_measured_bytes: Optional[float] = None
    memory_error: Optional[float] = None
    fits: Optional[str] = None
    left_out: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Validation(Table):
    """Predictions of measured runs; `picture` shows predicted over measured."""

    picture: Optional[Picture] = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def runs(self) -> List[MeasuredRun]:
        """The rows as dataclasses."""
        return [_fill(MeasuredRun, item) for item in self.items]

    @property
    def score(self) -> Dict[str, Any]:
        """Errors of all rows: `step`, `memory`, `first_choice`...; empty where none is predicted."""
        return dict(self.raw["all"][0]) if self.raw.get("all") else {}

    @property
    def groups(self) -> List[Dict[str, Any]]:
        """The same by source and kind, or by what `by` says."""
        return list(self.raw.get("groups", []))

    def plot(self) -> Picture:
        """Predicted over measured, and the errors."""
        if self.picture is None:
            raise LookupError("no row of the table is predicted and measured")
        return self.picture


@dataclasses.dataclass(frozen=True)
class Timeline(Result):
    """One step as it runs: `trace` is for Perfetto (ui.perfetto.dev), `picture` for a page."""

    trace: Dict[str, Any] = dataclasses.field(repr=False)
    picture: Picture = dataclasses.field(repr=False)
    operations: List[Dict[str, Any]] = dataclasses.field(default_factory=list, repr=False)

    @property
    def raw(self) -> Dict[str, Any]:  # type: ignore[override]
        """The trace."""
        return self.trace

    def rows(self) -> List[Dict[str, Any]]:
        return self.operations

    def plot(self) -> Picture:
        """A row per rank, a box per operation."""
        return self.picture

    def _repr_html_(self) -> str:
        return self.picture.svg

    def _repr_svg_(self) -> str:
        return self.picture.svg

    def save(self, path: str) -> None:
        """Writes the trace as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.trace, file)
