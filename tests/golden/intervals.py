"""Numbers with 95 % intervals, from their definitions in docs/report.md."""

import math
from dataclasses import dataclass

import numpy as np

NONE = float("nan")
NORMAL = 1.959963984540054  # the normal distribution's quantile at 0.975


@dataclass
class Estimate:
    value: float = NONE
    low: float = NONE
    high: float = NONE
    values: int = 0
    over: str = "none"

    @property
    def known(self):
        return math.isfinite(self.value)

    @property
    def certain(self):
        """Whether there is an interval."""
        return math.isfinite(self.low)

    def scaled(self, factor):
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.values, self.over)

    def inverse(self, factor):
        """factor / x."""
        if not self.known:
            return Estimate()
        return Estimate(factor / self.value, factor / self.high, factor / self.low, self.values, self.over)


def differ(one, other):
    """Significantly: their intervals do not overlap."""
    return one.certain and other.certain and (one.low > other.high or other.low > one.high)


def order_of_median(count):
    """k: the largest with 1 - 2 P(Bin(n, 1/2) <= k - 1) >= 0.95; 0 where there is none."""
    best = 0
    for k in range(1, count // 2 + 1):
        if 1 - 2 * sum(math.comb(count, i) for i in range(k)) / 2 ** count >= 0.95:
            best = k
    return best


def of_steps(values):
    values = sorted(float(value) for value in values)
    if not values:
        return Estimate()
    k = order_of_median(len(values))
    if k == 0:
        return Estimate(float(np.median(values)), values=len(values))
    return Estimate(float(np.median(values)), values[k - 1], values[-k], len(values), "steps")


def student(freedom):
    """The quantile of Student's t at 0.975, by integrating its density."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    # With t = sqrt(n) tan(a) the density is scale cos(a)^(n - 1) da.
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def within(t):
        end = math.atan(t / math.sqrt(freedom))
        return 2 * scale * end / 2 * float(weights @ np.cos(end / 2 * (nodes + 1)) ** (freedom - 1))

    low, high = 1.9, 13.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 0.95 else (low, middle)
    return (low + high) / 2


def of_repeats(repeats):
    """Of Estimates, one a repeat: a single one keeps its own interval."""
    repeats = [repeat for repeat in repeats if repeat.known]
    if not repeats:
        return Estimate()
    if len(repeats) == 1:
        return repeats[0]
    values = sorted(repeat.value for repeat in repeats)
    out = Estimate(float(np.median(values)), values=len(values), over="repeats")
    if len(values) >= 6:
        k = order_of_median(len(values))
        out.low, out.high = values[k - 1], values[-k]
    elif min(values) > 0:
        logs = np.log(values)
        half = student(len(values) - 1) * logs.std(ddof=1) / math.sqrt(len(values))
        out.low, out.high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    return out


def of_share(hits, count):
    """Wilson's score interval."""
    if count <= 0:
        return Estimate()
    share, z2 = hits / count, NORMAL ** 2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = NORMAL * math.sqrt(share * (1 - share) / count + z2 / (4 * count ** 2)) / (1 + z2 / count)
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), count)


def ratio(x, y, factor=1.0):
    """Relative errors add in quadrature."""
    if not (x.known and y.known):
        return Estimate()
    out = Estimate(factor * x.value / y.value, values=min(x.values, y.values))
    if x.certain and y.certain:
        down = math.hypot(math.log(x.value / x.low), math.log(y.high / y.value))
        up = math.hypot(math.log(x.high / x.value), math.log(y.value / y.low))
        out.low, out.high = out.value * math.exp(-down), out.value * math.exp(up)
        out.over = "repeats" if x.over == y.over == "repeats" else "steps"
    return out


def of_ratios(cells):
    """The effect of an option: a list of ratios for each cell."""
    logs = [np.log(ratios) for ratios in cells if len(ratios)]
    if not logs:
        return Estimate()
    means, count = np.array([one.mean() for one in logs]), sum(len(one) for one in logs)
    out = Estimate(math.exp(means.mean()), values=count)
    freedom = count - len(logs)
    if freedom > 0:
        pooled = sum(((one - one.mean()) ** 2).sum() for one in logs) / freedom
        half = student(freedom) * math.sqrt(pooled * sum(1 / len(one) for one in logs)) / len(logs)
        out.over = "repeats"
    elif len(logs) > 1:
        freedom = len(logs) - 1
        half = student(freedom) * means.std(ddof=1) / math.sqrt(len(logs))
        out.over = "cells"
    else:
        return out
    out.low, out.high = math.exp(means.mean() - half), math.exp(means.mean() + half)
    return out
