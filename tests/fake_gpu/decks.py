"""The decks of inputs/ on the fake GPU: data and models of their shapes, made here, and what one step of each does."""

import dataclasses
import gzip
import json
import random
import shutil
import struct

from pathlib import Path

from fake_run import SOURCE, TINY_MODEL, counts_of_steps, make_image_data, make_text_data, prepare

# SmolLM2-135M's config.json (Hugging Face, Apache-2.0), as far as it says what is computed.
SMOLLM2 = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 49152, "hidden_size": 576,
    "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
    "hidden_act": "silu", "max_position_embeddings": 8192, "rms_norm_eps": 1e-05, "rope_theta": 100000,
    "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True, "initializer_range": 0.02,
    "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "bfloat16",
}
COUNTED = ["run.device=cuda", "run.keep_checkpoints=0", "run.checkpoint_every=0", "run.resume=never",
           "run.epochs=null", "data.test=null", "evaluate={at_start: false, every_epochs: 0}"]


@dataclasses.dataclass
class Deck:
    name: str  # as in the table of budgets
    path: str  # below inputs/
    ranks: int = 1
    overrides: list = dataclasses.field(default_factory=list)
    steps: tuple = (4, 8)  # those that are counted: from the end of the first number to that of the second
    is_tested: bool = True  # False: the same work as another deck


DECKS = [
    Deck("image/tiny", "image/tiny.yaml"),
    Deck("image/fashion_mnist", "image/fashion_mnist.yaml"),
    Deck("image/fashion_mnist bf16", "image/fashion_mnist.yaml", overrides=["precision=bf16"]),
    Deck("image/fashion_mnist bf16, device pipeline", "image/fashion_mnist.yaml",
         overrides=["precision=bf16", "data.pipeline=device"]),
    Deck("image/fashion_mnist, 2 ranks", "image/fashion_mnist.yaml", ranks=2),
    Deck("image/fashion_mnist, synchronised batch norm, 2 ranks", "image/fashion_mnist.yaml", ranks=2,
         overrides=["parallel.sync_batch_norm=true"]),
    Deck("image/sign_language", "image/sign_language.yaml"),
    Deck("llm/tinystories", "llm/tinystories.yaml"),
    Deck("llm/lora", "llm/lora.yaml"),
    Deck("llm/lora, full tuning", "llm/lora.yaml", overrides=["method={name: full}"]),
    Deck("llm/dpo", "llm/dpo.yaml", steps=(2, 4)),
    Deck("llm/chat", "llm/chat.yaml", is_tested=False),
    Deck("llm/gsm8k", "llm/gsm8k.yaml", is_tested=False),
    Deck("llm/llama3_8b_1gpu", "llm/llama3_8b_1gpu.yaml", steps=(2, 4)),
    Deck("llm/llama3_8b_4gpu", "llm/llama3_8b_4gpu.yaml", ranks=4, steps=(2, 3), is_tested=False),
    Deck("llm/llama3_8b_8gpu", "llm/llama3_8b_8gpu.yaml", ranks=8, steps=(2, 3), is_tested=False),
    Deck("llm/llama3_8b_full_8gpu", "llm/llama3_8b_full_8gpu.yaml", ranks=8, steps=(1, 2), is_tested=False),
    Deck("llm/llama3_8b_dpo_8gpu", "llm/llama3_8b_dpo_8gpu.yaml", ranks=8, steps=(1, 2), is_tested=False),
    Deck("llm/llama3_70b_lora_8gpu", "llm/llama3_70b_lora_8gpu.yaml", ranks=8, steps=(1, 2), is_tested=False),
    Deck("llm/llama3_70b_qlora_8gpu_24gb", "llm/llama3_70b_qlora_8gpu_24gb.yaml", ranks=8, steps=(1, 2),
         is_tested=False),
]


