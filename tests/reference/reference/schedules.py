# SPDX-License-Identifier: Apache-2.0
"""docs/method/schedules.md: the order of steps on every rank, and its simulation."""

V_SHAPED = ("zb-v", "v-half", "v-min")
SPLITS = ("zb-h1", "zb-h2", "dualpipe") + V_SHAPED


# ---- order ----------------------------------------------------------------------------------
# A step is a list of (kind, chunk, microbatch): one entry, or the two of a pair.

def order_gpipe(p, v, m, r):
    return [[("F", 0, i)] for i in range(m)] + [[("B", 0, i)] for i in range(m)]


def order_1f1b(p, v, m, r):
    ahead = min(p - 1 - r, m)
    steps = [[("F", 0, i)] for i in range(ahead)]
    for i in range(m):
        if ahead + i < m:
            steps.append([("F", 0, ahead + i)])
        steps.append([("B", 0, i)])
    return steps


def order_interleaved(p, v, m, r):
    def at(k):
        group = k // (p * v)
        size = min(p, m - group * p)
        within = k - group * p * v
        return within // size, group * p + within % size

    ahead, steps = min(2 * (p - 1 - r) + (v - 1) * p, v * m), []
    for k in range(ahead + v * m):
        if k < v * m:
            chunk, microbatch = at(k)
            steps.append([("F", chunk, microbatch)])
        if k >= ahead:
            chunk, microbatch = at(k - ahead)
            steps.append([("B", v - 1 - chunk, microbatch)])
    return steps


def order_zb_h(x):
    def order(p, v, m, r):
        ahead, weights = min(x * (p - 1 - r), m), 0
        steps = [[("F", 0, i)] for i in range(ahead)]
        for i in range(m):
            if ahead + i < m:
                steps.append([("F", 0, ahead + i)])
            steps.append([("I", 0, i)])
            if i >= x * r:
                steps.append([("W", 0, weights)])
                weights += 1
        return steps + [[("W", 0, i)] for i in range(weights, m)]

    return order


def order_zb_v(p, v, m, r):
    most, steps = max(m, 2 * p - 1), []
    done = {(kind, chunk): 0 for kind in "FIW" for chunk in (0, 1)}

    def add(kinds, chunk):
        for kind in kinds:
            if done[kind, chunk] < m:
                steps.append([(kind, chunk, done[kind, chunk])])
            done[kind, chunk] += 1

    for _ in range(2 * (p - r) - 1):
        add("F", 0)
    for _ in range(r):
        add("F", 1)
        add("F", 0)
    for _ in range(p - r):
        add("F", 1)
        add("IW", 1)
    while done["F", 1] < most:
        if done["F", 0] < most:
            add("F", 0)
        add("IW", 0)
        add("F", 1)
        add("IW", 1)
    for _ in range(r):
        add("I", 0)
        add("I", 1)
    for _ in range(p - r):
        add("IW", 0)
    for chunk in (1, 0):
        while done["W", chunk] < most:
            add("W", chunk)
    return steps


def order_v_block(gaps):
    """gaps(p): ticks between ranks (F,0 F,1 I,1 I,0), and at the three turns of the V."""

    def order(p, v, m, r):
        (f0, f1, i1, i0), (turn, loss, back) = gaps(p)
        before, after = r, p - 1 - r
        loss_tick = (p - 1) * (f0 + f1) + turn + loss
        ticks = {("F", 0): before * f0, ("F", 1): (p - 1) * f0 + turn + after * f1,
                 ("I", 1): loss_tick + before * i1,
                 ("I", 0): loss_tick + (p - 1) * i1 + back + after * i0}
        for chunk in (1, 0):
            taken = {tick % 6 for tick in ticks.values()}
            ticks["W", chunk] = next(t for t in range(ticks["I", chunk] + 1, 6 * (9 * p + 9))
                                     if t % 6 not in taken)
        steps = sorted((tick + 6 * i, kind, chunk, i)
                       for (kind, chunk), tick in ticks.items() for i in range(m))
        return [[(kind, chunk, i)] for _, kind, chunk, i in steps]

    return order


def gaps_v_half(p):
    return (1, 2, 1, 2), ((4, 1, 5) if p % 2 == 0 else (2, 1, 1))


def gaps_v_min(p):
    return (1, 1, 1, 1), (1, 3 if p % 3 == 0 else 1, 1)


