# SPDX-License-Identifier: Apache-2.0
"""Answers as dataclasses.  Each keeps the JSON that it was made of in `raw`."""

from __future__ import annotations

import dataclasses
import html
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, TypeVar

T = TypeVar("T")


def _fill(kind: Type[T], members: Mapping[str, Any]) -> T:
    """Takes the fields of a dataclass from JSON members of the same names; `raw` is all of them."""
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values = {key: value for key, value in members.items() if key in names}
    if "raw" in names:
        values["raw"] = dict(members)
    return kind(**values)


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas") from error
    return pandas.DataFrame(list(rows))


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as an HTML table."""
    if not rows:
        return "<p>empty</p>"
    head = "".join(f"<th>{html.escape(str(key))}</th>" for key in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_number(v))}</td>" for v in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


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
        """The rows as a pandas frame."""
        return _frame(self.rows())

    def _repr_html_(self) -> str:
        return _table(self.rows())


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
    """One optimizer step: s, bytes, tokens/s; mfu and hfu are shares."""

    fits: bool
    step_s: float
    tokens_per_s: float
    tokens_per_s_per_accelerator: float
    tflops_per_accelerator: float
    mfu: float
    hfu: float
    mfu_convention: str
    memory_total_bytes: float
    memory_usable_bytes: float
    worst_stage: int
    time_s: Dict[str, float]
    sent_bytes_per_step: Dict[str, float]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def plot(self, width: int = 640) -> "Picture":
        """The parts of the step as a bar."""
        return _bar(self.time_s, self.step_s, width)


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

    def rows(self) -> List[Dict[str, Any]]:
        return [_choice_row(self)]


def _choice_row(choice: Choice) -> Dict[str, Any]:
    s, e = choice.strategy, choice.estimate
    return {
        "step_s": e.step_s,
        "mfu": e.mfu,
        "tokens_per_s": e.tokens_per_s,
        "memory_GiB": e.memory_total_bytes / 2**30,
        "fits": e.fits,
        "tp": s.tp,
        "cp": s.cp,
        "pp": s.pp,
        "vp": s.vp,
        "ep": s.ep,
        "dp": s.dp,
        "zero": s.zero,
        "micro_batch": s.micro_batch,
        "schedule": s.schedule,
        "recompute": s.recompute,
        "precision": s.precision,
    }


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
    """Strategies, best first.  Empty where nothing fits: `raw` says then what is missing."""

    choices: List[Choice]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def best(self) -> Choice:
        """The fastest strategy that fits."""
        if not self.choices:
            raise LookupError("no strategy fits; see .raw for what is missing")
        return self.choices[0]

    def rows(self) -> List[Dict[str, Any]]:
        return [_choice_row(choice) for choice in self.choices]


def plan_of(raw: Dict[str, Any]) -> Plan:
    """A plan from its JSON answer."""
    return Plan(
        choices=[_choice(item) for item in raw.get("strategies", []) if choice_of(item)],
        raw=raw,
    )


@dataclasses.dataclass(frozen=True)
class Fit(Result):
    """Whether a strategy, or any, fits; `choice` is None where none is legal."""

    fits: bool
    choice: Optional[Choice]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def rows(self) -> List[Dict[str, Any]]:
        return self.choice.rows() if self.choice else []


@dataclasses.dataclass(frozen=True)
class Run(Result):
    """A whole run: `values` has days, goodput, accelerator-hours... by the keys of the answer."""

    values: Dict[str, Any]
    choice: Optional[Choice]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def rows(self) -> List[Dict[str, Any]]:
        return [{k: v for k, v in self.values.items() if not isinstance(v, (dict, list))}]


@dataclasses.dataclass(frozen=True)
class Table(Result):
    """Rows of an answer: collectives, points of a sweep, measured runs."""

    items: List[Dict[str, Any]]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def rows(self) -> List[Dict[str, Any]]:
        return self.items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        return self.items[index]


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG picture, which notebooks show."""

    svg: str = dataclasses.field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        """Writes the picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


# Paul Tol's "muted" colours, which stay apart for colour-blind readers.
_COLOURS = ["#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#882255"]


def _bar(parts: Mapping[str, float], total: float, width: int) -> Picture:
    """Parts of a total as one bar with a legend."""
    shown = [(name, value) for name, value in parts.items() if value > 0.002 * total]
    boxes, legend, x = [], [], 10.0
    for index, (name, value) in enumerate(shown):
        colour = _COLOURS[index % len(_COLOURS)]
        length = (width - 20) * value / total
        y = 70 + 18 * (index // 2)
        left = 10 + (index % 2) * width // 2
        boxes.append(f'<rect x="{x:.1f}" y="24" width="{length:.1f}" height="26" fill="{colour}"/>')
        legend.append(
            f'<rect x="{left}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
            f'<text x="{left + 15}" y="{y}">{html.escape(name)} {value:.4g} s, '
            f"{100 * value / total:.1f} %</text>"
        )
        x += length
    height = 76 + 18 * ((len(shown) + 1) // 2)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">'
        f'<text x="10" y="16">step {total:.4g} s</text>'
        + "".join(boxes)
        + "".join(legend)
        + "</svg>"
    )
