"""The splits of patterns around every character, against Oniguruma as the tokenizers library has it.

    tests/peers/run.sh splits_test.py [CLASS]
    ... splits_test.py --oracle FILE     writes the oracle of the unit test (tests/data/tokenizers/oracles/splits.json)

The unit test compares every assigned character with the library's answers as they were stored. Here a sample of them
is compared with the library itself, alone and in contexts; scripts/test.sh --full takes every assigned one alone, and
MULTICARD_ALL_CHARACTERS=1 all of Unicode in all contexts.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
import unittest

import tokenizers
from tokenizers import Regex, pre_tokenizers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
O200K_LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
O200K_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
# Patterns of published tokenizers.
TOKENIZERS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
              r"|\s+(?!\S)|\s+",
    "llama3": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?{O200K_LOWER}{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{O200K_UPPER}{CONTRACTIONS}?"
             r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "deepseek newlines": r"[\r\n]",
    "deepseek letters": r"\s?\p{L}+",
    "deepseek punctuation": r"\s?\p{P}+",
    "deepseek cjk": "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    "deepseek v3 cjk": "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "deepseek v3": r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
                   r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    "digits by three": r"\p{N}{1,3}+|\d{1,3}(?=(?:\d{3})*\b)|[!-/:-~]+",
}
CLASSES = {name: pattern for pattern in (
    [rf"\{letter}+" for letter in "wWdDsShH"] + [rf"[\{letter}]+|[^\{letter}.]" for letter in "wWdsh"] +
    [f"[[:{name}:]]+" for name in
     "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()] +
    [f"[[:^{name}:]a]+" for name in ("punct", "word", "print")] +
    [rf"\p{{{name}}}+" for name in
     "L M N P S Z C Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn LC Han"
     " Hiragana Katakana Hangul Latin Cyrillic Greek Arabic Hebrew Thai Devanagari Common Inherited Alphabetic"
     " Uppercase Lowercase White_Space Word Punct Alnum Graph Print".split()] +
    [r"\P{L}+", r"\p{^N}+", r".+", r"(?m:.)+", r"^.", r".$", r"\b", r"\B", r"\R", r"[\p{L}&&[^\p{Latin}]]+",
     r"[\w\p{P}&&\p{Ll}_]+", r"(?i:[a-z]+)", r"(?i:[^a-z]+)", r"(?i:[\p{Lu}]+)", r"(?i:[^\p{Lu}]+)", r"(?i:\p{Lu}+)",
     r"(?i:[k\x{e5}\x{3b8}\x{1e9b}]+)", r"(?i:ss)", r"(?i:[[:lower:]]+)"]) for name in [pattern]}
CONTEXTS = [("", ""), ("a", "b"), ("1", "2"), (" ", " "), ("\n", "\n"), ("'", "'s"), ("\u0301", "\u0301"), ("A ", "a"),
            ("S", "s"), (" .", "\r\n"), ("\u4e2d", "'\u017f")]
SOME_CONTEXTS = [CONTEXTS[i] for i in (0, 1, 4, 5, 6)]
ASSIGNED = [(0, 0x3FFFF), (0xE0000, 0xE0FFF)]
ALL = [(0, 0x10FFFF)]
SAMPLE = [(0, 0x2FFF)] + [(first, first + 63) for first in range(0x3000, 0x40000, 0x400)]
ALONE, IN_CONTEXTS = ((ALL, ASSIGNED) if os.environ.get("MULTICARD_ALL_CHARACTERS") else
                      (ASSIGNED, SAMPLE) if os.environ.get("MULTICARD_TEST_FULL") == "1" else (SAMPLE, SAMPLE))


def library_lengths(pattern, texts, separator):
    """For each text the lengths of its parts. The texts may not hold the separator."""
    split = pre_tokenizers.Sequence([pre_tokenizers.Split(separator, "removed"),
                                     pre_tokenizers.Split(Regex(pattern), "isolated")])
    result, number, end_of_text, begin = [""] * len(texts), -1, 0, 0
    for _, (first, end) in split.pre_tokenize_str(separator.join(texts)):
        while first >= end_of_text:
            number += 1
            begin, end_of_text = end_of_text, end_of_text + len(texts[number]) + 1
        result[number] += f" {end - first}"
    return result


def library_walk(pattern, context, ranges):
    """As split_walk of tests/unit/text/SplitWalk.hpp."""
    before, after = context
    codes = [code for first, last in ranges for code in range(first, last + 1) if not 0xD800 <= code <= 0xDFFF]
    lengths = []
    for begin in range(0, len(codes), 1 << 16):
        part = codes[begin:begin + (1 << 16)]
        separator = next(one for one in "\ue000\U000ffffd" if not part[0] <= ord(one) <= part[-1])
        lengths += library_lengths(pattern, [before + chr(code) + after for code in part], separator)
    lines, last = [], None
    for code, length in zip(codes, lengths):
        if length != last:
            lines.append(f"{code:06x}{length}\n")
        last = length
    return "".join(lines)


class Peer:
    """The program peer_splits."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["MULTICARD_PEER_SPLITS"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Walks(unittest.TestCase):
    def compare(self, patterns, contexts, ranges):
        with Peer() as peer:
            for name, pattern in patterns.items():
                answers = peer.ask(pattern=pattern, contexts=contexts, ranges=ranges)
                self.assertIsInstance(answers, list, f"{name}: {answers}")
                for context, ours in zip(contexts, answers):
                    with self.subTest(pattern=name, context=context):
                        theirs = library_walk(pattern, context, ranges)
                        if ours != theirs:
                            differing = sorted(set(ours.splitlines()) ^ set(theirs.splitlines()))
                            self.fail(f"{len(differing)} lines differ: {differing[:20]}")


