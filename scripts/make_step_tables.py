#!/usr/bin/env python3
"""Writes modules/text/unicode/UnicodeStepTable.cpp: the characters that normalizers and the steps Digits and
Punctuation of the tokenizers library know, asked character by character. They are those of several versions of Unicode,
9 to 17.

    bash -c '. scripts/lib.sh; . scripts/peers.sh; find_torch_python; with_peers $python scripts/make_step_tables.py'
"""

import os
import subprocess
import unicodedata

import tokenizers
from tokenizers import normalizers, pre_tokenizers

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "modules", "text", "unicode",
                    "UnicodeStepTable.cpp")
CHARACTERS = [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
NFD, NFKD = normalizers.NFD(), normalizers.NFKD()


def is_normalized(code):
    """Whether the library decomposes the character or gives it a combining class. U+0345 has the largest."""
    one = chr(code)
    return code == 0x345 or NFKD.normalize_str(one) != one or NFD.normalize_str(f"a\u0345{one}") == f"a{one}\u0345"


def is_plain(code):
    """Whether no version of Unicode does, because the character is known and those of known ones never change."""
    one = chr(code)
    return unicodedata.category(one) != "Cn" and not unicodedata.combining(one) and \
        unicodedata.normalize("NFKD", one) == one


def is_split_by(step):
    return lambda code: len(step.pre_tokenize_str(f"a{chr(code)}a")) > 1


def ranges(is_member, fills=lambda code: False):
    """Ranges of members; what `fills` may stand between them."""
    result = []
    for code in CHARACTERS:
        if is_member(code):
            if result and (result[-1][1] == code - 1 or all(map(fills, range(result[-1][1] + 1, code)))):
                result[-1][1] = code
            else:
                result.append([code, code])
    return result


def small_letters():
    """Capitals of which Unicode 14 does not know the small letter, as runs of one distance: begin, end, distance."""
    lower, result = normalizers.Lowercase(), []
    for code in CHARACTERS:
        small = lower.normalize_str(chr(code))
        if len(small) == 1 and small != chr(code) and chr(code).lower() == chr(code):
            distance = ord(small) - code
            if result and result[-1][1] == code - 1 and result[-1][2] == distance:
                result[-1][1] = code
            else:
                result.append([code, code, distance])
    return result


def table(name, kind, rows):
    body = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    return (f"const std::array<{kind}, {len(rows)}> k{name}Rows{{{{{body}}}}};\n"
            f"const std::span<const {kind}> k{name} = k{name}Rows;\n\n")


def main():
    digits, punctuation = pre_tokenizers.Digits(True), pre_tokenizers.Punctuation()
    marks = normalizers.StripAccents()
    kind = "CodePointSet::Range"
    body = (table("NormalizedCharacters", kind, ranges(is_normalized, is_plain)) +
            table("Marks", kind, ranges(lambda code: not marks.normalize_str(chr(code)))) +
            table("Numbers", kind, ranges(is_split_by(digits))) +
            table("Punctuation", kind, ranges(is_split_by(punctuation))) +
            table("SmallLetters", "SmallLetter", small_letters()))
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(f"// Made by scripts/make_step_tables.py from tokenizers {tokenizers.__version__}.\n\n"
                   '#include "text/unicode/UnicodeTables.hpp"\n\nnamespace multicard {\n\n' + body +
                   "}  // namespace multicard\n")
    subprocess.run(["clang-format", "-i", PATH], check=True)


if __name__ == "__main__":
    main()
