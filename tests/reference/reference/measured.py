# SPDX-License-Identifier: Apache-2.0
"""docs/method/kernels.md, "Tables of measured kernels"."""

from itertools import product
from math import ceil, exp, floor, log, log2

REACH, MARGIN, REST = 3, 4, 0.03


class Table:
    """Logarithms of measured over modelled time at the nodes of a grid."""

    def __init__(self, places):
        axes = range(len(places[0]))
        self.low = [floor(min(place[i] for place in places)) - MARGIN for i in axes]
        self.high = [ceil(max(place[i] for place in places)) + MARGIN for i in axes]
        self.nodes = {}

    def at(self, place):
        if any(not low < x < high for x, low, high in zip(place, self.low, self.high)):
            return 0
        cell = [floor(x) for x in place]
        value = 0
        for corner in product((0, 1), repeat=len(place)):
            weight = 1
            for x, first, far in zip(place, cell, corner):
                weight *= x - first if far else 1 - (x - first)
            value += weight * self.nodes.get(tuple(c + far for c, far in zip(cell, corner)), 0)
        return value

    def spread(self, places, logs):
        """One pass: what the table leaves of every row goes to the nodes about it."""
        sums = {}
        for place, target in zip(places, logs):
            left = target - self.at(place)
            about = [[n for n in range(floor(x) - REACH + 1, floor(x) + REACH + 1)
                      if abs(n - x) < REACH] for x in place]
            for node in product(*about):
                weight = exp(-0.5 * sum((n - x) ** 2 for n, x in zip(node, place)))
                total = sums.setdefault(node, [0, 0])
                total[0] += weight * left
                total[1] += weight
        for node, (weighted, weight) in sums.items():
            self.nodes[node] = self.nodes.get(node, 0) + weighted / (weight + REST)


def table_of(places, ratios):
    table, logs = Table(places), [log(ratio) for ratio in ratios]
    table.spread(places, logs)
    table.spread(places, logs)
    low, high = min(logs + [0]), max(logs + [0])
    table.nodes = {node: min(max(value, low), high) for node, value in table.nodes.items()}
    return table


# ---- places ---------------------------------------------------------------------------------

def gemm_key(precision, grouped):
    return ("bf16" if precision == "fp16" else precision, grouped)


def gemm_place(M, N, K):
    return (1.4 * log2(M), 1.4 * log2(N), 1.4 * log2(K))


def attention_place(seq, heads, size, group):
    return (1.4 * log2(seq), 1.4 * log2(heads), size / 8, 0.6 * log2(group) if group > 1 else 0)


def collective_place(size, ranks, inside):
    return (1.4 * log2(size), 1.4 * log2(ranks), 1.4 * log2(inside))


# ---- rows -----------------------------------------------------------------------------------

def number(row, column, usual=None):
    return float(row[column]) if column in row else usual


def gemm_row(row, system):
    from reference import kernels
    batch, grouped = number(row, "batch", 1), row.get("grouped") == "1"
    if row.get("module") == "1" or (batch != 1 and not grouped):
        return None
    precision = row["precision"]
    M, N, K = number(row, "m"), number(row, "n"), number(row, "k")
    work = (precision, batch, M, N, K, number(row, "accumulate_bytes", 0), grouped)
    seconds = kernels.gemm_at(row.get("clock"))(system.accelerator, *work)
    return gemm_key(precision, grouped), gemm_place(M, N, K), seconds


def attention_row(row, system):
    from reference import kernels
    if row.get("module") == "1":
        return None
    backward = row["pass"] == "backward"
    size, heads, batch, seq = (number(row, c) for c in ("head_size", "heads", "batch", "seq"))
    flops = 4 * batch * heads * seq * seq * size
    flops *= (0.5 if row.get("causal") == "1" else 1) * (2.5 if backward else 1)
    group = heads / number(row, "kv_heads", heads)
    seconds = kernels.modelled_attention(system.accelerator, flops, seq, batch * heads, size, 1,
                                         backward)
    return backward, attention_place(seq, batch * heads, size, group), seconds


def collective_row(row, system):
    from reference import collectives, strategies
    ranks, per_node = int(number(row, "ranks")), int(number(row, "ranks_per_node", 0))
    parts = ranks // per_node if 0 < per_node <= ranks else 1
    group = (strategies.place_parts(system, per_node, 1, parts, system.tiers[0].size) if parts > 1
             else strategies.place(system, ranks, 1))
    size = number(row, "bytes")
    seconds = collectives.modelled(system, row["op"], size, group)
    return row["op"], collective_place(size, ranks, group.within[0]), seconds


def tables_of(kind, rows, system):
    """The tables of a kind: one per format, pass or operation."""
    read = {"gemm": gemm_row, "attention": attention_row, "collective": collective_row}[kind]
    kernels = {}
    for row in rows:
        found = read(row, system)
        if found:
            key, place, seconds = found
            kernels.setdefault(key, []).append((place, number(row, "us") * 1e-6 / seconds))
    return {key: table_of(*map(list, zip(*found))) for key, found in kernels.items()}


# ---- ratios ---------------------------------------------------------------------------------

def ratio_at(a, kind, key, place, *sizes):
    table = a.measured.get(kind, {}).get(key)
    return exp(table.at(place(*sizes))) if table else 1


def gemm_ratio(a, precision, grouped, M, N, K):
    return ratio_at(a, "gemm", gemm_key(precision, grouped), gemm_place, M, N, K)


def attention_ratio(a, seq, heads, size, group, backward):
    return ratio_at(a, "attention", backward, attention_place, seq, heads, size, group)


def collective_ratio(a, op, size, group):
    if "collective" not in a.measured or size == 0:  # no bytes are outside of every table
        return 1
    return ratio_at(a, "collective", op, collective_place, size, group.size, group.within[0])
