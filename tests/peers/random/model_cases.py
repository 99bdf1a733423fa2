"""Kind `models`: logits of model folders and adapters as transformers and PEFT have them, in float32."""

import os
import warnings

import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, logging

from cases import DIFFERENT, EQUAL, PEER_REFUSES, REFUSED, SAID, Kind, Program, Verdict, names_one_of, words_of
from model_files import LAYERS, draw_model, make_adapter, make_model

TOLERANCE = 1e-4  # of the largest logit

logging.set_verbosity_error()
logging.disable_progress_bar()
warnings.simplefilter("ignore")


class Models(Kind):
    """Model folders, with adapters and in 4 bits."""
    name = "models"

    def __init__(self):
        self.program = Program(os.environ["MULTICARD_PEER_MODEL"], "serve")
        torch.set_num_threads(1)

    def close(self):
        self.program.close()

    def draw(self, draw):
        return draw_model(draw)

    def judge(self, case, folder):
        model, adapter, tokens = folder / "model", folder / "adapter", folder / "tokens.safetensors"
        model.mkdir()
        make_model(case, model)
        dense = folder / "dense" if "nf4" in case else model
        if "adapter" in case:
            try:
                make_adapter(case, dense, adapter)
            except Exception as error:  # pylint: disable=broad-except  # PEFT refuses some combinations
                return Verdict(PEER_REFUSES, f"{type(error).__name__}: {error}")
        vocabulary = case.get("config", {}).get("vocab_size", 32)
        ids = torch.randint(0, min(32, vocabulary), (2, 12), generator=torch.Generator().manual_seed(1))
        save_file({"tokens": ids}, tokens)
        words = [str(model), str(adapter) if "adapter" in case else "-", str(tokens), str(folder / "logits")]
        answer, log = self.program.ask(words=words)
        if "crash" in answer:
            return Verdict(DIFFERENT, answer["crash"])
        if "error" in answer:
            words = words_of(case).union(LAYERS)
            return Verdict(REFUSED if names_one_of(answer["error"], words) else DIFFERENT, answer["error"])
        try:
            theirs = self.peer_logits(dense, adapter, ids)
        except Exception as error:  # pylint: disable=broad-except
            return Verdict(PEER_REFUSES, f"{type(error).__name__}: {error}")
        return self.compared(load_file(folder / "logits")["logits"], theirs, log, words_of(case))

    @staticmethod
    def peer_logits(folder, adapter, ids):
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        if adapter.exists():
            model = PeftModel.from_pretrained(model, adapter)
        with torch.no_grad():
            return model.eval()(ids).logits.float()

    @staticmethod
    def compared(ours, theirs, log, words):
        if ours.shape != theirs.shape:
            return Verdict(DIFFERENT, f"shapes: {list(ours.shape)}, not {list(theirs.shape)}")
        difference = ((ours - theirs).abs().max() / theirs.abs().max()).item()
        if difference <= TOLERANCE:
            return Verdict(EQUAL)
        if names_one_of(log, words):
            return Verdict(SAID, log)
        return Verdict(DIFFERENT, f"logits: differ by {difference:.1e} of the largest: {log}")


KIND = Models