class PublishedPatterns(Walks):
    def test_split_around_every_character_as_the_library_does(self):
        self.compare(TOKENIZERS, CONTEXTS[:1], ALONE)

    def test_split_in_contexts_as_the_library_does(self):
        self.compare(TOKENIZERS, CONTEXTS[1:], IN_CONTEXTS)


class Classes(Walks):
    def test_hold_the_characters_that_they_hold_in_the_library(self):
        self.compare(CLASSES, CONTEXTS[:1], ALONE)

    def test_hold_them_in_contexts(self):
        names = (r"\w+", r"\b", r"(?i:[a-z]+)", r"(?i:ss)", "[[:punct:]]+", "^.")
        self.compare({name: CLASSES[name] for name in names}, SOME_CONTEXTS[1:], IN_CONTEXTS)


TEXTS = [
    "", "abcde1", "aaaaa", "aa{1, 2}a", "12345678", "a\nb", "a\r\n\nb", "\u00df\u1e9eSS\u017fs",
    "ass A\u00df \u00dfa ssa sss", "first \ufb01rst fir\ufb06 FIRST 'st '\ufb06", "ffi \ufb03 \ufb00i f\ufb01",
    "aBaCc AbC", "Kk\u212a \u017f\u00e5\u212b", "ab cd, e_f-g\u00b2h", "]a[b^-", "&a&&b",
    "\u03b1\u03b9 \u1fb3 \u1fbc \u0391\u0399", "\u03b8\u03f4\u03d1\u0398", "e\u0301\u0308x", "\x0b\x0c\t \x85\u2028",
    "i\u0307\u0130Iı", "abab", "xxab", "{a}{1}{x", "\u4e2d\u6587 text\u3002", "it's IT'S it'\u017f we'RE", "a.b$c+d=e"]
PATTERNS = [
    r"[a-z]{1,2}+", r"a{2}?", r"a{,2}", r"a{1, 2}", r"a{1}{2}", r"a{1,2}*", r"a+?", r"a++", r"a?+a", r"\d{1,3}?",
    r"\p{N}{3}+", r"\p{N}{1,}+", r"a{x}", r"a{", r"}", r"]", r"a{,}", r"(?m:a.b)", r"(?i:ss)", r"(?i:\x{df})",
    r"(?i:[\x{df}])", r"(?i:[\x{df}s])$", r"(?i:[^\x{df}])", r"(?i:ass)", r"(?i:ssa)", r"(?i:sss)", r"(?i:first)",
    r"(?i:'st)", r"(?i:fi|x)", r"(?i:ffi)", r"(?i:ff)", r"(?i:a\x{df}a)", r"(?i:ss?)", r"(?i:s{2})", r"(?i:s(?#c)s)",
    r"(?i)ss", r"(?i:\x{3b1}\x{3b9})", r"(?i:\x{1fb3})", r"(?i:[\x{3b1}-\x{3c9}]+)", r"(?i:[\x{1f80}-\x{1faf}]+)",
    r"(?i:[\x{e0}-\x{fe}]+)", r"(?i:[\s\S])s", r"(?i:.)s", r"(?i:[^\s]+)s", r"a(?i)b|c", r"(?:a(?i)b|c)C",
    r"(?i)(?-i:a)b", r"(?i-m:A)", r"\v+", r"\h+", r"\R", r"\N+", r"\O+", r"\0|a", r"\e|\a|\f|\t", r"\Q.\E",
    r"\m|\-|\_", r"[]a]+", r"[^]a]+", r"[a[bc]d]+", r"[a-d&&[^b]]+", r"[^a-c&&b-d]+", r"[a&&b]", r"[&&]", r"[&a]",
    r"[a-]", r"[-a]", r"[a\-z]", r"[\]\[]", r"[\b]", r"[\q]", r"[\x{41}-\x{43}]", r"[\x41-C]", r"\p{letter}+",
    r"\p{ Upper case }", r"\P{^L}+", r"\p{Uppercase_Letter}", r"(?<n>a)b", r"(a)b", r"a\Z|b\z|\Aa", r"^a|b$",
    r"(?<=a|b)[a-z]", r"(?<!a)b", r"(?=b)", r"(?>a+)a", r"\s+(?!\S)|\s+", r"[^\S\r\n]+", r"(?:)", r"a|", r"\b\w",
    r"\w\b", r"\B", r"\bss\b", r"[[:punct:]\s]+", r"[\w-]+", r"(?i:[k-l])", r"(?i:\x{212a})", r"(?i:i)",
    r"(?i:\x{130})", r"(?i:[\w])s", r"(?i:\w)s", r"\p{Han}+|\p{Greek}+", r"(?i:[a[\x{df}]]+)", r"(?i:\x{df}s)",
    r"(?i:[[^k]]+)", r"(?i:[^\W]+)"]
