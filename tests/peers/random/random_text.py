"""Texts that tokenizers find hard: white space, controls, marks, scripts, emoji, pieces of tokens."""

WORDS = ["the", "The", "THE", "hello", "world", "it's", "don't", "naïve", "Zürich", "1234", "3.14", "a", "I'm", "we'LL",
         "x" * 20, "foo_bar", "e.g.", "http://a.b/c?d=e", "user@example.com", "$100", "50%", "<b>", "```",
         "don’t", "“quoted”", "…",
         "def f(x):", "\\n", "C++", "2024-07-26", "ǅ", "ﬁne", "İstanbul", "STRASSE", "straße", "ſ", "K",
         "Å", "ﷺ", "½", "²"]
SPACES = [" ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u2003", "\u2028", "\u3000", "\u200b",
          "\x0b", "\x85",
          "\u1680", " \n", "\n ", "\ufeff", "▁"]
CHARACTERS = ["é", "é", "ö", "\u0301", "\u0327", "\u0345", "中", "文", "こ", "ん", "カ", "ﾞ", "한", "ᄒ", "ᅡ", "ᆫ", "س",
              "ل", "ا", "ש",
              "ह", "ि", "ก", "ำ", "😀", "👩‍👩‍👧", "🇫🇷", "👍🏽", "❤️", "\u200d", "\ufe0f", "٣", "߅",
              "Ⅷ", "①", "ª", "€", "¡", "¿", "«", "\u00ad",
              "\x00", "\x01", "\x1b", "\x1f", "\x7f", "\u0378", "\ue000", "\U0010ffff", "\U000e0001", "𝒜", "𐐀",
              "\ufffd", "\uffff",
              "ǆ", "Σ", "ς", "ß", "ẞ", "ı", "ŉ", "ΐ", "Ω", "Ω", "豈", "\U0002f800",
              "゛", "〱", "¨", "´", "\u0344", "\u0958", "丽"]


def random_text(draw, pieces=()):
    """A text; `pieces` are contents of tokens, which it may hold."""
    parts = []
    for _ in range(draw.choice([0, 1, 2, 4, 8, 16, 30])):
        kind = draw.random()
        if kind < 0.35:
            parts.append(draw.choice(WORDS))
        elif kind < 0.65:
            parts.append(draw.choice(SPACES))
        elif kind < 0.85:
            parts.append(draw.choice(CHARACTERS))
        elif kind < 0.95 and pieces:
            parts.append(draw.choice(pieces))
        else:
            code = draw.choice([draw.randrange(0x20, 0x7f), draw.randrange(0xd800), draw.randrange(0xe000, 0x20000)])
            parts.append(chr(code))
    return "".join(parts)
