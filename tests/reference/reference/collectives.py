# SPDX-License-Identifier: Apache-2.0
"""docs/method/collectives.md: seconds of a collective on a group of ranks."""

from math import ceil, floor, inf, log2, sqrt
from types import SimpleNamespace as Record

from reference import measured

RINGS = ("all_reduce", "reduce_scatter", "all_gather")
WHOLE = ("all_reduce", "broadcast", "reduce", "send")


def move(tier, size, bandwidth, ramp=1):
    """Bytes over the links of one rank."""
    return (size + ramp * sqrt(tier.half * size)) / (bandwidth * tier.efficiency)


def fill(steps):
    return 1 - 1 / (steps + 1) ** 2


def few_steps(ranks):
    """Steps of a pass over a small tensor in a switch."""
    return ranks - 1 if ranks <= 8 else 7 + log2(ranks / 8)


# ---- one phase, by algorithm -----------------------------------------------------------------

RINGS_OF_CUBE, BUSY_OF_CUBE = (0, 0, 1, 2, 4, 2, 2, 4, 6), (0, 0, 1, 2, 3, 2, 2.5, 1.5, 1.75)


def reach(tier, exchange, units, links):
    """Share of the bandwidth that units of a tier reach."""
    if tier.kind == "cube_mesh":
        return (BUSY_OF_CUBE if exchange else RINGS_OF_CUBE)[min(int(units), 8)] / 6
    if tier.kind == "dragonfly":
        return max((units - 1) / (links - 1) if exchange else 0, 0.5)
    return 1


def ring_bytes(op, n, size):
    return (2 if op == "all_reduce" else 1) * (n - 1) / n * size


def traffic_of(phase, algorithm):
    """What an algorithm asks of the links of a tier."""
    tier, n, g, W = phase.tier, ceil(phase.units), phase.ranks, phase.bytes
    fabric = tier.kind in ("fabric", "dragonfly")
    t = Record(bandwidth=tier.bandwidth * reach(tier, phase.op == "all_to_all", n, phase.links),
               ramp=1, start=0)
    if algorithm == "ring":
        passes = 2 if phase.op == "all_reduce" else 1
        t.steps, t.few, t.bytes = passes * (g - 1), passes * few_steps(g), ring_bytes(phase.op, n, W)
        t.bandwidth *= 1 if fabric else fill(passes * (n - 1))
    elif algorithm == "tree":
        t.steps = t.few = 2 * ceil(log2(n))
        t.bytes = ring_bytes("all_reduce", n, W)
    elif algorithm == "in-network":
        t.steps = t.few = 2 * (min(g, 8) - 1)
        t.bytes, t.ramp = (1 + 1 / n) * W, 2
        t.bandwidth = tier.bandwidth * tier.reduce_share
    elif algorithm == "chain":
        t.steps, t.few, t.bytes = g - 1, few_steps(g), W
    elif algorithm == "mesh":
        passes = 2 if phase.op in ("all_reduce", "broadcast", "reduce") else 1
        t.steps = t.few = passes
        t.bytes = passes * (n - 1) / n * W
        t.bandwidth *= (n - 1) / (phase.links - 1)
    elif phase.op == "all_to_all":  # straight to each peer
        t.steps = t.few = 3 + log2(g) / 2
        t.bytes = (n - 1) / n * W
        t.bandwidth *= tier.exchange_share * (1 if fabric else fill(n - 1))
    else:
        t.steps = t.few = 1
        t.bytes = (n - 1) / n * W
        t.start = phase.tier.message_start * (n - 1)
    return t


def torus_traffic(phase):
    tier, u = phase.tier, phase.units
    x = 2 if phase.op in ("all_reduce", "broadcast", "reduce") else 1
    axes = min(max(floor(log2(u) / 2), 1), tier.axes)
    along = u ** (1 / axes)
    closed = along >= tier.ring * (1 - 1e-9)
    link = tier.bandwidth / (2 * tier.axes)
    hops = along / 2 if closed else along - 1
    share = 1 / 2 if closed else (u - 1) / u
    if phase.op == "all_to_all":
        moved = phase.bytes * along / 8 * (1 if closed else 2)
        return Record(steps=x * hops * axes, bytes=moved, 
                      bandwidth=link * tier.exchange_share, ramp=1, start=0)
    return Record(steps=x * hops * axes, bytes=x * share * phase.bytes,
                  bandwidth=link * axes, ramp=1, start=0)


