#!/usr/bin/env python3
"""Makes oracles/steps.json with the tokenizers library (0.23.3): small tokenizers that use every supported step.

usage: make_steps.py [OUTPUT]
"""

import json
import pathlib
import random
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CORPUS = [
    "The quick brown fox jumps over the lazy dog, and it's 12345 o'clock; they'll say that we've won 3.14 times.",
    "Once upon a time there was a little girl named Lily. She loved to play outside in the sunshine!",
    "der Bär aß Äpfel – naïve café, Größe; 中文字符 und 한국어",
    "for (int i = 0; i < 10; ++i) { x += y[i]; }\n\n\treturn x;",
] * 3
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PIECES = [
    "the",
    " the",
    "The",
    "IT'S",
    "it's",
    "o'ſ",
    "we've",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    " \n ",
    "\u00a0",
    "\u2003",
    "\u0085",
    "\u180e",
    "\u200d",
    "0",
    "12345",
    "٣٤",
    "Ⅷ",
    "½",
    "²",
    "é",
    "e\u0301",
    "\u0301\u0327\u0316",
    "İ",
    "ΣΑΣ",
    "ﬁ",
    "Å",
    "한",
    "\u1112\u1161\u11ab",
    "中文",
    "カ",
    "😀",
    "👩‍👩‍👧",
    "!",
    "?!",
    "...",
    "_",
    "a_b",
    "-",
    "–",
    "/",
    "<",
    ">",
    "<sep>",
    "<SEP>",
    "<pad>",
    "mask",
    "xmask",
    "\0",
    "\ufffd",
    "▁",
    "▁▁a",
    "ab",
    "x",
    "quick",
    "jump",
    "<0x0A>",
    "Ġ",
    "$",
    "€",
    "I'LL",
    "\v",
    "\f",
    "\u001c",
]


def trained(pre_tokenizer, num_bytes=0, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    alphabet = pre_tokenizers.ByteLevel.alphabet() if isinstance(pre_tokenizer, pre_tokenizers.ByteLevel) else []
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=alphabet,
        special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)][:num_bytes],
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return json.loads(tokenizer.to_str())["model"]


def added(id, content, **flags):
    token = {
        "id": id,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    return {**token, **flags}


def sequence(key, *steps):
    return {"type": "Sequence", key: list(steps)}


def split(pattern, behavior, invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def variants(text_ids):
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    gpt2 = {**byte_level, "use_regex": True}
    tokens = [
        added(1000, "<sep>"),
        added(1001, "<pad>", lstrip=True, rstrip=True),
        added(1002, "mask", single_word=True, special=False),
        added(1003, "<SEP>", normalized=True),
        added(1004, "quick", normalized=True, special=False, rstrip=True),
    ]
    template = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "</s>", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            t: {"id": t, "ids": [i], "tokens": [t]} for t, i in (("<s>", text_ids["<s>"]), ("</s>", text_ids["</s>"]))
        },
    }
    for name, pre in (
        ("gpt2", gpt2),
        ("prefix space", {**gpt2, "add_prefix_space": True}),
        ("no regex", byte_level),
        ("llama3", sequence("pretokenizers", split({"Regex": LLAMA3}, "Isolated"), byte_level)),
        ("o200k", sequence("pretokenizers", split({"Regex": O200K}, "Isolated"), byte_level)),
        ("digits", sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, gpt2)),
        ("digit runs", sequence("pretokenizers", {"type": "Digits", "individual_digits": False}, gpt2)),
        ("punctuation", sequence("pretokenizers", {"type": "Punctuation", "behavior": "Contiguous"}, gpt2)),
        ("look-ahead", sequence("pretokenizers", split({"Regex": r"(?=\d)|(?<=\w)(?=\W)"}, "Isolated"), byte_level)),
        ("words", sequence("pretokenizers", split({"Regex": r"\w+|\S"}, "Removed", True), byte_level)),
        (
            "scripts",
            sequence(
                "pretokenizers",
                split({"Regex": r"[\p{Han}\p{Hiragana}\p{Katakana}]+|\p{^Han}"}, "Isolated"),
                byte_level,
            ),
        ),
    ):
        yield name, "bytes", {"pre_tokenizer": pre, "decoder": gpt2, "added_tokens": tokens}
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            yield f"split {behavior} {invert}", "bytes", {
                "pre_tokenizer": sequence(
                    "pretokenizers", split({"Regex": r"\s|[.!?]"}, behavior, invert), byte_level
                ),
                "decoder": gpt2,
            }
        yield f"split at text {behavior}", "bytes", {
            "pre_tokenizer": sequence("pretokenizers", split({"String": "e"}, behavior), byte_level),
            "decoder": gpt2,
        }
    for name, steps in (
        ("NFC", [{"type": "NFC"}]),
        ("NFD", [{"type": "NFD"}]),
        ("NFKC", [{"type": "NFKC"}]),
        ("NFKD", [{"type": "NFKD"}]),
        ("lower", [{"type": "Lowercase"}]),
        ("no accents", [{"type": "NFD"}, {"type": "StripAccents"}]),
        ("strip", [{"type": "Strip", "strip_left": True, "strip_right": True}]),
        ("strip left", [{"type": "Strip", "strip_left": True, "strip_right": False}]),
        (
            "replace",
            [
                {"type": "Replace", "pattern": {"Regex": r"\s{2,}"}, "content": "_"},
                {"type": "Replace", "pattern": {"String": "a"}, "content": "bb"},
            ],
        ),
    ):
        yield name, "bytes", {
            "normalizer": sequence("normalizers", *steps),
            "pre_tokenizer": gpt2,
            "decoder": gpt2,
            "added_tokens": tokens,
            "post_processor": sequence("processors", template, {**byte_level}),
        }
    spaces = sequence(
        "normalizers",
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    )
    llama2 = sequence(
        "decoders",
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    )
    for fuse in (False, True):
        for model in ("fallback", "characters", "no unknown"):
            yield f"{model} fuse {fuse}", model, {
                "normalizer": spaces,
                "decoder": llama2,
                "added_tokens": tokens,
                "fuse_unk": fuse,
                "post_processor": template,
            }
    for scheme in ("always", "first", "never"):
        for cut in (False, True):
            metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": cut}
            yield f"metaspace {scheme} {cut}", "fallback", {
                "pre_tokenizer": metaspace,
                "decoder": metaspace,
                "added_tokens": tokens,
            }
    for name in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
        yield name, "characters", {"pre_tokenizer": {"type": name}, "decoder": None, "added_tokens": tokens[:2]}
    yield "suffix", "characters", {
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": {"type": "BPEDecoder", "suffix": "e"},
    }
    yield "bert", "characters", {
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": {"type": "Fuse"},
        "post_processor": {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]},
    }
    yield "ignore merges", "ignoring", {"pre_tokenizer": gpt2, "decoder": gpt2}
    yield "marks", "bytes", {
        "normalizer": sequence("normalizers", {"type": "NFD"}, {"type": "StripAccents"}),
        "pre_tokenizer": gpt2,
        "decoder": gpt2,
        "texts": ["हिन्दी", "தமிழ்", "a\u20dd café", "\u0903\u0488x"],
    }
    yield "single words", "bytes", {
        "pre_tokenizer": gpt2,
        "decoder": gpt2,
        "added_tokens": [added(1000, "<c>", single_word=True)],
        "texts": ["Ⅷ<c>", "\u200d<c>", "a<c> <c>", "<c>Ⓐ", "<c>²<c>", "_<c>", "\u20dd<c>", "1<c>.<c>"],
    }
    yield "tokens in white space that others take", "bytes", {
        "pre_tokenizer": gpt2,
        "decoder": gpt2,
        "added_tokens": [
            added(1000, "<|a|>", rstrip=True),
            added(1001, "\n\n"),
            added(1002, "<|b|>", lstrip=True),
        ],
        "texts": [
            "<|a|>\n\nhi",
            "x <|a|> \n\nhi",
            "<|a|>\n\n  hi",
            "<|a|> \n\n\n\n\n hi",
            "<|a|>\n\n  <|b|>",
            "x\n\n <|b|><|a|>  ",
            "<|a|>\n\n<|a|>",
        ],
    }


