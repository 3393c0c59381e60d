#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the closed forms of lib/run, compared on random inputs.

Written from docs/run.md, docs/method/runs.md and the papers named there, not from the C: sums in
place of continued fractions, a march through the segments in place of a geometric series, trials
in place of searches.  `evaluate` (evaluate.c) computes the same cases by the library.

    second.py --evaluate build/tests/run/run_evaluate [--cases N] [--seed N]
"""

import argparse
import math
import random
import subprocess
import sys

DAY, HOUR = 86400.0, 3600.0
INFINITE = float("inf")

# ---- checkpoints -----------------------------------------------------------------------------


def young(cost, mtbf):
    return math.sqrt(2 * cost * mtbf)


def daly(cost, mtbf):
    if cost >= 2 * mtbf:
        return mtbf
    ratio = cost / (2 * mtbf)
    return young(cost, mtbf) * (1 + ratio**0.5 / 3 + ratio / 9) - cost


def slowdown(interval, cost, restart, mtbf):
    """Time of a segment of tau + C from its expectation: E = M e^(R/M) (e^((tau + C)/M) - 1)."""
    if mtbf == INFINITE:
        return 1 + cost / interval
    return mtbf * math.exp(restart / mtbf) * math.expm1((interval + cost) / mtbf) / interval


def first_order_share(interval, cost, restart, mtbf):
    return max(0.0, (1 - (restart + interval / 2) / mtbf) / (1 + cost / interval))


class Levels:
    """Copies nearby, and every so many one in far storage."""

    names = ("mtbf", "share", "near_cost", "far_cost", "near_restart", "far_restart", "interval",
             "every")

    def __init__(self, *values):
        for name, value in zip(self.names, values):
            setattr(self, name, value)

    def slowdown(self):
        """E_i = u + v E_0, marched from the last segment to the first, where E_0 = u / (1 - v)."""
        m, p = self.mtbf, self.share
        if m == INFINITE:
            each = self.interval + self.near_cost + self.far_cost / self.every
            return each / self.interval
        f1 = -math.expm1(-self.near_restart / m)
        far = m * math.expm1(self.far_restart / m)  # y = far + E_0
        u, left = 0.0, 1.0  # of E_n = 0, with `left` = 1 - v to keep its digits
        for i in range(int(self.every), 0, -1):
            need = self.interval + self.near_cost + (self.far_cost if i == self.every else 0)
            s, f = math.exp(-need / m), -math.expm1(-need / m)
            # x = (m f1 + (1 - f1) E_i + f1 (1 - p) y) / (1 - f1 p)
            known = (m * f1 + f1 * (1 - p) * far) / (1 - f1 * p)
            by_own = (1 - f1) / (1 - f1 * p)
            # E_i (1 - f p by_own) = m f + s E_(i+1) + f p known + f (1 - p) far + (...) E_0
            divisor = 1 - f * p * by_own
            u = (m * f + s * u + f * p * known + f * (1 - p) * far) / divisor
            left *= s / divisor  # the coefficients of a row sum to one
        return u / left / (self.every * self.interval) if left > 0 else INFINITE


# ---- a run -----------------------------------------------------------------------------------

RUN = ("tokens", "tokens_per_step", "step", "accelerators", "failure_rate", "restart",
       "checkpoint", "storage", "host", "interval", "near_write", "near_read", "near_share",
       "silent_share", "silent", "planned_share", "window", "window_every", "start", "spares",
       "power", "idle_power", "pue", "price", "carbon")
RESULT = ("steps", "mtbf", "failures", "blocking", "writing", "interval", "far_every", "training",
          "checkpoints", "lost", "restarts", "planned", "start", "total", "goodput", "goodput_first",
          "accelerator_hours", "energy", "cost", "carbon")


def one_level(t, r, work):
    waits = r["writing"] if t["host"] > 0 else 0.0  # a copy on its way to storage is at risk
    restart = t["restart"] + r["writing"] + waits
    segments = work / r["interval"]
    r["checkpoints"] = segments * r["blocking"]
    if r["mtbf"] == INFINITE:
        return
    m = r["mtbf"]
    busy = segments * m * math.expm1((r["interval"] + r["blocking"]) / m)
    after = busy * math.expm1(restart / m)
    r["lost"] = busy - work - r["checkpoints"] + after * waits / restart
    r["restarts"] = after * (1 - waits / restart)


def copies_tried():
    every = 1
    while every <= 1000:
        yield every
        every = every * 11 // 10 + 1


def two_levels(t, r, work):
    """For an interval that is given; the search for the best one is compared on its own."""
    far = t["restart"] + (2 if t["host"] > 0 else 1) * r["writing"]
    near = t["restart"] + t["near_read"]

    def of(every):
        return Levels(r["mtbf"], t["near_share"], t["near_write"], r["blocking"], near, far,
                      r["interval"], every)

    r["far_every"] = min(copies_tried(), key=lambda every: of(every).slowdown())
    total = work * of(r["far_every"]).slowdown()
    r["checkpoints"] = work / r["interval"] * (t["near_write"] + r["blocking"] / r["far_every"])
    rest = max(0.0, total - work - r["checkpoints"])
    share = t["near_share"]
    r["restarts"] = min(rest, total / r["mtbf"] * (share * near + (1 - share) * far))
    r["lost"] = rest - r["restarts"]


def training(t):
    """Every member of rk_training_result; None where the run is refused."""
    rate = t["failure_rate"] * t["accelerators"]
    r = dict.fromkeys(RESULT, 0.0)
    r["steps"] = math.ceil(t["tokens"] / t["tokens_per_step"])
    r["mtbf"] = 1 / rate if rate > 0 else INFINITE
    r["writing"] = t["checkpoint"] / t["storage"]
    r["blocking"] = t["checkpoint"] / t["accelerators"] / t["host"] if t["host"] else r["writing"]
    r["far_every"] = 1
    r["interval"] = t["interval"] or INFINITE
    if not t["interval"] and rate > 0:
        least = max(t["step"], r["writing"] if t["host"] > 0 else 0)
        r["interval"] = max(least, daly(r["blocking"], r["mtbf"]))
    if t["host"] > 0 and r["interval"] < r["writing"]:
        return None
    restart = t["restart"] + (2 if t["host"] > 0 else 1) * r["writing"]
    window = t["window"] + t["restart"] + r["writing"]
    if t["window_every"] and window >= t["window_every"]:
        return None
    spoilt = rate * t["silent_share"] * t["silent"]  # of the time of training
    if spoilt >= 0.99:
        return None
    try:
        if not slowdown(r["interval"], r["blocking"], restart, r["mtbf"]) < 100:
            return None
    except OverflowError:
        return None
    work = r["training"] = t["step"] * r["steps"]
    if t["near_write"] > 0 and rate > 0:
        two_levels(t, r, work)
    else:
        one_level(t, r, work)
    before = work + r["checkpoints"] + r["lost"] + r["restarts"]
    running = before / (1 - spoilt)
    r["lost"] += running - before
    r["failures"] = running * rate
    r["planned"] = r["failures"] * t["planned_share"] * (t["restart"] + r["writing"])
    if t["window_every"]:  # calendar time = what runs + windows, one in each `window_every` of it
        calendar = (running + r["planned"]) / (1 - window / t["window_every"])
        r["planned"] = calendar - running
    if t["start"]:
        r["start"] = t["start"] + r["writing"]
    r["total"] = running + r["planned"] + r["start"]
    r["goodput"] = work / r["total"]
    r["goodput_first"] = 1 if r["interval"] == INFINITE else first_order_share(
        r["interval"], r["blocking"], t["restart"] + r["writing"], r["mtbf"])
    if t["near_write"] > 0 and rate > 0:
        r["goodput_first"] = 0
    paid = t["accelerators"] + t["spares"]
    r["accelerator_hours"] = paid * r["total"] / HOUR
    # All draw idle power all the time, and those that train what is beyond it while they do.
    training = work + r["checkpoints"] + r["lost"]
    watts = paid * r["total"] * t["idle_power"]
    watts += t["accelerators"] * training * (t["power"] - t["idle_power"])
    r["energy"] = watts * t["pue"]
    r["cost"] = t["price"] * r["accelerator_hours"]
    r["carbon"] = r["energy"] / 3.6e6 * t["carbon"] / 1000
    return r


# ---- interruptions ---------------------------------------------------------------------------


def poisson_at_most(count, mean):
    """The sum of the probabilities, from the largest term outwards."""
    if count < 0:
        return 0.0
    terms = (math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
             for k in range(max(0, int(mean - 40 * math.sqrt(mean) - 40)), int(count) + 1))
    return min(1.0, math.fsum(terms))


def normal_below(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def mixed_at_most(count, mean, spread):
    """Over the rates, by Simpson's rule in standard deviations."""
    if not spread > 0:
        return poisson_at_most(count, mean)
    n, reach = 240, 6.0
    h = 2 * reach / n
    total = 0.0
    for i in range(n + 1):
        z = -reach + i * h
        weight = 1 if i in (0, n) else 4 if i % 2 else 2
        total += weight * math.exp(-z * z / 2) * poisson_at_most(count, mean * math.exp(spread * z))
    return total * h / 3 / math.sqrt(2 * math.pi)


