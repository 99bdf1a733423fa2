"""Conversations of records, chat templates of model families, and what transformers' apply_chat_template makes of them.
"""

import copy
import json
import os
import re
from datetime import datetime
from pathlib import Path

from transformers import PreTrainedTokenizerFast, logging
from transformers.utils import chat_template_utils

TEMPLATES = sorted((Path(__file__).parent / "templates").glob("*.jinja"))
DATA = Path(__file__).resolve().parents[1] / "data"
# Byte-level with special tokens of ChatML; byte fallback with normalisers and, as its special tokens, <s> and </s>.
TOKENIZERS = {"smollm2": (DATA / "tokenizers" / "smollm2", "<|endoftext|>", "<|im_end|>"),
              "tinystories": (DATA / "models" / "tinystories-656K", "<s>", "</s>")}
OF_S = ("llama2", "mistral", "mixtral", "tinyllama", "zephyr", "gemma.")

logging.set_verbosity_error()


class FixedDate(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26)


TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a place, \"now\" & <here>.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "enum": ["Paris", "Zürich 中"]},
                                                    "days": {"type": "integer", "default": 1.5}},
                   "required": ["city"]}}},
         {"type": "function", "function": {"name": "noop", "parameters": {"type": "object", "properties": {}}}}]
PHRASES = ["Hi", "What is 1 + 1?", " spaced out ", "\n\nlines\n", "", " ", "naïve Ünïcödé 中文 😀", "a\tb", "Two.\n",
           "<b>bold</b> & \"quotes\" 'x'", "<|im_end|> inside", "</s> <s>", "Yes.\r\nNo.", "[INST] x [/INST]", "42",
           "def f(x):\n    return x", "😀", "é", "{{ messages }}", "{% if %}", "The answer is 3.14159.",
           "ok</think>fine", "<think>\nhm\n</think>\n\nTwo", "a  b   c", "Answer"]


