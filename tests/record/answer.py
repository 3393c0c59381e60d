# SPDX-License-Identifier: Apache-2.0
"""An answer in compact form: exit status, a digest of every member, headline figures, error text.

A line of answers.txt: question, status, "member:digest ...", "place(key=value,...) ...", error, with
tabs between them.
"""

import hashlib
import json
import re

# Members that differ from run to run, or with the version, wherever they are.
VOLATILE = {"performance", "reckon", "processor_time_s", "wall_time_s", "processor_s"}
# The same in text.
VOLATILE_TEXT = [
    (re.compile(r"[0-9.e+-]+ s of processor time.*"), "# s of processor time"),
    (re.compile(r"[0-9.e+-]+ (?:thousand |million |billion )?strategies/s"), "# strategies/s"),
    (re.compile(r"Calculation rate: [0-9.e+-]+"), "Calculation rate: #"),
    (re.compile(r"\breckon [0-9]+\.[0-9]+\.[0-9]+"), "reckon #"),
    (re.compile(r'"reckon": ?"[0-9.]+"'), '"reckon": "#"'),
    (re.compile(r'"(processor|wall)_time_s": ?[-+.e0-9]+'), r'"\1_time_s": #'),
]
# Mathematical libraries differ in the last digits of a double: digests see 9 digits of a number,
# figures are compared to 10.
LONG_NUMBER = re.compile(r"-?[0-9]+\.[0-9]{5,}(?:e[-+]?[0-9]+)?")
SAME = 1e-10

# Figures that are recorded in clear, by the place of their object in the answer.
ESTIMATE = ("step_s", "mfu", "memory_total_bytes", "fits")
RUN = ("total_s", "goodput", "cost", "energy_J", "accelerator_hours")
HEADLINES = {
    "": ("fits", "left_bytes", "loss_found", "ranks"),
    "estimate": ESTIMATE,
    "interval": ("step_p10_s", "step_p90_s", "runs"),
    "strategies.0.estimate": ESTIMATE,
    "strategies.1.estimate": ("step_s",),
    "search": ("strategies", "legal", "fit"),
    "best": ("step_s", "memory_bytes"),
    "best.time": ("forward_s", "tensor_comm_s"),
    "run": RUN,
    "clusters.0": ("system", "accelerators", "step_s", "days", "cost"),
    "front.0": ("cost", "step_s"),
    "shapes.0": ("parameters", "step_s"),
    "numbers.0": ("key", "gain"),
    "collectives.0": ("algorithm", "seconds"),
    "collectives.-1": ("algorithm", "seconds"),
    "collective": ("seconds",),
    "choices.0.estimate": ESTIMATE,
    "choice.estimate": ESTIMATE,
    "all.0.step": ("mean", "count"),
    "all.0.memory": ("mean",),
    "otherData": ("step_us",),
}
# Strategies are recorded in clear too, without the fields that have these values.
STRATEGIES = ("strategy", "strategies.0.strategy", "best.strategy", "choice.strategy",
              "choices.0.strategy")
USUAL = {"sp": True, "cp": 1, "pp": 1, "vp": 1, "ep": 1, "etp": 1, "hsdp_replicas": 1,
         "rank_order": "tp-cp-dp-pp", "schedule": "1f1b", "precision": "bf16",
         "attention": "flash", "overlap": "tp+grad+param+pp", "imbalance": 1, "optimizer": "adamw",
         "weight_bytes_per_parameter": 2, "gradient_bytes_per_parameter": 4,
         "optimizer_bytes_per_parameter": 12, "gather_bytes_per_parameter": 2,
         "reduce_bytes_per_parameter": 4}


def settle(value):
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: settle(item) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, (list, tuple)):
        return [settle(item) for item in value]
    if isinstance(value, float):
        return f"{value:.9g}"
    return settle_text(value) if isinstance(value, str) else value


def settle_text(text):
    for pattern, short in VOLATILE_TEXT:
        text = pattern.sub(short, text)
    return LONG_NUMBER.sub(lambda found: f"{float(found.group()):.9g}", text)


