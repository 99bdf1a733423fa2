"""Kind `tokenizers`: ids and texts as the tokenizers library has them."""

import json
import os
import random
from pathlib import Path

import tokenizers

from cases import DIFFERENT, EQUAL, PEER_REFUSES, REFUSED, SAID, Kind, Program, Verdict, names_one_of, words_of
from random_text import random_text
from tokenizer_files import draw_tokenizer, file_of

DATA = Path(__file__).resolve().parents[2] / "data"
SHIPPED = sorted(path for path in DATA.rglob("tokenizer.json") if "corpus" not in path.parts)


def random_ids(texts, size):
    """Ids in an order that no text gives, for decoding."""
    draw = random.Random(repr(texts))
    return [[draw.randrange(size) for _ in range(draw.choice([1, 3, 12]))] for _ in range(4)]


class Refusal(Exception):
    """What the library raises, also its panics, which are no exceptions of Python's usual kind."""


def asked(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except BaseException as error:  # pylint: disable=broad-except
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise Refusal(f"{type(error).__name__}: {error}") from error
        raise


class Tokenizers(Kind):
    """Files of all kinds, and the ones that tests have."""
    name = "tokenizers"

    def __init__(self):
        self.program = Program(os.environ["MULTICARD_PEER_TOKENS"])
        self.libraries = {}

    def close(self):
        self.program.close()

    def draw(self, draw):
        if draw.random() < 0.15:
            shipped = str(draw.choice(SHIPPED).relative_to(DATA))
            return {"shipped": shipped, "texts": [random_text(draw) for _ in range(12)]}
        return draw_tokenizer(draw)

    def library(self, path):
        library = self.libraries.get(path) or asked(tokenizers.Tokenizer.from_file, str(path))
        library.no_truncation()  # as transformers does, unless it is asked to truncate
        library.no_padding()
        if path.is_relative_to(DATA):
            self.libraries[path] = library
        return library

    def judge(self, case, folder):
        path, about = folder / "tokenizer.json", case
        if "shipped" in case:
            path = DATA / case["shipped"]
        else:
            about = file_of(case)
            path.write_text(json.dumps(about))
        texts = case.get("texts", [])
        try:
            library = self.library(path)
        except Refusal as error:
            answer, _ = self.program.ask(tokenizer=str(path), texts=texts, ids=[])
            return self.without_peer(answer, error)
        ids = random_ids(texts, library.get_vocab_size() + 2)
        answer, log = self.program.ask(tokenizer=str(path), texts=texts, ids=ids)
        verdict = self.compared(answer, log, library, texts, ids, words_of(about))
        if verdict.what == DIFFERENT and "ids" in answer and self.is_undecided(path, answer, texts, ids):
            return Verdict(PEER_REFUSES, "undecided: the library answers now this, now that")
        return verdict

    def is_undecided(self, path, answer, texts, ids):
        """Whether the library, loaded again, agrees: it takes one of two tokens of equal text by chance."""
        return any(not self.difference(answer, self.library(path), texts, ids) for _ in range(8))

    @staticmethod
    def without_peer(answer, error):
        if "crash" in answer:
            return Verdict(DIFFERENT, answer["crash"])
        return Verdict(REFUSED, answer["error"]) if "error" in answer else Verdict(PEER_REFUSES, str(error))

    def compared(self, answer, log, library, texts, ids, words):
        if "crash" in answer:
            return Verdict(DIFFERENT, answer["crash"])
        if "error" in answer:
            return Verdict(REFUSED if names_one_of(answer["error"], words) else DIFFERENT, answer["error"])
        try:
            difference = self.difference(answer, library, texts, ids)
        except Refusal as error:
            return Verdict(PEER_REFUSES, str(error))
        if difference:
            return Verdict(SAID, log) if log else Verdict(DIFFERENT, difference)
        return Verdict(EQUAL)

    @staticmethod
    def difference(answer, library, texts, ids):
        for adds, mine in zip((True, False), answer["ids"]):
            for text, one in zip(texts, mine):
                if one != (theirs := asked(library.encode, text, add_special_tokens=adds).ids):
                    return f"ids: {text!r} (special tokens: {adds}): {one}, not {theirs}"
        for skips, mine in zip((True, False), answer["texts"]):
            for numbers, one in zip(answer["ids"][0] + ids, mine):
                if one != (theirs := asked(library.decode, numbers, skip_special_tokens=skips)):
                    return f"texts: {numbers} (skip: {skips}): {one!r}, not {theirs!r}"
        return ""


KIND = Tokenizers