# Oniguruma accepts some of these; they are refused instead of being read differently.
REFUSED = [
    r"(", r")", r"[", r"[a", r"[]", r"a{2,1}", r"+a", r"a|*b", r"a**", r"(a)\1", r"\101", r"\X", r"\y", r"\K", r"\G",
    r"\cA", r"(?s:.)", r"(?x: a)", r"(?~ab)", r"(*FAIL)", r"[[:foo:]]", r"[a-\d]", r"[\d-x]", r"[a-c-e]", r"[z-a]",
    r"\p{Klingon}", r"\p{Emoji}", r"\xe9", r"^*", r"(?=a)*", r"\x{d800}", r"[[]a]]", "a\\"]


class Syntax(unittest.TestCase):
    def test_is_read_as_the_library_reads_it(self):
        with Peer() as peer:
            for pattern in PATTERNS:
                with self.subTest(pattern=pattern):
                    ours = peer.ask(pattern=pattern, texts=TEXTS)
                    split = pre_tokenizers.Split(Regex(pattern), "isolated")
                    theirs = ["".join(f" {len(part)}" for part, _ in split.pre_tokenize_str(text)) for text in TEXTS]
                    self.assertIsInstance(ours, list, ours)
                    for text, one, other in zip(TEXTS, ours, theirs):
                        self.assertEqual(one, other, text)

    def test_that_is_not_translated_is_refused(self):
        with Peer() as peer:
            for pattern in REFUSED:
                with self.subTest(pattern=pattern):
                    self.assertIn("refused", peer.ask(pattern=pattern, texts=[]))


class RandomTexts(unittest.TestCase):
    def test_are_split_as_the_library_splits_them(self):
        draw = random.Random(1)
        pool = [*" \n\r\t'.,!/azAZsStT01\u00e9\u00df\u017f\u212a\u4e2d\u3042\u0430\u0627\u0301\u00b2\u2167\u200d\u3000",
                "'s", "'RE", "\r\n", "  ", "\U0001f600", "\u0378", "\U00010d50", "\U000323b0", "\U0001e5d0",
                "\ua7cb"]
        texts = ["".join(draw.choices(pool, k=draw.randint(1, 40))) for _ in range(1500)]
        ranges = [(0, 0x300), (0, 0xD800), (0x10000, 0x20000)]
        texts += ["".join(chr(draw.randrange(*draw.choice(ranges))) for _ in range(draw.randint(1, 40)))
                  for _ in range(1500)]
        with Peer() as peer:
            for name, pattern in {**TOKENIZERS, **{one: one for one in PATTERNS}}.items():
                with self.subTest(pattern=name):
                    split = pre_tokenizers.Split(Regex(pattern), "isolated")
                    for text, ours in zip(texts, peer.ask(pattern=pattern, texts=texts)):
                        theirs = "".join(f" {len(part)}" for part, _ in split.pre_tokenize_str(text))
                        self.assertEqual(ours, theirs, ascii(text))


def write_oracle(path):
    patterns = dict(TOKENIZERS)
    for name in (r"\w+", r"[\w]+|[^\w.]", r"\b", "[[:punct:]]+", "[[:alnum:]]+", "[[:upper:]]+", r"(?i:[a-z]+)",
                 r"(?i:[^\p{Lu}]+)", r"(?i:ss)", r"\p{Han}+", r"\p{Latin}+"):
        patterns[name] = CLASSES[name]
    walks = []
    for name, pattern in patterns.items():
        digests = [hashlib.sha256(library_walk(pattern, context, ASSIGNED).encode()).hexdigest()
                   for context in SOME_CONTEXTS]
        walks.append({"name": name, "pattern": pattern, "sha256": digests})
    syntax = [[pattern, ["".join(f" {len(part)}" for part, _ in
                                 pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text))
                         for text in TEXTS]] for pattern in PATTERNS]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"about": {"made_by": "tests/peers/splits_test.py --oracle", "tokenizers": tokenizers.__version__},
                   "contexts": SOME_CONTEXTS, "ranges": ASSIGNED, "walks": walks, "texts": TEXTS, "syntax": syntax,
                   "refused": REFUSED}, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--oracle"]:
        write_oracle(sys.argv[2])
    else:
        unittest.main()
