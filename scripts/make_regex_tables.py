#!/usr/bin/env python3
"""Writes the tables of modules/text/unicode: which characters the classes of Oniguruma hold, as the tokenizers library
has them, asked character by character.

    bash -c '. scripts/lib.sh; . scripts/peers.sh; find_torch_python; with_peers $python scripts/make_regex_tables.py'

Takes some minutes. clang-format lays the files out.
"""

import itertools
import os
import subprocess

import tokenizers
from tokenizers import Regex, pre_tokenizers

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "modules", "text",
                      "unicode")
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()
FLAGS = "Alphabetic Lowercase Uppercase".split()
SCRIPTS = """Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
    Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian
    Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan
    Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi
    Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited
    Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi
    Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian
    Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
    Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari
    New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian
    Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong
    Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham
    SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le
    Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Todhri Toto Tulu_Tigalari
    Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square Unknown""".split()

CHARACTERS = [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
TEXT = "".join(map(chr, CHARACTERS))


def members(pattern, text=TEXT):
    """For each character of the text, whether it is in the class."""
    split = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed")
    inside = bytearray(b"\1") * len(text)
    for _, (begin, end) in split.pre_tokenize_str(text):
        inside[begin:end] = bytes(end - begin)
    return inside


def runs(values):
    """(length, value) of equal neighbours over 0..10FFFF; surrogates, which no text holds, go with what precedes."""
    whole = list(values[:0xD800]) + [values[0xD7FF]] * 0x800 + list(values[0xD800:])
    return [(len(list(group)), value) for value, group in itertools.groupby(whole)]


def one_of(names):
    result = [None] * len(CHARACTERS)
    for number, name in enumerate(names):
        for place, is_inside in enumerate(members(rf"\p{{{name}}}")):
            if is_inside:
                assert result[place] is None, (name, hex(CHARACTERS[place]))
                result[place] = number
    assert None not in result, hex(CHARACTERS[result.index(None)])
    return result


def classes():
    values = one_of(CATEGORIES)
    for number, flag in enumerate(FLAGS):
        for place, is_inside in enumerate(members(rf"\p{{{flag}}}")):
            values[place] |= is_inside << (5 + number)
    return values


def fold_groups():
    """The sets of single characters that (?i) takes for equal."""
    candidates = list(itertools.compress(TEXT, members(r"[\p{LC}\p{Lm}\p{M}\p{Nl}\p{So}\p{No}]")))
    spread = "\0".join(candidates)  # so that a fold to several characters is not met
    groups, seen = [], set()
    for character in candidates:
        if character not in seen:
            group = list(itertools.compress(spread, members(rf"(?i:[\x{{{ord(character):x}}}])", spread)))
            assert character in group, hex(ord(character))
            seen.update(group)
            if len(group) > 1:
                groups.append(sorted(map(ord, group)))
    return sorted(groups)


def shifts(groups):
    """Pairs (first of a group, another) as runs: begin, end, stride, distance."""
    pairs = sorted((other - group[0], group[0]) for group in groups for other in group[1:])
    result = []
    for distance, first in pairs:
        if result and result[-1][3] == distance:
            begin, end, stride, _ = result[-1]
            step = first - end
            if step in (1, 2) and (begin == end or step == stride):
                result[-1] = [begin, first, step, distance]
                continue
        result.append([first, first, 1, distance])
    return sorted(result)


def long_folds():
    """Characters that (?i) takes for several others."""
    result = []
    for character in TEXT:
        fold = character.casefold()
        if len(fold) == 1:
            continue
        split = pre_tokenizers.Split(Regex(f"(?i:{fold})"), "removed")
        assert not split.pre_tokenize_str(character) and not split.pre_tokenize_str(fold), hex(ord(character))
        result.append((ord(character), [*map(ord, fold)] + [0] * (3 - len(fold))))
    return result


def write(name, body):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"// Made by scripts/make_regex_tables.py from tokenizers {tokenizers.__version__}.\n\n"
                   '#include "text/unicode/UnicodeTables.hpp"\n\nnamespace multicard {\n\n' + body +
                   "\n}  // namespace multicard\n")
    subprocess.run(["clang-format", "-i", path], check=True)


def main():
    values = runs(classes())
    write("UnicodeClassTable.cpp", f"const std::array<std::uint32_t, {len(values)}> kClassRuns{{" +
          ", ".join(str(length << 8 | value) for length, value in values) + "};\n"
          "const std::span<const std::uint32_t> kUnicodeClasses = kClassRuns;\n")
    values = runs(one_of(SCRIPTS))
    write("UnicodeScriptTable.cpp", f"const std::array<std::string_view, {len(SCRIPTS)}> kNames{{" +
          ", ".join(f'"{name.replace("_", "").lower()}"' for name in SCRIPTS) + "};\n\n"
          f"const std::array<std::uint32_t, {len(values)}> kScriptRuns{{" +
          ", ".join(str(length << 8 | value) for length, value in values) + "};\n"
          "const std::span<const std::uint32_t> kUnicodeScripts = kScriptRuns;\n"
          "const std::span<const std::string_view> kScriptNames = kNames;\n")
    groups, longs = shifts(fold_groups()), long_folds()
    write("CaseFoldTable.cpp", f"const std::array<CaseShift, {len(groups)}> kShifts{{{{" +
          ", ".join("{%d, %d, %d, %d}" % tuple(one) for one in groups) + "}};\n"
          "const std::span<const CaseShift> kCaseShifts = kShifts;\n\n"
          f"const std::array<LongFold, {len(longs)}> kFolds{{{{" +
          ", ".join("{%d, {%d, %d, %d}}" % (one, *fold) for one, fold in longs) + "}};\n"
          "const std::span<const LongFold> kLongFolds = kFolds;\n")


if __name__ == "__main__":
    main()
