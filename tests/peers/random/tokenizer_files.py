"""Files tokenizer.json of small vocabularies, with parts drawn from all that the tokenizers library has."""

from random_text import CHARACTERS, WORDS, random_text

PATTERNS = [r"\s+", r"\p{N}{1,3}", r"\w+|[^\w\s]+", "[aeiou]", r"'s|'t", "$",
            r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            r"(?i:the)", r"\X", r".", "^"]
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
CONTENTS = ["<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>", "foo", " bar", "the", "A", "é", "e", "ﬁ", "a b",
            "\n", "▁", "it", "İ", "Zü", "<b>", "  ", "1", "中", "THE"]


def byte_alphabet():
    """The characters by which GPT-2 writes bytes, in the order of the bytes."""
    visible = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    hidden = iter(range(0x100, 0x200))
    return "".join(chr(byte) if byte in visible else chr(next(hidden)) for byte in range(256))


ALPHABET = byte_alphabet()


def draw_pattern(draw):
    if draw.random() < 0.5:
        return {"Regex": draw.choice(PATTERNS)}
    return {"String": draw.choice([" ", "a", "▁", "the", "é", "\n", "  ", "ll"])}


def draw_normalizer(draw, depth=0):
    rare = ["BertNormalizer", "Nmt", "ByteLevel"] if draw.random() < 0.15 else []
    kind = draw.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Prepend", "Replace",
                        "Replace"] + ["Sequence"] * (3 if depth == 0 else 0) + rare)
    part = {"type": kind}
    if kind == "Strip":
        part |= {"strip_left": draw.random() < 0.5, "strip_right": draw.random() < 0.5}
    elif kind == "Prepend":
        part["prepend"] = draw.choice(["▁", " ", "ab", "é"])
    elif kind == "Replace":
        part |= {"pattern": draw_pattern(draw), "content": draw.choice(["▁", "", " ", "x", "ab"])}
    elif kind == "Sequence":
        part["normalizers"] = [draw_normalizer(draw, 1) for _ in range(draw.randint(0, 3))]
    elif kind == "BertNormalizer":
        part |= {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return part


def byte_level(draw):
    return {"type": "ByteLevel", "add_prefix_space": draw.random() < 0.3, "trim_offsets": draw.random() < 0.5,
            "use_regex": draw.random() < 0.5}


def metaspace(draw):
    return {"type": "Metaspace", "replacement": draw.choice(["▁", "▁", "▁", "_"]),
            "prepend_scheme": draw.choice(["always", "first", "never"]), "split": draw.random() < 0.6}


def draw_step(draw):
    rare = ["CharDelimiterSplit", "UnicodeScripts", "FixedLength"] if draw.random() < 0.15 else []
    kind = draw.choice(["Split", "Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit", "BertPreTokenizer",
                        "Metaspace"] + rare)
    if kind == "Metaspace":
        return metaspace(draw)
    options = {"Split": {"pattern": draw_pattern(draw), "behavior": draw.choice(BEHAVIORS),
                         "invert": draw.random() < 0.3},
               "Digits": {"individual_digits": draw.random() < 0.5},
               "Punctuation": {"behavior": draw.choice(BEHAVIORS)},
               "CharDelimiterSplit": {"delimiter": "a"}, "FixedLength": {"length": 3}}
    return {"type": kind, **options.get(kind, {})}


def draw_pre_tokenizer(draw, is_bytes):
    steps = [draw_step(draw) for _ in range(draw.choice([0, 0, 1, 1, 2]))]
    if is_bytes:
        steps.append(byte_level(draw))
    if not steps:
        return None
    if len(steps) == 1 and draw.random() < 0.7:
        return steps[0]
    return {"type": "Sequence", "pretokenizers": steps}


def usual_decoders(is_bytes):
    if is_bytes:
        return [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]
    return [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]


def draw_decoder(draw, is_bytes):
    usual = usual_decoders(is_bytes)
    if draw.random() < 0.6:
        return usual[0] if is_bytes else {"type": "Sequence", "decoders": usual}
    strip = {"type": "Strip", "content": draw.choice([" ", "a"]), "start": draw.randrange(3), "stop": draw.randrange(3)}
    others = usual + [strip, metaspace(draw), {"type": "BPEDecoder", "suffix": draw.choice(["</w>", "e"])},
                      {"type": "Replace", "pattern": draw_pattern(draw), "content": "x"}, {"type": "Fuse"},
                      {"type": "ByteFallback"}]
    if draw.random() < 0.1:
        others += [{"type": "WordPiece", "prefix": "##", "cleanup": True},
                   {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}]
    kind = draw.choice([None, "one", "some"])
    if kind is None:
        return None
    if kind == "one":
        return draw.choice(others)
    return {"type": "Sequence", "decoders": draw.sample(others, draw.randint(0, 3))}


def draw_added(draw):
    token = {"content": draw.choice(CONTENTS)}
    for flag in FLAGS:
        token[flag] = draw.random() < 0.35
    return token


def draw_merges(draw, corpus, number):
    """Merges of neighbours in the corpus, a list of lists of tokens, which is changed."""
    merges = []
    for _ in range(number):
        word = draw.choice(corpus)
        if len(word) < 2:
            continue
        at = draw.randrange(len(word) - 1)
        pair = word[at:at + 2]
        if pair not in merges:
            merges.append(pair)
        for other in corpus:
            for i in reversed(range(len(other) - 1)):
                if other[i:i + 2] == pair:
                    other[i:i + 2] = ["".join(pair)]
    return merges


def draw_model(draw, is_bytes):
    """`alphabet` null: bytes. Merges are drawn from the words of the texts."""
    words = [draw.choice([" ", "", "", "▁"]) + draw.choice(WORDS) for _ in range(60)]
    model = {"byte_fallback": not is_bytes and draw.random() < 0.5, "fuse_unk": draw.random() < 0.4,
             "ignore_merges": draw.random() < 0.3, "unk_token": draw.choice([None, None, "<unk>"]),
             "dropout": draw.choice([None, None, None, None, 0.0, 0.1] if draw.random() < 0.2 else [None]),
             "pairs": draw.random() < 0.5}
    if is_bytes:
        corpus = [[ALPHABET[byte] for byte in word.encode()] for word in words]
    else:
        model["alphabet"] = "".join(sorted(set("".join(words)) | set(draw.sample(CHARACTERS, 30)) - set("\x00")))
        corpus = [list(word) for word in words]
    if draw.random() < 0.03:
        model[draw.choice(["continuing_subword_prefix", "end_of_word_suffix"])] = draw.choice(["##", "</w>", ""])
    return {**model, "merges": draw_merges(draw, corpus, draw.choice([0, 10, 40, 90]))}


def draw_processor(draw, depth=0):
    kind = draw.choice([None, "TemplateProcessing", "TemplateProcessing", "ByteLevel", "BertProcessing",
                        "RobertaProcessing"] + ["Sequence"] * (depth == 0))
    if kind is None:
        return None
    if kind == "Sequence":
        parts = [draw_processor(draw, 1) for _ in range(draw.randint(0, 2))]
        return {"type": "Sequence", "processors": [part for part in parts if part]}
    if kind == "ByteLevel":
        return byte_level(draw)
    if kind == "TemplateProcessing":
        return draw_template(draw)
    part = {"type": kind, "sep": ["</s>", 2], "cls": ["<s>", 1]}
    flags = {"trim_offsets": draw.random() < 0.5, "add_prefix_space": draw.random() < 0.5}
    return part if kind == "BertProcessing" else {**part, **flags}


def draw_template(draw):
    special, text = {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    single = draw.choice([[text], [special, text], [special, text, special], [text, special], [special, special, text]])
    return {"type": "TemplateProcessing", "single": single, "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": draw.choice([[1], [1, 2]]), "tokens": ["<s>"]}}}


