# SPDX-License-Identifier: Apache-2.0
"""docs/method/kernels.md: seconds of kernels on one accelerator."""

from math import ceil, inf

from reference import measured

OPERAND_BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "fp4": 0.5625, "int8": 1}
# rows, columns, cores that share a tile
TILES = [(256, 256, 2), (256, 128, 1), (128, 256, 1), (128, 128, 1), (128, 64, 1), (64, 128, 1),
         (64, 64, 1), (32, 64, 1), (16, 64, 1)]
BATCHED_TILES = TILES[3:]


def both(a, b):
    """Time of work that two units do at the same time, a and b alone."""
    return (a**4 + b**4) ** 0.25


def stream(a, size):
    """Memory-bound work on so many bytes."""
    return size / a.bandwidth + a.kernel if size > 0 else 0


def copy(a, size):
    """Copying to or from the host."""
    return size / a.host_bandwidth + a.kernel if size > 0 else 0


# ---- GEMM -----------------------------------------------------------------------------------

def waves_of(tiles, cores, wave_share):
    """Waves of so many tiles of one core; whole tiles, so that whole waves are exact."""
    return max(1, (1 - wave_share) * tiles / cores + wave_share * -(-tiles // cores))


def engine_seconds(a, engine, batch, M, N, K, tiles, splits):
    rate = engine.peak * engine.efficiency
    least = inf
    for rows, columns, shared in tiles:
        fed = 1 + engine.feed * (1 / rows + 1 / columns)
        for split in splits:
            count = batch * ceil(M / rows) * ceil(N / columns) * split
            k = K if split == 1 else max(K / split, 256)
            merge = 0 if split == 1 else a.split + split * 8 / 3 * batch * M * N / a.memory_bandwidth
            tile = 2 * rows * columns / shared * (k + engine.prologue) * fed * a.cores / rate
            waves = waves_of(count * shared, a.cores, engine.wave_share)
            least = min(least, waves * tile + merge)
    return least


def modelled_gemm(a, precision, batch, M, N, K, accumulate, grouped):
    if precision not in a.gemm:
        return inf
    tiles = BATCHED_TILES if batch > 1 and not grouped else TILES
    splits = (1,) if grouped else (1, 2, 4, 8)
    math = engine_seconds(a, a.gemm[precision], batch, M, N, K, tiles, splits)
    operand = OPERAND_BYTES[precision]
    size = batch * (operand * (M * K + K * N) + (max(operand, 2) + accumulate) * M * N)
    return both(math, size / a.bandwidth) + a.kernel


def gemm(a, precision, M, N, K, accumulate=0, batch=1):
    seconds = modelled_gemm(a, precision, batch, M, N, K, accumulate, False)
    if batch != 1:
        return seconds
    return seconds * measured.gemm_ratio(a, precision, False, M, N, K)


def grouped_gemm(a, precision, groups, M, N, K, accumulate=0):
    """`groups` experts of M rows each in one launch."""
    seconds = modelled_gemm(a, precision, groups, M, N, K, accumulate, True)
    return seconds * measured.gemm_ratio(a, precision, True, M, N, K)


def burst_seconds(a, precision, batch, M, N, K, accumulate, grouped):
    """As a short benchmark sees a GEMM."""
    engine = a.gemm[precision]
    sustained, engine.efficiency = engine.efficiency, engine.efficiency * a.burst
    t = modelled_gemm(a, precision, batch, M, N, K, accumulate, grouped)
    engine.efficiency = sustained
    return t * (1 + (a.burst - 1) * t / (t + a.gemm_droop))


def repeated_seconds(a, precision, batch, M, N, K, accumulate, grouped):
    """As a benchmark of a second sees a GEMM."""
    engine = a.gemm[precision]
    training, engine.efficiency = engine.efficiency, engine.efficiency * a.sustained
    t = modelled_gemm(a, precision, batch, M, N, K, accumulate, grouped)
    engine.efficiency = training
    return t


def gemm_at(clock):
    return {"burst": burst_seconds, "sustained": repeated_seconds}.get(clock, modelled_gemm)


# ---- attention of libraries -----------------------------------------------------------------

def flash(a, library, heads, group, queries, keys, d, d_v, window, causal, ordered, backward,
          sustained):
    """As a benchmark times it; `ordered`: query gradients are added in a fixed order."""
    rates, blackwell = a.flash[library], a.generation == "blackwell"
    eight = library.endswith("fp8")
    rate = rates.backward if backward else rates.forward
    if not rate:
        return inf
    block = 256 if blackwell and not backward else 128
    seen, cut = keys, False
    if causal:
        seen = min(keys - queries + (queries + block) / 2, keys)
        cut = 0 < window < keys and not (eight and backward)
        if cut:
            seen = min(window + block, seen)
    if blackwell and backward and not eight and d > 64:
        pair = 2 * (3 * 128 * ceil(d / 128) + 2 * d_v)
    else:
        pair = 2 * (3 * d + 2 * d_v) if backward else 2 * (d + d_v)
    scale = (both(1, (10 if backward else 4) * rates.softmax / pair)
             / both(1, rates.softmax / 128))
    busy = heads * queries * (seen + rates.prologue) * pair * scale / rate
    last = 1 if cut else (1 + keys / seen) / 2
    longest = busy * a.cores * last / (heads * max(queries / block, 1))
    t = both(busy, longest) + (4 if backward else 2) * a.kernel
    if ordered and backward and not eight and d <= 128:
        t *= 1.22
    if backward and group > 1:
        t += heads * keys * (d + d_v) * (8 if eight else 4) / a.bandwidth
    return t * (1 + 0.1 * (1 if sustained else t / (t + a.attention_droop)))


# ---- attention ------------------------------------------------------------------------------

def head_cost(softmax, size):
    """Cost of a FLOP at a head size over that at 128."""
    step = 64 if size > 128 else 32
    padded = ceil(size / step) * step
    return padded / size * both(1, softmax / padded) / both(1, softmax / 128)


def modelled_attention(a, flops, seq, heads, size, share, backward):
    rate = a.attention_backward if backward else a.attention_forward
    busy = flops / (share * rate) * (1 + a.ramp / seq) * head_cost(share * a.softmax, size)
    longest = 1.5 * a.cores * busy / (heads * max(seq / 128, 1))
    return both(busy, longest) + (4 if backward else 2) * a.kernel


def attention(a, flops, seq, heads, size, group, share, backward):
    seconds = modelled_attention(a, flops, seq, heads, size, share, backward)
    return seconds * measured.attention_ratio(a, seq, heads, size, group, backward)