def conversation(draw):
    """A record of type chat."""
    def text():
        return draw.choice(PHRASES) + (draw.choice(PHRASES) if draw.random() < 0.4 else "")
    messages = []
    if draw.random() < 0.4:
        messages.append({"role": "system", "content": text()})
    record = {"messages": messages}
    has_tools = draw.random() < 0.15
    if has_tools:
        record["tools"] = TOOLS[:draw.randint(1, 2)]
    for _ in range(draw.choice([1, 1, 1, 2, 2, 3, 5])):
        messages.append({"role": "user", "content": text()})
        if has_tools and draw.random() < 0.6:
            calls = [{"id": "call12345", "type": "function",
                      "function": {"name": "get_weather", "arguments": {"days": 2, "city": text()}}}
                     for _ in range(draw.choice([1, 1, 2]))]
            call = {"role": "assistant", "content": draw.choice(["", text()]), "tool_calls": calls}
            if draw.random() < 0.3:
                call["content"] = None
            messages += [call, {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": text()}]
        answer = {"role": "assistant", "content": text()}
        if draw.random() < 0.1:
            answer["reasoning_content"] = text()
        if draw.random() < 0.05:
            answer["weight"] = 0
        messages.append(answer)
    kind = draw.random()
    if kind < 0.04:
        draw.shuffle(messages)
    elif kind < 0.08:
        messages.pop()
    elif kind < 0.1:
        messages.insert(draw.randint(0, len(messages)), {"role": "system", "content": text()})
    elif kind < 0.11:
        messages.append({"role": "critic", "content": text()})
    return record


class NotFound(Exception):
    """An answer cannot be found in the text."""


def whole_tokens(common, *texts):
    """The common beginning of texts without the beginning of a marker or word in which they differ."""
    followers = [text[len(common):len(common) + 1] for text in texts]
    if not common or not followers[0]:
        return common
    is_word = re.compile(r"[0-9A-Za-z_]").match
    if is_word(common[-1]) and not any(map(is_word, followers)) and not re.search(r"[<\[]", common):
        return common
    return common[:max(common.rfind(">"), common.rfind("]")) + 1]


class Reference:
    """What apply_chat_template makes of a conversation, and where its answers are by the rule of docs/tokenizers.md."""

    def __init__(self, tokenizer, source):
        self.tokenizer, self.source = tokenizer, source
        self.end_of_turn = self.find_end_of_turn()

    def text(self, messages, tools=None, is_open=False):
        return self.tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=is_open)

    def find_end_of_turn(self):
        messages = [{"role": "user", "content": "Question"}, {"role": "assistant", "content": "Qx7Answer"},
                    {"role": "user", "content": "Next"}]
        try:
            last, middle = (self.text(messages[:n]).partition("Qx7Answer")[2] for n in (2, 3))
        except Exception:
            return ""
        common = whole_tokens(os.path.commonprefix([last, middle]), last, middle)
        without = last.removesuffix(self.tokenizer.eos_token)
        return (without if common != last and len(without) <= len(common) else common).strip()

    def part(self, messages, tools, is_open):
        """The text of some messages, None where the template objects to them."""
        try:
            return self.text(messages, tools, is_open) if messages else None
        except Exception:
            return None

    def content(self, text, messages, tools, i):
        """Where a message's content is: what changes with it."""
        changed = copy.deepcopy(messages)
        changed[i]["content"] = "Qx7RenderedHere"
        before, found, after = (self.part(changed, tools, False) or "").partition("Qx7RenderedHere")
        if found and text.startswith(before) and text.endswith(after) and len(before) + len(after) <= len(text):
            return len(before), len(text) - len(after)
        return None

    def end(self, text, messages, tools, i, begin, content):
        if content and self.end_of_turn:
            rest = text[content[1]:].lstrip()
            if rest.startswith(self.end_of_turn):
                return len(text) - len(rest) + len(self.end_of_turn)
        has_next = i + 1 < len(messages)
        after = self.content(text, messages, tools, i + 1) if has_next else (len(text), None)
        if after and self.end_of_turn:
            last = text[:after[0]].rfind(self.end_of_turn)
            if last >= begin:
                return last + len(self.end_of_turn)
        if content and not messages[i].keys() - {"role", "content"}:
            return content[1]
        raise NotFound

    def answer(self, text, messages, tools, i):
        begin = end = None
        head = self.part(messages[:i], tools, True)
        if head is not None and text.startswith(head):
            begin = len(head)
            if i + 1 == len(messages):
                end = len(text)
            else:
                tail = self.part(messages[:i + 1], tools, False)
                if tail is not None and not text.startswith(tail):
                    tail = tail.removesuffix(self.tokenizer.eos_token)
                if tail is not None and text.startswith(tail) and len(tail) >= begin:
                    end = len(tail)
        if end is None:
            content = self.content(text, messages, tools, i)
            if content:
                begin = min(content[0], content[0] if begin is None else begin)
            if begin is None:
                raise NotFound
            end = self.end(text, messages, tools, i, begin, content)
        return begin, begin + len(text[begin:end].rstrip())

    def __call__(self, record):
        messages, tools = record["messages"], record.get("tools")
        is_trained = [m["role"] == "assistant" and m.get("weight", 1) == 1 for m in messages]
        answers = [i for i, m in enumerate(messages) if m["role"] == "assistant"]
        messages = [{k: v for k, v in m.items() if k != "weight"} for m in messages]
        text = self.text(messages, tools)
        if "{%- generation" in self.source:
            _, blocks = chat_template_utils.render_jinja_template(
                [messages], tools=tools, chat_template=self.source, return_assistant_tokens_mask=True,
                add_generation_prompt=False, **self.tokenizer.special_tokens_map)
            if all(is_trained[i] for i in answers) and all(self.is_marked_whole(text, *block) for block in blocks[0]):
                out = self.tokenizer.apply_chat_template(messages, tools=tools, return_dict=True,
                                                         return_assistant_tokens_mask=True)
                return out["input_ids"], out["assistant_masks"]
            ranges = [block for block, i in zip(blocks[0], answers) if is_trained[i]]
        else:
            ranges = [self.answer(text, messages, tools, i) for i in answers if is_trained[i]]
        if any(left[1] > right[0] for left, right in zip(ranges, ranges[1:])):
            raise NotFound
        out = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        self.check_ids(messages, tools, out["input_ids"])
        ranges = [one for one in ranges if one[0] < one[1]]
        mask = [int(any(begin < r[1] and r[0] < end for r in ranges)) for begin, end in out["offset_mapping"]]
        return out["input_ids"], mask

    def is_marked_whole(self, text, begin, end):
        """Whether transformers marks a block's tokens alone, and all: of a last character of several tokens it leaves
        out some, and of an empty block it marks the token in which that stands."""
        offsets = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        return begin < end and sum(first < end <= last for first, last in offsets) == 1

    def check_ids(self, messages, tools, ids):
        assert ids == self.tokenizer.apply_chat_template(messages, tools=tools, return_dict=True)["input_ids"]


def has_no_place(source, record):
    """Whether the template cannot show the tools of the record."""
    return ("tools" in record and "tools" not in source) or \
        ("tool_calls" not in source and any(m.get("tool_calls") for m in record["messages"]))


def tokenizer_for(name):
    """Which of TOKENIZERS has the special tokens of a template."""
    return "tinystories" if name.startswith(OF_S) else "smollm2"


def model_folder(folder, source, name):
    """Makes `folder` one with this template and tokenizer; returns the same tokenizer in transformers."""
    origin, bos, eos = TOKENIZERS[name]
    file = json.loads((origin / "tokenizer.json").read_text())
    known = [token["content"] for token in file["added_tokens"]]
    first = max(file["model"]["vocab"].values()) + 1
    file["added_tokens"] += [{**file["added_tokens"][0], "content": text, "id": first + i, "normalized": False}
                             for i, text in enumerate(token for token in (bos, eos) if token not in known)]
    begin = next(token["id"] for token in file["added_tokens"] if token["content"] == bos)
    for special in ((file["post_processor"] or {}).get("special_tokens") or {}).values():
        special["ids"] = [begin]  # begins as the folder says
    (folder / "tokenizer.json").write_text(json.dumps(file))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), bos_token=bos,
                                        eos_token=eos, chat_template=source)
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": bos, "eos_token": eos}))
    (folder / "chat_template.jinja").write_text(source)
    return tokenizer