def make_rows(prefix, vocabulary, length, number, shortest=None):
    """Token shards of rows of `length` random tokens (from `shortest` on), every one a target."""
    draw = random.Random(1)
    path = prefix.with_suffix(".jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(number):
            row = draw.choices(range(vocabulary), k=draw.randint(shortest or length, length))
            print(json.dumps({"input_ids": row, "labels": row}), file=file)
    prepare("text", "--type", "tokens", "--in", path, "-o", prefix)
    path.unlink()


def make_pairs(folder, number=64):
    """Shards of preference pairs with ids of the small model, which larger ones have too."""
    records = json.loads((SOURCE / "inputs/text/instruction-data-with-preference.json").read_text())[:number]
    path = Path(folder, "records.json")
    path.write_text(json.dumps(records))
    prepare("text", "--type", "preference", "--tokenizer", TINY_MODEL, "--in", path, "-o", Path(folder, "pairs"))


def make_long_pairs(folder, words, number=64):
    """Shards of preference pairs whose answers have from a quarter of `words` to `words` words."""
    draw = random.Random(2)
    vocabulary = "the cat sat on a red mat and saw two small birds fly over green hills by day".split()

    def text(most):
        return " ".join(draw.choices(vocabulary, k=draw.randint(most // 4, most)))
    records = [{"instruction": text(20), "input": "", "output": "", "chosen": text(words), "rejected": text(words)}
               for _ in range(number)]
    path = Path(folder, "records.json")
    path.write_text(json.dumps(records))
    prepare("text", "--type", "preference", "--tokenizer", TINY_MODEL, "--in", path, "-o", Path(folder, "pairs"))


def make_grey_images(folder, number=256):
    """28 x 28 values of 10 classes, in the files of Fashion-MNIST."""
    for name, header, body in (("images", (0x803, number, 28, 28), bytes(number * 28 * 28)),
                               ("labels", (0x801, number), bytes(i % 10 for i in range(number)))):
        with gzip.open(Path(folder, name + ".gz"), "wb") as file:
            file.write(struct.pack(">%dI" % len(header), *header) + body)
    prepare("images", "--format", "idx", "--images", Path(folder, "images.gz"), "--labels", Path(folder, "labels.gz"),
            "-o", Path(folder, "fashion"))


class Inputs:
    """What the decks read, in a folder; made when it is first asked for."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def made(self, name, make):
        place = self.folder / name
        if not place.exists():
            place.mkdir()
            make(place)
        return place

    def images(self, size, classes):
        place = self.made("images%d" % size, lambda to: make_image_data(to, size, 256, 8, classes))
        return "data.train=%s/train*.h5" % place

    def fashion(self):
        return "data.train=%s/fashion*.h5" % self.made("fashion", make_grey_images)

    def stories(self):
        place = self.made("stories", lambda to: make_text_data(to, number=400))
        return "data.train=%s/text-train*.h5" % place

    def pairs(self):
        place = self.made("pairs", make_pairs)
        return "data.train=%s/pairs-*.h5" % place

    def long_pairs(self, words):
        place = self.made("pairs%d" % words, lambda to: make_long_pairs(to, words))
        return "data.train=%s/pairs-*.h5" % place

    def rows(self, config, length, number):
        vocabulary = config["vocab_size"]
        place = self.made("rows%d_%d_%d" % (vocabulary, length, number),
                           lambda to: make_rows(to / "rows", vocabulary, length, number))
        return "data.train=%s/rows-*.h5" % place

    def ragged_rows(self, config, length, number):
        vocabulary = config["vocab_size"]
        place = self.made("ragged%d_%d_%d" % (vocabulary, length, number),
                           lambda to: make_rows(to / "rows", vocabulary, length, number, length // 4))
        return "data.train=%s/rows-*.h5" % place

    def smollm2(self):
        return self.made("smollm2", lambda to: Path(to, "config.json").write_text(json.dumps(SMOLLM2)))

    @staticmethod
    def shape(name):
        """A folder of inputs/llm and its config."""
        folder = SOURCE / "inputs/llm" / name
        return folder, json.loads((folder / "config.json").read_text())

    def overrides_for(self, deck):
        """Keys that give a deck its data and model."""
        if deck.path == "image/tiny.yaml":
            return [self.images(32, 4)]
        if deck.path == "image/fashion_mnist.yaml":
            return [self.fashion()]
        if deck.path == "image/sign_language.yaml":
            return [self.images(100, 10)]
        if deck.path == "llm/tinystories.yaml":
            return [self.stories(), "model.path=%s" % TINY_MODEL]
        if deck.path == "llm/dpo.yaml":
            return [self.pairs(), "model.path=%s" % self.smollm2(), "model.random_weights=true"]
        if deck.path.startswith("llm/llama3_"):
            shape, config = self.shape("llama3_8b_shape" if "_8b_" in deck.path else "llama3_70b_shape")
            rows = self.long_pairs(400) if "_dpo_" in deck.path else self.rows(config, 2048, 384)
            return [rows, "model.path=%s" % shape, "model.random_weights=true"]
        return [self.rows(SMOLLM2, 512, 64), "model.path=%s" % self.smollm2(), "model.random_weights=true"]


def counts_of_step(deck, inputs, **settings):
    """Counts of the deck's steady steps by rank, how many steps they are, and the results file of the run."""
    output = inputs.folder / "out"
    shutil.rmtree(output, True)
    ranks = counts_of_steps(str(inputs.folder / "counts"), deck.ranks, *deck.steps, "run",
                            SOURCE / "inputs" / deck.path, "run.output=%s" % output, *COUNTED,
                            *inputs.overrides_for(deck), *deck.overrides, **settings)
    return ranks, deck.steps[1] - deck.steps[0], output / "results.h5"