# ---- stragglers ------------------------------------------------------------------------------


def kappa(workers):
    """The expected maximum as the mean of its density n phi Phi^(n-1), by the trapezoidal rule."""
    reach, n = 10.0, 20000
    h = 2 * reach / n
    total = 0.0
    for i in range(n + 1):
        x = -reach + i * h
        above = math.erfc(x / math.sqrt(2)) / 2
        if above < 1:
            power = math.exp((workers - 1) * math.log1p(-above))
            total += x * workers * math.exp(-x * x / 2) * power
    return total * h / math.sqrt(2 * math.pi)


# ---- laws ------------------------------------------------------------------------------------


def loss_of(law, n, d):
    joint, floor, big_a, a, big_b, b = law
    if joint:
        return ((big_a / n) ** (a / b) + big_b / d) ** b
    return floor + big_a / n**a + big_b / d**b


def tokens_for(law, n, loss):
    """By bisection of the law itself; -1 at or below the floor."""
    if loss <= loss_of(law, n, 1e300):
        return -1.0
    low, high = -50.0, 690.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if loss_of(law, n, math.exp(middle)) > loss else (low, middle)
    return math.exp(low)


# ---- cases -----------------------------------------------------------------------------------


class Cases:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def between(self, low, high):
        return low * (high / low) ** self.random.random()

    def intervals(self):
        c, m = self.between(1e-3, 1e4), self.between(60, 1e7)
        tau, r = self.between(1, 3 * m), self.between(1, 5 * m)
        return [c, m, tau, r], [young(c, m), daly(c, m), slowdown(tau, c, r, m),
                                first_order_share(tau, c, r, m)]

    def some_levels(self):
        return [self.between(600, 1e7), self.random.random(), self.between(0.01, 60),
                self.between(1, 600), self.between(1, 1200), self.between(30, 3600),
                self.between(10, 5000), int(self.between(1, 200))]

    def levels(self):
        values = self.some_levels()
        l = Levels(*values)
        return values, [l.slowdown()]

    def best_levels(self):
        """No trial on a grid is better than what is called the best, by one part in 1,000."""
        values = self.some_levels()
        values[0] = self.between(3600, 1e6)
        least, most = self.between(1, 100), 300

        def check(found):
            interval, every, value = found
            l = Levels(*values[:6], interval, every)
            if abs(l.slowdown() / value - 1) > 1e-9 or interval < least * (1 - 1e-12):
                return "the slowdown of what is found is %.12g" % l.slowdown()
            for every in (1, 2, 3, 4, 6, 8, 12, 20, 32, 50, 80, 128, 200, 300):
                for step in range(60):
                    l = Levels(*values[:6], least * (values[0] / least) ** (step / 59), every)
                    if l.slowdown() < value * (1 - 1e-3):
                        return "%g s and %d copies give %.9g" % (l.interval, every, l.slowdown())
            return None

        return values + [least, most], check

    def training(self):
        b, r = self.between, self.random
        near = r.random() < 0.4
        t = {
            "tokens": b(1e9, 1e14), "tokens_per_step": b(1e5, 1e8), "step": b(0.1, 60),
            "accelerators": math.floor(b(8, 2e5)),
            "failure_rate": 0 if r.random() < 0.1 else b(1e-11, 1e-7), "restart": b(1, 3600),
            "checkpoint": b(1e9, 2e13), "storage": b(1e9, 1e13),
            "host": 0 if r.random() < 0.5 else b(1e9, 1e11),
            "interval": b(30, 2e4) if near or r.random() < 0.5 else 0,
            "near_write": b(0.01, 30) if near else 0, "near_read": b(0.01, 30) if near else 0,
            "near_share": r.random() if near else 0,
            "silent_share": 0 if r.random() < 0.5 else b(1e-3, 0.2), "silent": b(10, 1e5),
            "planned_share": 0 if r.random() < 0.5 else b(0.01, 1), "window": b(60, 1e5),
            "window_every": 0 if r.random() < 0.5 else b(1, 60) * DAY,
            "start": 0 if r.random() < 0.5 else b(1, 3600),
            "spares": 0 if r.random() < 0.5 else math.floor(b(1, 1000)),
            "power": b(100, 2000), "idle_power": b(10, 1000),
            "pue": b(1, 1.6), "price": b(0.1, 20), "carbon": b(10, 900),
        }
        result = training(t)
        return [t[name] for name in RUN], None if result is None else [result[n] for n in RESULT]

    def counts(self):
        mean = self.between(0.05, 3000)
        spread = 0 if self.random.random() < 0.3 else self.between(0.05, 1)
        share, count = self.random.uniform(0.02, 0.98), math.floor(mean * self.between(0.3, 3))

        def check(found):
            at_most, quantile, normal = found
            if abs(at_most - poisson_at_most(count, mean)) > 1e-9:
                return "at most %d: %.12g" % (count, poisson_at_most(count, mean))
            if abs(normal_below(normal) - share) > 1e-11:
                return "%.9g of a normal lie below" % normal_below(normal)
            room = 0 if spread == 0 else 3e-3  # the mixture is a sum over 400 rates there
            if mixed_at_most(quantile, mean, spread) < share - room - 1e-9:
                return "only %.6g lie at or below" % mixed_at_most(quantile, mean, spread)
            if mixed_at_most(quantile - 1, mean, spread) > share + room + 1e-9:
                return "%.6g lie below it" % mixed_at_most(quantile - 1, mean, spread)
            return None

        return [mean, spread, share, count], check

    def spares(self):
        nodes, rate = math.floor(self.between(2, 1e4)), self.between(1e-3, 3e-2) / DAY
        repair, confidence = self.between(1, 200) * HOUR, self.random.uniform(0.5, 0.999)
        count = 0
        while poisson_at_most(count, nodes * rate * repair) < confidence:
            count += 1
        return [nodes, rate, repair, confidence], [count]

    def stragglers(self):
        workers, noise = math.floor(self.between(1, 3e5)), self.between(1e-4, 0.1)
        barriers = math.floor(self.between(1, 1000))
        share, slower = self.between(1e-6, 0.1), self.between(0.01, 1)
        k = kappa(workers)
        return [workers, noise, barriers, share, slower], [
            k, 1 + barriers * (noise / math.sqrt(barriers)) * k,
            (1 - share) ** workers + (1 - (1 - share) ** workers) * (1 + slower)]

    def loss(self):
        joint, floor = self.random.random() < 0.3, self.between(0.5, 2)
        law = [joint, floor, self.between(100, 1000), self.random.uniform(0.2, 0.5),
               self.between(100, 5000), self.random.uniform(0.2, 0.5)]
        if joint:
            law[2], law[4] = self.between(1e12, 1e14), self.between(1e12, 1e14)
            law[3], law[5] = self.random.uniform(0.05, 0.1), self.random.uniform(0.05, 0.1)
        n, d = self.between(1e7, 1e12), self.between(1e9, 1e14)
        loss = loss_of(law, n, self.between(1e9, 1e14)) * self.random.choice([1, 1, 0.8])

        def check(found):
            value, needed = found
            if abs(value / loss_of(law, n, d) - 1) > 1e-9:
                return "the loss is %.12g" % loss_of(law, n, d)
            over = loss / loss_of(law, n, 1e300) - 1
            if over < -1e-9 and needed > 0:
                return "no tokens reach it"
            if over > 1e-6 and not abs(loss_of(law, n, needed) / loss - 1) < 1e-9:
                return "%.9g tokens reach it" % tokens_for(law, n, loss)
            return None

        return [int(joint)] + law[1:] + [n, d, loss], check

    def batch(self):
        by_loss = self.random.random() < 0.3
        coefficient, exponent = self.between(1e-2, 10), self.random.uniform(0.3, 5 if by_loss else 0.6)
        unit, tokens, loss = self.between(1, 4096), self.between(1e9, 1e14), self.between(1.5, 4)
        batch, reference = self.between(1e5, 1e8), self.between(1e5, 1e8)
        critical = unit * coefficient * (loss**-exponent if by_loss else tokens**exponent)
        # steps S = S_min (1 + c/B), tokens = S B: over those of the reference
        factor = (1 + critical / batch) * batch / ((1 + critical / reference) * reference)
        return [int(by_loss), coefficient, exponent, unit, tokens, loss, batch, reference], [
            critical, factor]

    def money(self):
        price, years = self.between(1e3, 1e5), self.random.uniform(1, 8)
        tokens, parameters = self.between(1e9, 1e14), self.between(1e8, 1e12)
        n, rate, recompute = self.between(1, 1e5), self.between(1e12, 1e15), self.random.random() < .5
        flops = (2 + 4 + (2 if recompute else 0)) * tokens * parameters
        return [price, years * 365 * DAY, tokens, parameters, n, rate, int(recompute)], [
            price / (years * 365 * 24), flops / (n * rate)]


