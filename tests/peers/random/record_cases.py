"""Kind `records`: tokens and targets as transformers and TRL have them.

Conversations and instructions are compared with apply_chat_template, and with its mask where the template has
generation blocks; prompts with completions and pairs with what TRL's trainers make of them. Three differences are
deliberate (docs/tokenizers.md). White space that a template writes after an answer is no target; for TRL it is a
part of the completion. What generation blocks write is the target; TRL reads them for conversations alone. And where
the prompt's tokens do not begin those of prompt and answer, TRL warns and takes what differs for the completion. In
the last two cases targets are compared with the rule for conversations, or with the characters of the answer.
"""

import copy
import hashlib
import os
import tempfile
from pathlib import Path
from unittest import mock

from transformers.utils import chat_template_utils

from chat_reference import TEMPLATES, FixedDate, NotFound, Reference, has_no_place, model_folder, tokenizer_for
from trl_functions import SHARED, tokenized_for_dpo, tokenized_for_sft

from cases import DIFFERENT, EQUAL, REFUSED, SAID, Kind, Program, Verdict, names_one_of, words_of
from record_files import ROLES, draw_record, source_of

SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in TEMPLATES}


class Refusal(Exception):
    """What a peer objects to."""


def as_conversation(kind, record):
    """A record of messages, of which only answers that are trained on have the weight 1."""
    if kind == "chat" and "conversations" in record:
        back = {name: role for role, name in ROLES.items()}
        return {"messages": [{"role": back.get(turn["from"], turn["from"]), "content": turn["value"]}
                             for turn in record["conversations"]]}
    if kind == "chat":
        return record
    system = [{"role": "system", "content": record["system"]}] if record.get("system") else []
    if kind == "question-answer":
        turn = [{"role": "user", "content": record["question"]}, {"role": "assistant", "content": record["answer"]}]
        return {"messages": system + turn}
    history = [message for question, answer in record.get("history", [])
               for message in ({"role": "user", "content": question}, {"role": "assistant", "content": answer})]
    question = record["instruction"] + ("\n" + record["input"] if record.get("input") else "")
    return {"messages": system + history + [{"role": "user", "content": question},
                                            {"role": "assistant", "content": record["output"]}]}


class Peers:
    """A model folder with a template, and what the peers make of records with it."""

    def __init__(self, folder, name, source):
        self.folder, self.source = folder, source
        folder.mkdir()
        self.tokenizer = model_folder(folder, source, tokenizer_for(name))
        self.reference = Reference(self.tokenizer, source)

    def rows(self, kind, record):
        """Pairs of ids and masks: one, or two of a preference pair; whether the masks are TRL's."""
        record = copy.deepcopy(record)
        if kind == "preference":
            row = tokenized_for_dpo(record, self.tokenizer)
            rows = [(row["prompt_ids"] + row[half], [0] * len(row["prompt_ids"]) + [1] * len(row[half]))
                    for half in ("chosen_ids", "rejected_ids")]
            return self.of_trl(rows, whole_pair(record))
        if kind == "prompt-completion":
            row = tokenized_for_sft(record, self.tokenizer)
            return self.of_trl([(row["input_ids"], row["completion_mask"])], [(record["prompt"], record["completion"])])
        if kind == "text":
            ids = tokenized_for_sft(record, self.tokenizer)["input_ids"]
            return [(ids, [1] * len(ids))], False
        return [self.reference(as_conversation(kind, record))], False

    def of_trl(self, rows, parts):
        """TRL's rows, or with other masks where it would warn; `parts` are the prompts and answers."""
        are_texts = isinstance(parts[0][0], str)
        prompts = [self.tokenizer(before)["input_ids"] if are_texts else self.tokenizer.apply_chat_template(
            before, add_generation_prompt=True, return_dict=True)["input_ids"] for before, _ in parts]
        has_own_rule = any(self.is_shared(*one) for one in parts) if are_texts else "{%- generation" in self.source
        if not has_own_rule and all(ids[:len(prompt)] == prompt for (ids, _) in rows for prompt in prompts):
            return rows, True
        mask_of = self.mask_of_texts if are_texts else self.mask_of_messages
        return [(ids, mask_of(*one, ids)) for (ids, _), one in zip(rows, parts)], are_texts

    def is_shared(self, prompt, answer):
        """Whether a token has characters of both, as unknown ones that are fused: it is in the prompt's tokens too."""
        offsets = self.tokenizer(prompt + answer, return_offsets_mapping=True)["offset_mapping"]
        return any(begin < len(prompt) < end for begin, end in offsets)

    def mask_of_messages(self, prompt, answer, _):
        prompt = [{**message, "weight": 0} if message["role"] == "assistant" else message for message in prompt]
        return self.reference({"messages": prompt + answer})[1]

    def mask_of_texts(self, prompt, answer, ids):
        """What has a character of the answer, or comes after it."""
        offsets = self.tokenizer(prompt + answer, return_offsets_mapping=True)["offset_mapping"]
        mask = [int(end > len(prompt)) for _, end in offsets]
        return mask + [1] * (len(ids) - len(mask))