def digest(value):
    text = json.dumps(settle(value), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def find(value, place):
    """The object at a place such as "strategies.0.estimate"; None where there is none."""
    for key in filter(None, place.split(".")):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and value:
            value = value[int(key)] if int(key) < len(value) else None
        else:
            return None
    return value


def clear(value):
    """A figure as text."""
    if isinstance(value, float):
        return f"{value:.12g}"
    return re.sub(r"[^\w.+-]", "/", str(value)) or "-"


def figures_of(members):
    """Place -> key -> text."""
    figures = {}
    for place, keys in HEADLINES.items():
        found = find(members, place)
        if isinstance(found, dict):
            kept = {key: clear(found[key]) for key in keys if found.get(key) is not None}
            if kept:
                figures[place or "answer"] = kept
    for place in STRATEGIES:
        found = find(members, place)
        if isinstance(found, dict):
            figures[place] = {
                clear(key): clear(item) for key, item in found.items()
                if item != USUAL.get(key) and (key in USUAL or item not in (0, "none", "no", None))
                and not isinstance(item, (dict, list))}
    return figures


def compact(status, members, error):
    """The compact form: status, member -> digest, place -> key -> text, error text."""
    digests = {re.sub(r"[^\w.-]", "_", key): digest(item) for key, item in members.items()
               if key not in VOLATILE}
    error = " ".join(settle_text(error).split())
    if error:
        digests["message"] = digest(error)
    return str(status), digests, figures_of(members), error[:160]


def compact_all(answers, files):
    """The compact form of (status, members, error) of several commands: one digest of everything."""
    settled = [[status, {key: settle(item) for key, item in members.items() if key not in VOLATILE},
                " ".join(settle_text(error).split())] for status, members, error in answers]
    error = next((error for _, _, error in settled if error), "")
    statuses = ",".join(str(status) for status, *_ in settled)
    return statuses, {"all": digest([settled, files])}, {}, error[:80]


# ---- the file --------------------------------------------------------------------------------------

def write_answers(path, answers):
    with path.open("w", encoding="utf-8") as file:
        for name, (status, digests, figures, error) in answers.items():
            members = " ".join(f"{key}:{item}" for key, item in digests.items())
            places = " ".join(
                f"{place}({','.join(f'{key}={item}' for key, item in keys.items())})"
                for place, keys in figures.items())
            file.write("\t".join((name, status, members, places, error)).rstrip("\t") + "\n")


def read_answers(path):
    answers = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, status, members, places, error, *_ = (line + "\t\t\t\t").split("\t")
        figures = {}
        for place, keys in re.findall(r"([\w.-]+)\(([^)]*)\)", places):
            figures[place] = dict(key.split("=", 1) for key in keys.split(",") if key)
        digests = dict(member.rsplit(":", 1) for member in members.split())
        answers[name] = (status, digests, figures, error)
    return answers


# ---- comparison ------------------------------------------------------------------------------------

def same(one, other):
    if one == other:
        return True
    try:
        a, b = float(one), float(other)
    except (TypeError, ValueError):
        return False
    return abs(a - b) <= SAME * max(abs(a), abs(b))


def change(place, key, one, other):
    """A figure before and after."""
    text = f"{place}.{key} {one if one is not None else '(usual)'} -> " \
           f"{other if other is not None else '(usual)'}"
    try:
        a, b = float(one), float(other)
        return text + (f" ({100 * (b / a - 1):+.3g} %)" if a else "")
    except (TypeError, ValueError):
        return text


def differences(before, now):
    """Member -> what changed, in words."""
    if before is None:
        return {"question": ["not recorded: renew the answers"]}
    changes = {}
    if before[0] != now[0]:
        changes["status"] = [f"{before[0]} -> {now[0]}"]
    for member in {**before[1], **now[1]}:
        one, other = before[1].get(member), now[1].get(member)
        if one != other:
            changes[member] = ["gone"] if other is None else ["new"] if one is None else []
    for place in {**before[2], **now[2]}:
        one, other = before[2].get(place, {}), now[2].get(place, {})
        member = place.split(".")[0]
        lines = [change(place, key, one.get(key), other.get(key)) for key in {**one, **other}
                 if not same(one.get(key), other.get(key))]
        if lines and place in before[2] and place in now[2]:
            changes.setdefault(member, []).extend(lines)
    if "message" in changes:
        changes["message"] = [f"{before[3] or '(none)'} -> {now[3] or '(none)'}"]
    return changes