def traffic_seconds(tier, t):
    moving = move(tier, t.bytes, t.bandwidth, t.ramp)
    if tier.kind in ("switch", "cube_mesh"):
        flagged = t.bytes / (0.45 * t.bandwidth * tier.efficiency)
        chunks = sqrt(moving**2 + ((t.steps + 1) * tier.chunk_wait) ** 2)
        return tier.latency + t.start + min(t.few * tier.step_latency + flagged,
                                            t.steps * tier.step_latency + chunks)
    return tier.latency + t.start + t.steps * tier.step_latency + moving


def usual_algorithm(op):
    if op in RINGS:
        return "ring"
    return "chain" if op in ("broadcast", "reduce") else "direct"


def phase_seconds(phase):
    tier = phase.tier
    if tier.kind == "torus":
        return traffic_seconds(tier, torus_traffic(phase))
    algorithms = ["mesh" if tier.kind == "mesh" else usual_algorithm(phase.op)]
    if phase.op == "all_reduce":
        algorithms += ["tree"] if tier.kind in ("fabric", "dragonfly") else []
        algorithms += ["in-network"] if tier.in_network_reduce else []
    return min(traffic_seconds(tier, traffic_of(phase, algorithm)) for algorithm in algorithms)


# ---- side links -----------------------------------------------------------------------------

def side_seconds(links, size):
    """Time of a part over links that all end together."""
    links = sorted(links, key=lambda link: link.latency)
    used, end = [], inf
    for link in links:
        if link.latency >= end:
            break
        used.append(link)
        rate = sum(l.bandwidth for l in used)
        end = (size + sum(l.bandwidth * l.latency for l in used)) / rate
    return end


def seconds_with_sides(phase):
    per_byte = traffic_of(phase, usual_algorithm(phase.op)).bytes / phase.bytes
    links = [Record(bandwidth=side.bandwidth / per_byte, latency=side.latency)
             for side in phase.tier.sides]

    def rest(own):
        return phase_seconds(Record(**{**vars(phase), "bytes": own}))

    if side_seconds(links, phase.bytes) <= rest(0):
        return rest(0)
    least, most = 0, phase.bytes  # bytes over the tier's own links
    for _ in range(200):
        own = (least + most) / 2
        if side_seconds(links, phase.bytes - own) < rest(own):
            most = own
        else:
            least = own
    return rest(most)


# ---- groups that span tiers -----------------------------------------------------------------

def phases_of(system, op, size, group):
    phases, below, domain = [], 1, 1
    for tier, within in zip(system.tiers, group.within):
        if within > below:
            few = (group.size - 1) % below + 1
            share = within / group.size if op == "all_to_all" else 1 / few
            if few < below and within == group.size and op not in WHOLE:
                u = ceil(within / below)
                share *= (group.size - few) / group.size * u / (u - 1)
            phases.append(Record(tier=tier, op=op, units=within / below, ranks=within,
                                 links=tier.size / domain, bytes=size * share, below=below, few=few))
        below, domain = within, tier.size
    return phases


def hierarchy_seconds(phases, op, group):
    times = []
    for phase in phases:
        alone = phase.ranks == group.size and phase.below == 1
        sides = alone and phase.tier.sides and phase.bytes > 0
        times.append(seconds_with_sides(phase) if sides else phase_seconds(phase))
    serial = 0 if op == "all_to_all" else phases[-1].tier.serial
    return max(times) + serial * (sum(times) - max(times))