def whole_pair(record):
    """Prompt and answer of both halves."""
    if "prompt" not in record:
        record = {**record, **SHARED["extract_prompt"](record)}
    return [(record["prompt"], record[half]) for half in ("chosen", "rejected")]


def without_space_after(mask, ids, tokenizer):
    """The mask without white space at its end, of which a character may have up to four tokens."""
    mask = list(mask)
    while 1 in mask:
        end = len(mask) - mask[::-1].index(1)
        begin = next((at for at in range(end - 1, max(-1, end - 5), -1)
                      if not tokenizer.decode(ids[at:end]).strip()), None)
        if begin is None:
            break
        mask[begin:end] = [0] * (end - begin)
    return mask


class Records(Kind):
    """Records, templates and options."""
    name = "records"

    def __init__(self):
        self.program = Program(os.environ["MULTICARD_PEER_RECORDS"])
        self.root = tempfile.TemporaryDirectory(prefix="multicard-records-")  # pylint: disable=consider-using-with
        self.peers = {}
        self.patch = mock.patch.object(chat_template_utils, "datetime", FixedDate)
        self.patch.start()

    def close(self):
        self.program.close()
        self.root.cleanup()
        self.patch.stop()

    def draw(self, draw):
        return draw_record(draw)

    def peers_of(self, template):
        name, source = (template, SOURCES[template]) if isinstance(template, str) else ("parts", source_of(template))
        key = hashlib.sha256(f"{name} {source}".encode()).hexdigest()[:16]
        if key not in self.peers:
            self.peers[key] = Peers(Path(self.root.name) / key, name, source)
        return self.peers[key]

    def judge(self, case, folder):
        peers = self.peers_of(case.get("source", {}))
        kind, record = case["type"], case["record"]
        request = {key: case[key] for key in ("type", "record", "template") if key in case}
        answer, _ = self.program.ask(folder=str(peers.folder), loss=case.get("loss", "completion"), **request)
        if "crash" in answer:
            return Verdict(DIFFERENT, answer["crash"])
        if "error" in answer:
            words = words_of(case) | {"template", "answer", "message"}
            return Verdict(REFUSED if names_one_of(answer["error"], words) else DIFFERENT, answer["error"])
        try:
            rows, are_of_trl = peers.rows(kind, record)
        except NotFound:
            return Verdict(DIFFERENT, f"no answer: the reference finds none, and the program {answer['mask']}")
        except Exception as error:  # pylint: disable=broad-except  # whatever jinja2 and Python raise
            return Verdict(DIFFERENT, f"peer refuses: {type(error).__name__}: {error}")
        difference = self.difference(case, answer, rows, peers.tokenizer, are_of_trl)
        if difference:
            return Verdict(SAID, str(answer["said"])) if answer["said"] else Verdict(DIFFERENT, difference)
        return Verdict(EQUAL)

    @staticmethod
    def difference(case, answer, rows, tokenizer, are_of_trl):
        for (ids, mask), own in zip(rows, [answer, answer.get("rejected")]):
            if own["ids"] != ids:
                return f"ids: {own['ids']}, not {ids}"
            mask, mine = list(mask), own["mask"]
            if case.get("loss") == "all":
                mask = [1] * len(mask)
            elif are_of_trl:
                mask, mine = (without_space_after(one, ids, tokenizer) for one in (mask, mine))
            mask[:1] = [0] * len(mask[:1])  # nothing predicts the first token
            if mine != mask:
                return f"mask: {mine}, not {mask} for {[tokenizer.decode([one]) for one in ids]}"
        return ""


KIND = Records