def main():
    draw = random.Random(20)
    unknown = {"unk_token": "<unk>"}
    byte_model = trained(pre_tokenizers.ByteLevel(add_prefix_space=False))
    spaced = pre_tokenizers.Metaspace(prepend_scheme="always")
    character_model = trained(spaced, **unknown)
    fallback = trained(spaced, num_bytes=256, byte_fallback=True, **unknown)
    ignoring = json.loads(json.dumps(byte_model))
    ignoring.update(ignore_merges=True, merges=[m for m in ignoring["merges"] if m[0] != "Ġ"])
    all_models = {
        "bytes": byte_model,
        "characters": character_model,
        "fallback": fallback,
        "ignoring": ignoring,
        "no unknown": {**character_model, "unk_token": None},
    }
    texts = ["", " ", "\n", "a", " a b  c ", "<sep>", "<sep><sep> <pad>  mask masks <SEP> quick  fox"]
    texts += ["".join(draw.choice(PIECES) for _ in range(draw.randint(1, 24))) for _ in range(24)]
    tokenizers = []
    for name, model, parts in variants(byte_model["vocab"]):
        file = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": None,
            **parts,
        }
        fuse = file.pop("fuse_unk", None)
        own_texts = file.pop("texts", None)
        whole = json.loads(json.dumps({**file, "model": all_models[model]}))
        if fuse is not None:
            whole["model"]["fuse_unk"] = file["fuse_unk"] = fuse
        used = set(whole["model"]["vocab"].values())
        next_id = max(used) + 1
        for token in whole["added_tokens"]:
            token["id"] = whole["model"]["vocab"].get(token["content"], next_id)
            next_id += token["id"] == next_id
        file["added_tokens"] = whole["added_tokens"]
        library = Tokenizer.from_str(json.dumps(whole))
        cases = []
        for text in own_texts or draw.sample(texts, 12):
            ids, special = (library.encode(text, add_special_tokens=flag).ids for flag in (False, True))
            cases.append(
                [text, ids, special, library.decode(ids, skip_special_tokens=False), library.decode(special)]
            )
        tokenizers.append({"name": name, "model": model, "file": file, "cases": cases})
    result = {"models": all_models, "tokenizers": tokenizers}
    output = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "oracles" / "steps.json"
    with open(output, "w", encoding="ascii") as stream:
        json.dump(result, stream, separators=(",", ":"))


main()