KINDS = ("intervals", "levels", "best_levels", "training", "counts", "spares", "stragglers", "loss",
         "batch", "money")
SLOW = {"best_levels": 10, "counts": 5, "stragglers": 10, "loss": 2}  # one in so many cases


def difference(expected, found):
    """None, or what differs."""
    if expected is None or found is None:
        return None if expected is found else "refused by one of both"
    if callable(expected):
        return expected(found)
    # The parts of a run are differences of its total.
    floor = 1e-3 * expected[RESULT.index("total")] if len(expected) == len(RESULT) else 1e-6
    for i, (a, b) in enumerate(zip(expected, found)):
        if not (a == b or abs(a - b) <= 1e-7 * max(abs(a), abs(b), floor)):
            return "number %d is %.12g here" % (i + 1, a)
    return None if len(expected) == len(found) else "%d numbers here" % len(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluate", required=True)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20261124)
    args = parser.parse_args()
    cases, drawn = Cases(args.seed), []
    for kind in KINDS:
        for _ in range(max(1, args.cases // SLOW.get(kind, 1))):
            drawn.append((kind, *getattr(cases, kind)()))
    lines = "".join("%s %s\n" % (kind, " ".join("%.17g" % v for v in values))
                    for kind, values, _ in drawn)
    out = subprocess.run([args.evaluate], input=lines, capture_output=True, text=True, check=True)
    failed, refused = 0, 0
    for (kind, values, expected), line in zip(drawn, out.stdout.splitlines(), strict=True):
        found = None if line == "refused" else [float(v) for v in line.split()]
        refused += found is None
        what = difference(expected, found)
        if what:
            failed += 1
            print("%s: %s\n    in  %s\n    out %s" % (kind, what, values, line))
    print("%d cases, %d of them refused by both; %d differ" % (len(drawn), refused, failed))
    return 1 if failed or refused * 4 > len(drawn) else 0


if __name__ == "__main__":
    sys.exit(main())
