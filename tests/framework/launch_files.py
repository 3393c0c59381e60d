#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads back the launch files that reckon writes.

    launch_files.py RECKON MODELS

Every line of launch_cases.txt is a strategy for a model of the folder MODELS.  Its launch file is
written by `reckon estimate --emit`, read as the framework reads it (scripts are run by a shell
whose torchrun prints its arguments), checked against the framework's arguments and rules (data/),
and compared with what the line and the document of the model say.  Published launch files are read
by the same code, and files with a fault have to be noticed.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import megatron
import torchtitan
from megatron import Names, Wrong, require

HERE = pathlib.Path(__file__).resolve().parent
BLACKWELL = ("b200", "gb200", "b300", "gb300")

# Rules of Megatron-LM about the state of a running job or about inference, which no argument that
# a launch file holds can settle.
NOT_ARGUMENTS = {
    "training/arguments.py": {647, 1241, 1244},
    "core/transformer/transformer_config.py": {1807, 2469, 2524, 2673, 2717, 2774, 2789},
    "core/parallel_state.py": {904, 920, 936, 1116, 1146, 1161, 1179, 1184, 1187, 1294, 1320, 1338,
                               1356, 1370, 1385, 1400, 1431, 1433, 1435, 1439, 1443, 1540},
}


# ---- what a line asks for -----------------------------------------------------------------------


class Line:
    """A line of launch_cases.txt: the kind of file, the model, the system, and options."""

    def __init__(self, text, models):
        self.text = text
        words = shlex.split(text)
        self.kind, self.model, self.system = words[:3]
        self.words = words[3:]
        self.options = {}
        for word in self.words:
            if word.startswith("--"):
                name = word[2:]
                self.options[name] = True
            else:
                self.options[name] = word
        with open(models / f"{self.model}.json", encoding="utf-8") as file:
            self.document = json.load(file)

    def count(self, name, default=1):
        return int(self.options.get(name, default))

    def text_of(self, name, default):
        return self.options.get(name, default)

    def ranks(self):
        return self.count("tp") * self.count("cp") * self.count("pp") * self.count("dp")

    def chunks(self):
        return 2 if self.text_of("schedule", "") == "zb-v" else self.count("vp")

    def stages(self):
        """Layers of every stage in the order of the model."""
        pp, chunks = self.count("pp"), self.chunks()
        layout = self.options.get("layout")
        if layout:
            runs = [run.split("*") for run in layout.split(",")]
            return [int(run[0]) for run in runs for _ in range(int(run[1]) if run[1:] else 1)]
        layers = self.document["layers"]
        first, last = self.count("first-stage-layers", 0), self.count("last-stage-layers", 0)
        if first or last:
            own = {0: first, pp - 1: last}
            others = (pp - (first > 0) - (last > 0)) * chunks
            each, more = divmod(layers - first - last, others)
            stages = []
            for i in range(pp * chunks):
                held = own.get(i % pp, 0) // chunks
                stages.append(held or each + (more > 0))
                more -= not held
            return stages
        ends = ("count-embedding" in self.options, "count-head" in self.options)
        each, more = divmod(layers + sum(ends), pp * chunks)
        stages = [each + (i < more) for i in range(pp * chunks)]
        stages[0] -= ends[0]
        stages[-1] -= ends[1]
        return stages

    def recompute(self):
        names = {"norm": "layernorm", "act": "moe_act", "mla_up": "mla_up_proj"}
        kind = self.text_of("recompute", "none")
        if kind == "selective":
            modules = self.options["recompute-modules"].split(",")
            return "selective " + " ".join(sorted(names.get(m, m) for m in modules))
        layers = self.options.get("recompute-layers")
        return kind + (f" {layers}" if layers else "")

    def precision(self):
        kind = self.text_of("precision", "bf16")
        weights = " weights" if "fp8-param-gather" in self.options else ""
        if kind in ("fp8", "mxfp8"):
            recipe = "mxfp8" if kind == "mxfp8" else self.text_of("fp8-recipe", "tensorwise")
            return f"fp8 {recipe}{weights}"
        return {"nvfp4": "fp4", "fp4": "fp4"}.get(kind, kind) + weights

    def overlaps(self, zero):
        """All but that of expert messages, unless the line names some."""
        given = self.options.get("overlap")
        names = set(given.split(",") if given else ("tp", "grad", "param", "pp")) - {"none", "pp"}
        if self.count("tp") == 1 or "no-sp" in self.options:
            names.discard("tp")
        if self.count("dp") * self.count("cp") == 1:
            names -= {"grad", "param"}
        if zero == 0:
            names.discard("param")
        return sorted(names)