def draw_tokenizer(draw):
    """A case: the parts of the file, and texts."""
    is_bytes = draw.random() < 0.5
    added = [draw_added(draw) for _ in range(draw.choice([0, 0, 1, 2, 4, 6]))]
    case = {"model": draw_model(draw, is_bytes), "added": added,
            "normalizer": draw_normalizer(draw) if draw.random() < 0.5 else None,
            "pre_tokenizer": draw_pre_tokenizer(draw, is_bytes), "decoder": draw_decoder(draw, is_bytes),
            "post_processor": draw_processor(draw)}
    if draw.random() < 0.05:
        case["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    contents = [token["content"] for token in added]
    return {**case, "texts": [random_text(draw, contents) for _ in range(12)]}


def model_of(model):
    """The part `model` of the file."""
    alphabet = model.get("alphabet", ALPHABET)
    tokens = ["<unk>", "<s>", "</s>", *alphabet]
    if model.get("byte_fallback"):
        tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += ["".join(pair) for pair in model.get("merges", [])]
    as_pairs = model.get("pairs") or any(" " in part for pair in model.get("merges", []) for part in pair)
    merges = [list(pair) if as_pairs else " ".join(pair) for pair in model.get("merges", [])]
    kept = {key: value for key, value in model.items() if key not in ("alphabet", "merges", "pairs")}
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    return {"type": "BPE", **kept, "vocab": vocabulary, "merges": merges}


def file_of(case):
    """The whole file. Added tokens get the next free ids, as the library would give them."""
    model = model_of(case.get("model", {}))
    ids = dict(model["vocab"])
    added = []
    for token in case.get("added", []):
        number = ids.setdefault(token["content"], len(ids))
        if number not in (other["id"] for other in added):
            flags = {flag: token.get(flag, False) for flag in FLAGS}
            added.append({"id": number, "content": token["content"], **flags})
    added.sort(key=lambda token: token["id"])
    parts = {key: case.get(key) for key in ("truncation", "normalizer", "pre_tokenizer", "post_processor", "decoder")}
    return {"version": "1.0", "padding": None, "added_tokens": added, **parts, "model": model}