def ring_seconds(phases, op, size, group):
    """Latency and transfer of one ring through all ranks."""
    if any(phase.tier.kind in ("mesh", "torus") for phase in phases):
        return None
    n, x = group.size, 2 if op == "all_reduce" else 1

    def inside(phase):
        fabric = phase.tier.kind in ("fabric", "dragonfly")
        return 1 if phase.ranks == n or fabric else (ceil(phase.units) - 1) / ceil(phase.units)

    transfer = max(move(phase.tier, inside(phase) * x * (n - 1) / n * size / phase.few,
                        phase.tier.bandwidth
                        * reach(phase.tier, False, ceil(phase.units), phase.links))
                   for phase in phases)
    outer = phases[-1].tier
    return outer.latency + x * (n - 1) * outer.step_latency, transfer


def concurrent_seconds(phases, op, size, group):
    """Links inside and between servers at once."""
    inside, between = phases
    servers = ceil(group.size / inside.ranks)
    chunk = size / (servers * between.few)
    pair = (inside.tier.step_latency
            + chunk / (inside.tier.bandwidth * inside.tier.efficiency / (inside.links - 1)))
    nic = between.tier.step_latency + chunk / (between.tier.bandwidth * between.tier.efficiency)
    once = (servers - 1) * max(nic, pair) + pair
    passes = 2 if op == "all_reduce" else 1
    ramp = (sqrt(between.tier.half * passes * (servers - 1) * chunk)
            / (between.tier.bandwidth * between.tier.efficiency)
            + sqrt(inside.tier.half * passes * size) / inside.tier.bandwidth)
    return between.tier.latency + ramp + passes * once


def link_of(phase):
    """Bandwidth of what a message between two units travels over."""
    tier = phase.tier
    if tier.kind == "mesh":
        return tier.bandwidth / (phase.links - 1)
    if tier.kind == "torus":
        return tier.bandwidth / (2 * tier.axes)
    return tier.bandwidth * reach(tier, False, 2, phase.links) / tier.planes


def fit_seconds(tier, fit, op, size, n, domains):
    """docs/collectives.md, constants of a fabric."""
    local, inside = n / domains, domains <= 1
    ring = (n - 1) / n * size
    if op in ("all_reduce", "broadcast", "reduce"):
        rounds, message, small, large = 2 if inside else 2 * log2(domains) + 2, size, 1e5, 6e7
        moved = 2 * ring if op == "all_reduce" else size
        moved /= 1 if inside else local
    elif op in ("all_gather", "reduce_scatter"):
        rounds, message, small, large = n - 1, size / n, 4e3, 16e3
        moved = ring / (1 if inside else local)
    elif op == "send":
        rounds, message, small, large, moved = 2, size, 1e4, 1e6, size
    else:
        rounds, message, small, large = n - 1, size / n, 4e3, 64e3
        moved = ring if inside else size * (n - local) / n
    grown = log2(message / small) if message > small else 0
    part = min(grown / log2(large / small), 1)
    if fit.inject_bytes and not inside and op in ("all_to_all", "scatter", "gather"):
        part = 1 if message > fit.inject_bytes else 0
    step = fit.step ** (1 - part) * fit.chunk_step ** part
    return rounds * step + moved / (fit.share * tier.bandwidth)


def modelled(system, op, size, group):
    phases = phases_of(system, op, size, group)
    outer = phases[-1].tier
    if op in outer.fits:
        domains = 1 if outer is system.tiers[0] else ceil(group.size / group.within[0])
        return fit_seconds(outer, outer.fits[op], op, size, group.size, domains)
    if op == "send":
        return outer.latency + outer.step_latency + move(outer, size, link_of(phases[-1]))
    seconds = hierarchy_seconds(phases, op, group)
    if (op in RINGS and len(phases) == 2 and outer is system.tiers[1]
            and phases[0].tier.kind == "mesh"):
        seconds = min(seconds, concurrent_seconds(phases, op, size, group))
    ring = ring_seconds(phases, op, size, group)
    if len(phases) == 1 or op not in RINGS or not ring:
        return seconds
    latency, transfer = ring
    inner = system.tiers[:system.tiers.index(outer)]
    if op == "all_reduce" and not any(tier.in_network_reduce for tier in inner):
        seconds = max(seconds, transfer)
    return min(seconds, latency + transfer)


def seconds_of(system, op, size, group):
    if group.size <= 1:
        return 0
    return modelled(system, op, size, group) * measured.collective_ratio(
        system.accelerator, op, size, group)