def strategy_for_megatron(line):
    zero, cp = line.count("zero"), line.count("cp")
    graphs = ("full_iteration" if "graph-step" in line.options
              else "transformer_engine" if {"graph-capture", "graph-modules"} & set(line.options) else "none")
    capacity = line.options.get("capacity-factor")
    return {
        "tp": line.count("tp"), "sp": line.count("tp") > 1 and "no-sp" not in line.options,
        "cp": cp, "cp-kind": line.text_of("cp-kind", "ring") if cp > 1 else None,
        "pp": line.count("pp"), "vp": line.count("vp"), "dp": line.count("dp"),
        "ep": line.count("ep"), "etp": line.count("etp"),
        "micro-batch": line.count("micro-batch"), "global-batch": line.count("global-batch"),
        "seq": line.count("seq", line.document["seq"]), "zero": zero, "hsdp": line.count("hsdp"),
        "order": line.text_of("order", "tp-cp-dp-pp"), "recompute": line.recompute(),
        "precision": line.precision(), "overlap": line.overlaps(zero),
        "gradients": line.text_of("gradients", "bf16" if line.text_of("precision", "bf16") == "fp16" else "fp32"), "moments": line.text_of("moments", "fp32"),
        "offload": line.text_of("offload", "none") == "optimizer", "graphs": graphs,
        "capacity-factor": float(capacity) if capacity else None,
        "attention": line.text_of("attention", "flash"), "stages": line.stages(),
    }


def strategy_for_torchtitan(line):
    names = {"1f1b": "1F1B", "gpipe": "GPipe", "interleaved": "Interleaved1F1B",
             "zb-v": "ZBVZeroBubble"}
    pp, vp = line.count("pp"), line.count("vp")
    schedule = line.text_of("schedule", "interleaved" if vp > 1 else "1f1b")
    overlap = line.options.get("overlap")
    tp = line.count("tp")
    shards = line.count("dp") // line.count("hsdp") > 1 or line.count("cp") > 1
    return {
        "tp": tp, "cp": line.count("cp"), "pp": pp, "dp": line.count("dp"), "vp": vp,
        "ep": line.count("ep"), "etp": line.count("etp"), "hsdp": line.count("hsdp"),
        "schedule": names[schedule] if pp > 1 else "1F1B",
        "zero": line.count("zero", 3) if shards else None,
        "micro-batch": line.count("micro-batch"), "global-batch": line.count("global-batch"),
        "seq": line.count("seq", line.document["seq"]),
        "tp-overlap": tp > 1 and (not overlap or "tp" in overlap.split(",")),
        "recompute": {"selective": "selective operators"}.get(
            line.text_of("recompute", "none"), line.text_of("recompute", "none")),
        "precision": line.text_of("precision", "bf16"), "stages": line.stages(),
        "cp-kind": line.text_of("cp-kind", "ring"),
    }


LETTERS = {"grouped": "*", "latent": "+", "sparse_latent": "D", "mamba2": "M", "gated_delta": "G",
           "none": ""}


def letters_of(document, mtp):
    """Mixers of all layers as letters; blocks of a hybrid, or None; those of a module of MTP."""
    d = document
    usual = ("D" if "index_keys" in d else "+") if "kv_rank" in d else "*"
    if "types" not in d:
        return usual * d["layers"], None, []
    mixers, blocks = [], []
    for kind in d["types"]:
        mixer = LETTERS[kind["mixer"]] if "mixer" in kind else usual
        network = kind.get("feed_forward", "experts" if "experts" in d else "dense")
        mixers.append(mixer)
        blocks.append(mixer + {"dense": "-", "experts": "E", "none": ""}[network])
    pattern = d["pattern"]
    order = [pattern[i % len(pattern)] for i in range(d["layers"])]
    module = "".join(blocks[i] for i in d.get("mtp_pattern", order[-1:]))
    hybrid = any(len(block) == 1 or "M" in block for block in blocks)
    return ("".join(mixers[i] for i in order), "".join(blocks[i] for i in order) if hybrid else None,
            [module] * mtp if hybrid else [])


