"""The functions by which TRL's trainers tokenise records, taken from its sources: importing TRL takes 20 seconds."""

import ast
import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace

FOLDER = next(path for path in (Path(entry) / "trl" for entry in sys.path) if (path / "data_utils.py").exists())


def functions_of(path, names, scope):
    """Adds the functions of a file to `scope`, also those inside others, without their annotations."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.returns = None
            for argument in node.args.args + [node.args.kwarg] * (node.args.kwarg is not None):
                argument.annotation = None
            exec(compile(ast.Module([node], []), str(path), "exec"), scope)  # pylint: disable=exec-used
    return scope


class Logger(logging.Logger):
    def warning_once(self, *_):
        """TRL says where a prompt and its answer share a token; the masks show it."""


SHARED = functions_of(FOLDER / "data_utils.py",
                      ("is_conversational", "is_conversational_from_value", "maybe_convert_to_chatml", "_tokenize",
                       "common_prefix_length", "extract_prompt"),
                      {"ProcessorMixin": SimpleNamespace, "json": json, "logger": Logger("trl")})
SFT = functions_of(FOLDER / "trainer" / "sft_trainer.py", ("tokenize_fn", "add_eos"), dict(SHARED))
DPO = functions_of(FOLDER / "trainer" / "dpo_trainer.py", ("tokenize_fn", "add_eos"), dict(SHARED))


def tokenized_for_sft(record, tokenizer, assistants_only=False):
    """The columns `input_ids` and `completion_mask` or `assistant_masks`, as SFTTrainer prepares them."""
    if SHARED["is_conversational_from_value"](record):
        record = SHARED["maybe_convert_to_chatml"](record)
    if not SHARED["is_conversational"](record):
        record = SFT["add_eos"](record, tokenizer.eos_token, "text")
    return SFT["tokenize_fn"](record, tokenizer, "text", assistants_only, None)


def tokenized_for_dpo(record, tokenizer):
    """The columns `prompt_ids`, `chosen_ids` and `rejected_ids`, as DPOTrainer prepares them."""
    if "prompt" not in record:
        record = {**record, **SHARED["extract_prompt"](record)}
    if not SHARED["is_conversational"](record):
        record = DPO["add_eos"](record, tokenizer.eos_token)
    return DPO["tokenize_fn"](record, tokenizer)
