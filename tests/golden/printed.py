"""Printed numbers: whether each is a rounding of a known one."""

import math
import re

UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
NUMBER = re.compile(r"(?<![\w.])([−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w])"
                    r"(?:[\s\u00a0]?(%|points\b|ms\b|[kMGT]?B\b))?")
# What no number stands for: how intervals are named, units, and "< 0.1 %".
WORDS = re.compile(r"95[\s\u00a0]%( interval)?|\bR0\b|\bFP\d+\b|\bint4\b")


def is_rounding(text, value):
    """Whether `text`, without its unit, is `value` rounded at the printed precision."""
    text = text.replace(",", "").replace("−", "-")
    mantissa, _, exponent = text.partition("e")
    digits = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - digits)
    return abs(float(text) - value) <= half * (1 + 1e-9) + 1e-12 * abs(value)


def scales(unit, in_thousands=False):
    """What a known number may be multiplied by before it is printed with `unit`."""
    if unit in ("%", "points"):
        return [100.0]
    if unit in UNITS:
        return [1 / UNITS[unit]]
    return [1.0, 1000.0] if unit == "ms" else [1.0]


def numbers_in(text, names=()):
    """(printed, unit) of every number of a sentence, without those in names, the longest of which go first."""
    for name in sorted({name for name in names if name}, key=len, reverse=True):
        text = text.replace(name, " ")
        text = text.replace(name[0].upper() + name[1:], " ")
    text = WORDS.sub(" ", text).replace("–", " – ").replace("×", " ")
    small = re.search(r"<\s0\.1[\s\u00a0]%", text)
    out = [("0.1", "<")] if small else []
    text = re.sub(r"<\s0\.1[\s\u00a0]%", " ", text)
    return out + [(match.group(1), match.group(2) or "") for match in NUMBER.finditer(text)]


def unexplained(text, names, numbers):
    """The printed numbers that are no rounding of any of `numbers`."""
    known = [value for value in numbers if value is not None and math.isfinite(value)]
    out = []
    for printed, unit in numbers_in(text, names):
        if unit == "<":
            if not any(0 < abs(value) < 0.001 for value in known):
                out.append("< 0.1 %")
            continue
        if not any(is_rounding(printed, scale * value) for value in known for scale in scales(unit)):
            out.append(printed + " " + unit)
    return out