def kinds_of_layers(document):
    """Which layers have experts, and the window of each."""
    layers = document["layers"]
    if "types" in document:
        order = [document["pattern"][i % len(document["pattern"])] for i in range(layers)]
        usual = "experts" if "experts" in document else "dense"
        networks = [kind.get("feed_forward", usual) for kind in document["types"]]
        return [int(networks[i] == "experts") for i in order], [0] * layers
    pattern = document.get("window_pattern", "w")
    first, every = document.get("dense_first", 0), document.get("moe_every", 1)
    moe = [int("experts" in document and i >= first and (i + 1) % every == 0)
           for i in range(layers)]
    window = [document.get("window", 0) if pattern[i % len(pattern)] == "w" else 0
              for i in range(layers)]
    return moe, window


def model_for_megatron(document, seq, mtp):
    d = document
    mixers, blocks, modules = letters_of(d, mtp)
    state = [d.get("state_" + key) for key in ("heads", "key_heads", "key_size", "value_size")]
    heads, groups, keys, values = state
    moe, window = kinds_of_layers(d)
    latent, learned = "kv_rank" in d, d.get("learned_positions", 0)
    plain = d.get("norm", "rms") == "layer"
    model = {
        "hidden": d["hidden"], "layers": d["layers"], "vocab": d["vocab"], "heads": d["heads"],
        "kv_heads": d.get("kv_heads", d["heads"]),
        "head_size": None if latent else d.get("head_size", d["hidden"] // d["heads"]),
        "tied": d["tied"], "moe": moe, "ffn": d.get("ffn"),
        "gated": d.get("gated", True), "clamped": d.get("clamped", False),
        "norm": "LayerNorm" if plain else "RMSNorm",
        "norm_epsilon": d.get("norm_epsilon", 1e-5),
        "bias_qkv": d.get("bias_qkv", False), "bias_out": d.get("bias_out", False),
        "qk_norm": latent or d.get("qk_norm", "none") != "none", "sinks": d.get("sinks", False),
        "window": window, "mtp_layers": mtp, "mixers": blocks or mixers,
        "modules": modules, "latent_experts": d.get("expert_latent"),
        "output_gate": d.get("output_gate", False),
        "mamba": (heads, values, groups, keys) if "M" in mixers else None,
        "delta": (heads, groups, keys, values, d["conv_width"]) if "G" in mixers else None,
        "index": (d["index_heads"], d["index_size"], d["index_keys"]) if "D" in mixers else None,
        "positions": "none" if blocks else "learned_absolute" if learned
        else "yarn" if d.get("rope_scaling") == "yarn" and not latent else "rope",
        "rope_base": None if learned else d.get("rope_base", 10000), "dropout": (0.0, 0.0),
    }
    if latent:
        model["latent"] = (d.get("q_rank"), d["kv_rank"], d["nope_size"], d["rope_size"],
                           d["value_size"])
    if any(moe):
        sigmoid = d.get("router") == "sigmoid"
        width = d.get("shared_ffn", d["expert_ffn"])
        if d.get("ffn") is None:
            del model["ffn"]
        model["experts"] = {
            "experts": d["experts"], "top_k": d["top_k"], "width": d["expert_ffn"],
            "shared": d.get("shared_experts", 0) * width,
            "shared_gate": d.get("shared_gate", False),
            "groups": (d.get("expert_groups"), d.get("route_groups")),
            "score": "sigmoid" if sigmoid else "softmax",
            "bias": sigmoid and d.get("router_bias", False),
            "raw": not sigmoid and (d.get("router_raw", False) or d["top_k"] == 1),
            "scale": d.get("router_scale", 1),
        }
    return model


# ---- reading the files ----------------------------------------------------------------------------

STUB = """#!/bin/sh
printf '%s\\0' "CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-}" "$@"
"""
STUBS = {"torchrun": STUB, "srun": '#!/bin/sh\nexec "$@"\n',
         "scontrol": "#!/bin/sh\nprintf 'node7\\nnode8\\n'\n"}


class Shell:
    """A folder of programs that print their arguments, which scripts find first."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in STUBS.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def run(self, script, **environment):
        """The arguments of torchrun, those of pretrain_gpt.py, and the environment."""
        out = subprocess.run(
            ["bash", "-s"], input=script, capture_output=True, text=True, check=False,
            env={"PATH": f"{self.folder}:{os.environ['PATH']}", **environment})
        require(out.returncode == 0, f"the script fails: {out.stderr}")
        words = out.stdout.split("\0")[:-1]
        starts = [i for i, word in enumerate(words) if re.fullmatch("pretrain_[a-z]+.py", word)]
        require(len(starts) == 1, "the script starts one program")
        at = starts[0]
        require((words[at] != "pretrain_gpt.py") == ("--hybrid-layer-pattern" in words),
                "the program of a model of blocks, or of layers")
        value = words[0].split("=")[1]
        return words[1:at], words[at + 1:], {"CUDA_DEVICE_MAX_CONNECTIONS": value} if value else {}


def compare(found, expected, what):
    for key, value in expected.items():
        require(found[key] == value, f"{what}: {key} is {found[key]}, not {value}")


def check_start(start, line, slurm):
    """The options of torchrun: nodes and ranks of the strategy, and where they meet."""
    given = dict(zip(start[::2], start[1::2]))
    ranks = int(given["--nnodes"]) * int(given["--nproc-per-node"])
    require(ranks == line.ranks(), f"the script starts {ranks} ranks of {line.ranks()}")
    if slurm:
        require(given["--rdzv-endpoint"] == "node7:29500", "Slurm: where ranks meet")
        require(given["--rdzv-id"] == "42" and given["--rdzv-backend"] == "c10d", "Slurm: job")
    else:
        require(given["--node-rank"] == "0" and given["--master-addr"] == "localhost"
                and given["--master-port"] == "29500", "where ranks meet")


def check_megatron(text, line, shell):
    require(text.startswith("#!/bin/bash\n"), "the first line")
    slurm = line.kind == "megatron-slurm"
    environment = {}
    if slurm:
        nodes = next(row for row in text.split("\n") if row.startswith("#SBATCH --nodes="))
        environment = {"SLURM_NNODES": nodes.split("=")[1], "SLURM_JOB_NODELIST": "x",
                       "SLURM_JOB_ID": "42"}
    start, words, environment = shell.run(text, **environment)
    check_start(start, line, slurm)
    arch = 10 if line.system.startswith(BLACKWELL) else 9
    case = megatron.Case(megatron.parse(words), line.ranks(), environment, arch)
    for place in megatron.ask_rules(case):
        file, row = place.rsplit(":", 1)
        require(int(row) in NOT_ARGUMENTS.get(file, ()), f"rule {place} is not understood")
    megatron.check_more(case)
    compare(megatron.strategy_of(case), strategy_for_megatron(line), "strategy")
    found = megatron.model_of(case)
    expected = model_for_megatron(line.document, case.args.seq_length,
                                  line.count("mtp-layers", line.document.get("mtp_layers", 0)))
    compare(found, expected, "model")


def check_torchtitan(text, line, version):
    document = line.document
    read = torchtitan.read_toml if version == "0.2.2" else torchtitan.read_python
    settings = torchtitan.settings_of(version, read(text))
    layers = document["layers"]
    place = {"world": line.ranks(), "sm": 10.0 if line.system.startswith(BLACKWELL) else 9.0,
             "layers": layers, "tied": document["tied"], "experts": document.get("experts", 0),
             "heads": document["heads"], "kv_heads": document.get("kv_heads", document["heads"])}
    asked, unknown = torchtitan.ask_rules(version, settings, place)
    require(not unknown and asked > 30, f"rules {unknown} are not understood")
    found = torchtitan.strategy_of(version, settings, layers)
    torchtitan.check_stages(found["modules"], layers)
    expected = strategy_for_torchtitan(line)
    for key in ("cp-kind",) if version == "main" or line.count("cp") == 1 else ():
        del expected[key]
    compare(found, expected, f"strategy of {version}")


# ---- the cases ------------------------------------------------------------------------------------


def write(reckon, line, kind, folder):
    """The launch file of a line by `reckon estimate`."""
    path = folder / "launch"
    path.unlink(missing_ok=True)
    out = subprocess.run(
        [reckon, "estimate", "--model", line.model, "--system", line.system, "--emit", kind,
         "-o", str(path), *line.words], capture_output=True, text=True, check=False)
    require(out.returncode in (0, 1) and path.exists(), f"reckon says {out.stderr}")
    require(out.stdout == "", "reckon writes nothing else")
    return path.read_text()


def check(text, line, kind, shell):
    if kind.startswith("megatron"):
        check_megatron(text, line, shell)
    else:
        check_torchtitan(text, line, "0.2.2" if kind == "torchtitan" else "main")


def kinds_of(line):
    """A line for torchtitan is written for both versions, one for torchtitan-toml only for 0.2.2."""
    return {"torchtitan": ["torchtitan", "torchtitan-python"], "torchtitan-toml": ["torchtitan"]}.get(
        line.kind, [line.kind])


def differing_degrees(line):
    degrees = [line.count(name) for name in ("tp", "cp", "pp", "dp", "ep")]
    large = [degree for degree in degrees if degree > 1]
    return len(large) == len(set(large))


def check_cases(reckon, models, shell, folder):
    lines = [Line(text, models) for text in (HERE / "launch_cases.txt").read_text().split("\n")
             if text and not text.startswith("#")]
    failures, files = [], 0
    for line in lines:
        for kind in kinds_of(line):
            files += 1
            try:
                check(write(reckon, line, kind, folder), line, kind, shell)
            except Wrong as wrong:
                failures.append(f"{kind}: {line.text}\n    {wrong}")
    for framework in ("megatron", "torchtitan"):
        own = [line for line in lines if line.kind.startswith(framework)]
        distinct = {line.text for line in own}
        print(f"{framework}: {len(distinct)} strategies")
        if len(distinct) < 60 or not all(differing_degrees(line) for line in own):
            failures.append(f"{framework}: 60 strategies with degrees that differ")
    return lines, failures, files


# ---- faults -----------------------------------------------------------------------------------------


def replace(old, new):
    def change(text):
        return text.replace(old, new) if old in text else None
    return change


def swap(a, b):
    """Exchanges two names."""
    def change(text):
        return text.replace(a, "\1").replace(b, a).replace("\1", b) if a in text and b in text else None
    return change


def drop(start):
    def change(text):
        rows = [row for row in text.split("\n") if not row.strip().startswith(start)]
        return "\n".join(rows) if len(rows) < text.count("\n") + 1 else None
    return change


FAULTS = {
    "megatron": [
        swap("--tensor-model-parallel-size ", "--pipeline-model-parallel-size "),
        swap("--context-parallel-size ", "--tensor-model-parallel-size "),
        swap("--expert-model-parallel-size ", "--expert-tensor-parallel-size "),
        swap("--micro-batch-size ", "--global-batch-size "),
        swap("--hidden-size ", "--ffn-hidden-size "),
        drop("--bf16"), drop("--sequence-parallel"), drop("--use-distributed-optimizer"),
        drop("--untie-embeddings"), drop("--num-query-groups"), drop("--moe-router-score-function"),
        drop("--moe-router-topk-scaling-factor"), drop("--qk-layernorm"), drop("--rotary-base"),
        drop("--hidden-dropout"), drop("export CUDA_DEVICE"), drop("--overlap-grad-reduce"),
        replace("--swiglu", "--geglu"), replace("full_iteration", "full"),
        replace("NNODES=${NNODES:-", "NNODES=${NNODES:-1"), replace("|t*", "|t*1"),
        replace("--recompute-method uniform", "--recompute-method whole"),
        replace("--window-size \"(", "--window-size \"(1"),
        replace("([0]*3+", "([0]*2+[1]*1+"),
        replace("\"MEMEM*E", "\"MEMEME*"), replace("|M", "M|"), replace("/*E\"", "/*-\""),
        swap("--mamba-num-heads ", "--mamba-head-dim "), swap("--mamba-state-dim ", "--mamba-num-groups "),
        drop("--linear-attention-freq"), swap("--linear-num-key-heads ", "--linear-num-value-heads "),
        drop("--dsa-indexer-topk"), drop("--experimental-attention-variant"), drop("--moe-latent"),
        drop("--no-rope-fusion"), drop("--hybrid-layer-pattern"), drop("--attention-output-gate"),
    ],
    "torchtitan": [
        swap("tensor_parallel_degree = ", "pipeline_parallel_degree = "),
        swap("data_parallel_shard_degree = ", "context_parallel_degree = "),
        replace("data_parallel_replicate_degree = 1", "data_parallel_replicate_degree = 3"),
        replace("seq_len = ", "seq_len = 1"), replace("\"always\"", "\"sometimes\""),
        replace("\"never\"", "\"always\""), drop("pipeline_parallel_schedule"),
        drop("pipeline_parallel_layers_per_stage"), replace("\"layers.1\", ", ""),
        replace("\"norm\", \"output\"", "\"output\""), replace("first_stage_less_layers = 0", ""),
        replace("[parallelism]", "[parallel]"), replace("mode = \"full\"", "mode = \"none\""),
        replace("converters = [", "converters = [\"other\"]#"),
        replace("enable_async_tensor_parallel = true", "enable_async_tensor_parallel = 1"),
        replace("expert_parallel_degree = ", "expert_parallel_degree = 3"),
        replace("local_batch_size = ", "local_batch_size = 1"),
    ],
}


def check_faults(reckon, lines, shell, folder):
    """Each fault is placed in the first files that have a place for it, and has to be noticed."""
    failures = []
    for kind, faults in FAULTS.items():
        own = [line for line in lines if line.kind in (kind, kind + "-toml")]
        texts = [(line, write(reckon, line, kind, folder)) for line in own]
        for number, fault in enumerate(faults):
            noticed = placed = 0
            for line, text in texts:
                changed = fault(text)
                if changed is None or changed == text or placed == 3:
                    continue
                placed += 1
                try:
                    check(changed, line, kind, shell)
                except (Wrong, KeyError, ValueError):
                    noticed += 1
            if placed == 0 or noticed < placed:
                failures.append(f"{kind}: fault {number}: {noticed} of {placed} noticed")
        print(f"{kind}: {len(faults)} faults noticed")
    return failures


# ---- published launch files ---------------------------------------------------------------------------


def words_of(row):
    """The command line of a published script."""
    kinds = {flag: entry for entry in megatron.read_lines("megatron_args.jsonl")
             for flag in entry["flags"]}
    words = []
    for name, value in row["flags"].items():
        if name in row.get("not_in_current_megatron", ()):
            continue
        words.append(name)
        if value is not True:
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            many = kinds.get(name, {}).get("nargs")
            words += text.strip("[]").replace(",", " ").split() if many else [text]
    return words


NORMAL = {"tp": "tp", "pp": "pp", "cp": "cp", "ep": "ep", "vpp": "vp", "mbs": "micro-batch",
          "gbs": "global-batch", "seq": "seq"}
SHAPE = {"layers": "layers", "hidden": "hidden", "heads": "heads", "vocab": "vocab", "ffn": "ffn"}


def check_published():
    """Published files read as those who collected them read them (shape, degrees, batch)."""
    failures, counts = [], Names(megatron=0, torchtitan=0)
    for row in megatron.read_lines("published.jsonl"):
        normal, name = row["normal"], row["id"]
        try:
            if name.startswith("torchtitan"):
                settings = torchtitan.settings_of("0.2.2", dict(torchtitan.flatten(row["flags"])))
                found = {"tp": settings["parallelism.tensor_parallel_degree"],
                         "pp": settings["parallelism.pipeline_parallel_degree"],
                         "cp": settings["parallelism.context_parallel_degree"],
                         "ep": settings["parallelism.expert_parallel_degree"],
                         "mbs": settings["training.local_batch_size"],
                         "seq": settings["training.seq_len"],
                         "recompute": settings["activation_checkpoint.mode"]}
                compare({k: v for k, v in normal.items() if k in found},
                        {k: v for k, v in found.items() if k in normal}, "published")
                counts.torchtitan += 1
            else:
                case = megatron.Case(megatron.parse(words_of(row)),
                                     row.get("world_size", normal["tp"] * normal["pp"] * normal["cp"]),
                                     {}, 9)
                found, model = megatron.strategy_of(case), megatron.model_of(case)
                compare(found, {own: normal[theirs] for theirs, own in NORMAL.items()
                                if theirs in normal and ("hybrid" not in normal or own != "vp")},
                        "published")
                if "hybrid" in normal:
                    main, *modules = normal["hybrid"].split("/")
                    compare(model, {"mixers": main.replace("|", ""), "modules": modules}, "published")
                compare(model, {own: normal[theirs] for theirs, own in SHAPE.items()
                                if theirs in normal and model[own] is not None}, "published")
                counts.megatron += 1
        except (Wrong, KeyError) as wrong:
            failures.append(f"{name}: {wrong}")
    print(f"published: {counts.megatron} scripts of Megatron-LM, {counts.torchtitan} of torchtitan")
    if counts.megatron < 70 or counts.torchtitan < 10:
        failures.append("too few published files")
    return failures


def main(reckon, models):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shell = Shell(folder)
        lines, failures, files = check_cases(reckon, pathlib.Path(models), shell, folder)
        failures += check_faults(reckon, lines, shell, folder)
        failures += check_published()
    for failure in failures:
        print("FAILED", failure)
    print(f"{files} launch files of {len(lines)} strategies, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