def order_dualpipe(p, v, m, r):
    depth = min(r, p - 1 - r)
    inner = p // 2 - 1 - depth
    near = 0 if r < p // 2 else 1
    far = 1 - near
    forwards, backwards, waiting, steps = [0, 0], [0, 0], [], []

    def forward(chunk):
        forwards[chunk] += 1
        return ("F", chunk, chunk * m // 2 + forwards[chunk] - 1)

    def backward(kind, chunk):
        backwards[chunk] += 1
        step = (kind, chunk, chunk * m // 2 + backwards[chunk] - 1)
        if kind == "I":
            waiting.append(step[1:])
        return step

    def weight():
        steps.append([("W",) + waiting.pop(0)])

    def pair(chunk):
        steps.append([forward(chunk), backward("B", 1 - chunk)])

    for _ in range(2 * inner):
        steps.append([forward(near)])
    for _ in range(depth + 1):
        steps.append([forward(near)])
        steps.append([forward(far)])
    for _ in range(inner):
        steps.append([backward("I", far)])
        weight()
        steps.append([forward(far)])
    for i in range(m // 2 - p + depth + 1):
        if i == 0 and inner == 0:
            steps.append([forward(near)])
            steps.append([backward("B", far)])
        else:
            pair(near)
        pair(far)
    for _ in range(inner):
        steps.append([backward("B", far)])
        pair(far)
    for i in range(2 * (depth + 1)):
        steps.append([backward("I" if i > depth else "B", far if i % 2 == 0 else near)])
    for _ in range(inner):
        weight()
        steps.append([backward("I", near)])
    for _ in range(depth + 1):
        weight()
    return steps


ORDERS = {
    "gpipe": order_gpipe, "1f1b": order_1f1b, "interleaved": order_interleaved,
    "zb-h1": order_zb_h(1), "zb-h2": order_zb_h(2), "zb-v": order_zb_v,
    "dualpipe": order_dualpipe, "v-half": order_v_block(gaps_v_half),
    "v-min": order_v_block(gaps_v_min),
}


# ---- time -----------------------------------------------------------------------------------

def duration_of(kind, times):
    return {"F": times.forward, "B": times.backward + times.weight, "I": times.backward,
            "W": times.weight}[kind]


class Simulation:
    """`times[r][i]`: forward, backward and weight seconds of chunk i of rank r."""

    def __init__(self, schedule, m, times, send):
        self.schedule, self.m, self.times, self.send = schedule, m, times, send
        self.p, self.v = len(times), len(times[0])
        self.ends = {}  # of forwards and backwards, by pass, rank, chunk and microbatch
        self.free = [0.0] * self.p
        self.orders = [ORDERS[schedule](self.p, self.v, m, r) for r in range(self.p)]

    def neighbour(self, rank, chunk, direction):
        """The chunk with the stage after (1) or before (-1) that of a chunk; None at the ends."""
        p = self.p
        if self.schedule == "dualpipe":
            rank += direction if chunk == 0 else -direction
            return (rank, chunk) if 0 <= rank < p else None
        if self.schedule in V_SHAPED:
            stage = (rank if chunk == 0 else 2 * p - 1 - rank) + direction
            if not 0 <= stage < 2 * p:
                return None
            return (stage, 0) if stage < p else (2 * p - 1 - stage, 1)
        stage = chunk * p + rank + direction
        return (stage % p, stage // p) if 0 <= stage < p * self.v else None

    def arrival(self, rank, kind, chunk, microbatch):
        """When the input of a step comes; None: not known yet."""
        if kind == "W":
            return 0
        source = self.neighbour(rank, chunk, -1 if kind == "F" else 1)
        if source is None:
            return 0
        end = self.ends.get((kind == "F", *source, microbatch))
        return end if end is None or source[0] == rank else end + self.send

    def run(self, rank, step):
        """Runs a step if its inputs are known."""
        arrivals = [self.arrival(rank, *entry) for entry in step]
        if None in arrivals:
            return False
        start = max(arrivals + [self.free[rank]])
        end = start + sum(duration_of(kind, self.times[rank][chunk]) for kind, chunk, _ in step)
        sends = False
        for kind, chunk, microbatch in step:
            if kind == "W":
                continue
            self.ends[kind == "F", rank, chunk, microbatch] = end
            target = self.neighbour(rank, chunk, 1 if kind == "F" else -1)
            sends = sends or (target is not None and target[0] != rank)
        self.free[rank] = end + (self.send if sends else 0)
        return True

    def play(self):
        """Runs a step from when the ranks are free."""
        self.ends = {}
        steps = [0] * self.p
        moved = True
        while moved:
            moved = False
            for rank, order in enumerate(self.orders):
                while steps[rank] < len(order) and self.run(rank, order[steps[rank]]):
                    steps[rank] += 1
                    moved = True
        assert all(steps[r] == len(self.orders[r]) for r in range(self.p)), "deadlock"

    def makespan(self):
        self.play()
        return max(self.free)

    def period(self):
        """Seconds between two of many steps, each rank on its own."""
        self.play()
        took = [0.0]
        for _ in range(8):
            before = list(self.free)
            self.play()
            took = [after - start for after, start in zip(self.free, before)]
            if max(took) - min(took) < 1e-9 * max(took):
                break
        return max(took)


ROLLING = ("zb-h2",)


def makespan(schedule, m, times, send):
    simulation = Simulation(schedule, m, times, send)
    rolls = schedule in ROLLING and simulation.p > 1
    return simulation.period() if rolls else simulation.makespan()


def in_flight(schedule, p, v, m, rank):
    """Peak of microbatches whose activations a rank keeps, from the order of its steps."""
    kept = peak = 0
    for step in ORDERS[schedule](p, v, m, rank):
        kinds = [kind for kind, _, _ in step]
        kept += kinds.count("F")
        peak = max(peak, kept)
        kept -= kinds.count("B") + kinds.count("W")
    return peak / (1 if schedule == "dualpipe" else v)


