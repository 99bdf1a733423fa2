"""What the random comparisons share: cases from seeds, their verdicts, shrinking, and the programs that answer.

A case is a JSON value, drawn from a generator that its seed, kind and number alone determine. A kind makes files and
requests of it and judges what multicard and the peers make of these. What is missing in a case has a default, so that
any part of it can be left out: that is how a case that differs is made small.
"""

import json
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

EQUAL, REFUSED, SAID, PEER_REFUSES, DIFFERENT = "equal", "refused", "said", "refused by the peer alone", "DIFFERENT"


class Verdict(NamedTuple):
    """What became of a case; `why` is the message for REFUSED and SAID, what differs for DIFFERENT."""
    what: str
    why: str = ""


class Kind:
    """A kind of cases. `folder` is an empty folder for each call."""
    name = ""

    def draw(self, draw):
        """A case, as a JSON value."""
        raise NotImplementedError

    def judge(self, case, folder):
        """A Verdict."""
        raise NotImplementedError

    def close(self):
        """Ends what the kind has started."""


class Program:
    """A program of multicard that answers each line of JSON by another one. What it logs meanwhile is kept apart."""

    def __init__(self, *words):
        self.words, self.process, self.log = words, None, None

    def start(self):
        # pylint: disable-next=consider-using-with
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, encoding="utf-8")

    def ask(self, **request):
        """The answer, and what was logged. A program that ends instead is started again at the next request."""
        if not self.process:
            self.start()
        before = self.log.seek(0, 2)
        line = ""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            return {"crash": f"{self.words[0]} ended with {self.close()}"}, ""
        self.log.seek(before)
        return json.loads(line), self.log.read()

    def close(self):
        """Ends the program. Its exit code, None where it has not been started."""
        if not self.process:
            return None
        process, self.process = self.process, None
        try:
            process.communicate()
        except BrokenPipeError:
            pass
        self.log.close()
        return process.wait()


def words_of(value):
    """The keys and texts of a JSON value: what a message about it may name."""
    if isinstance(value, dict):
        return set(value).union(*(words_of(part) for part in value.values()))
    if isinstance(value, list):
        return set().union(*(words_of(part) for part in value))
    return {value} if isinstance(value, str) else set()


def names_one_of(message, words):
    """Whether a message names one of these words."""
    return any(len(word) > 1 and word in message for word in words)


def reason(message):
    """A message without what is particular to its case."""
    line = message.strip().splitlines()[0] if message.strip() else ""
    line = re.sub(r"\S*/\S*", "PATH", line)
    line = re.sub(r'"(?:[^"\\]|\\.)*"', '"..."', line)
    return re.sub(r"\d+", "N", line)[:160]


def parts_left_out(values):
    """Shorter lists: each half, then without each element."""
    if len(values) > 2:
        half = len(values) // 2
        yield from (values[:half], values[half:])
    for i in range(len(values)):
        yield values[:i] + values[i + 1:]


def simpler(value):
    """Values that are a step simpler, the largest steps first."""
    if isinstance(value, dict):
        yield from ({key: value[key] for key in value if key != one} for one in value)
        for key, part in value.items():
            yield from ({**value, key: less} for less in simpler(part))
    elif isinstance(value, list):
        yield from parts_left_out(value)
        for i, part in enumerate(value):
            yield from (value[:i] + [less] + value[i + 1:] for less in simpler(part))
    elif isinstance(value, str):
        yield from parts_left_out(value)
    elif isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, (int, float)) and value > 1:
        yield value // 2
        yield value - 1


def verdict_of(kind, case):
    with tempfile.TemporaryDirectory(prefix="multicard-random-") as folder:
        return kind.judge(case, Path(folder))


def shrunk(kind, case, seconds=60):
    """A small case that differs too, in the same way: what stands before a colon in the verdict is equal."""
    end, way = time.monotonic() + seconds, verdict_of(kind, case).why.partition(":")[0]
    is_smaller = True
    while is_smaller and time.monotonic() < end:
        is_smaller = False
        for less in simpler(case):
            if time.monotonic() > end:
                break
            try:
                verdict = verdict_of(kind, less)
            except Exception:  # pylint: disable=broad-except  # what is left makes no case
                continue
            if verdict.what == DIFFERENT and verdict.why.partition(":")[0] == way:
                case, is_smaller = less, True
                break
    return case


class Tally:
    """What the cases of a kind came to."""

    def __init__(self, name):
        self.name, self.counts, self.reasons, self.failures = name, Counter(), Counter(), []

    def add(self, verdict):
        self.counts[verdict.what] += 1
        if verdict.what not in (EQUAL, DIFFERENT):
            self.reasons[verdict.what, reason(verdict.why)] += 1

    def rows(self):
        """Lines of the table in docs/reliability.md."""
        total = sum(self.counts.values())
        yield f"| {self.name} | {total} | " + " | ".join(
            str(self.counts[what]) for what in (EQUAL, REFUSED, SAID, PEER_REFUSES, DIFFERENT)) + " |"
        for (what, why), count in self.reasons.most_common():
            yield f"    {count:5} {what}: {why}"


def case_of(kind, seed, number):
    return kind.draw(random.Random(f"{seed}/{kind.name}/{number}"))


def run(kind, seed, numbers):
    """Compares these cases; prints those that differ, made small, and returns the tally."""
    tally = Tally(kind.name)
    for number in numbers:
        case = case_of(kind, seed, number)
        verdict = verdict_of(kind, case)
        tally.add(verdict)
        if verdict.what != DIFFERENT:
            continue
        tally.failures.append(number)
        if len(tally.failures) > 3:
            continue
        small = shrunk(kind, case)
        print(f"{kind.name}: case {number} differs: {verdict.why}\n"
              f"  again with: tests/peers/random/run.sh --seed {seed} --case {number} {kind.name}\n"
              f"  shrunk: {json.dumps(small)}\n  which gives: {verdict_of(kind, small).why}", flush=True)
    return tally
