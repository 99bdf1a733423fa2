"""Tuning methods as users of transformers, PEFT, bitsandbytes, torchao and TRL write them, for bench/peer_llm.py.

full           transformers; trained weights in float32
lora, qlora    PEFT; the base of qlora in NF4 with double quantisation by bitsandbytes
qat, lora-qat  torchao's 8da4w fake quantisation of the linear layers of the blocks, with lora-qat of those below PEFT's
               adapters
…dpo           TRL's DPOTrainer; the reference is a copy (dpo) or the model without its adapters
"""
import time

import torch

METHODS = ["full", "lora", "qlora", "qat", "lora-qat", "dpo", "lora-dpo", "qlora-dpo"]


def has_adapters(method):
    return "lora" in method


def is_preference(method):
    return method.endswith("dpo")


def load_options(method, precision):
    """What from_pretrained is given: frozen weights have the type of the precision, trained ones are float32."""
    frozen = torch.bfloat16 if precision == "bf16" else torch.float32
    settings = {"dtype": frozen if has_adapters(method) else torch.float32, "attn_implementation": "sdpa"}
    if method.startswith("qlora"):
        import transformers
        settings["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=frozen)
        settings["device_map"] = {"": "cpu"}
    return settings


def with_fake_quantisation(model, group_size):
    """Linear layers of the blocks, but not adapters or lm_head, multiply rounded activations and weights."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_
    from torchao.quantization.qat import QATConfig
    base = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(group_size))

    def is_of_block(module, name):
        return isinstance(module, torch.nn.Linear) and ".layers." in name and "lora_" not in name

    quantize_(model, QATConfig(base, step="prepare"), filter_fn=is_of_block)
    return model


def with_method(model, options):
    """Adds adapters and fake quantisation to a model that load_options() loaded."""
    if has_adapters(options.method):
        import peft
        model = peft.get_peft_model(model, peft.LoraConfig(
            r=options.rank, lora_alpha=options.alpha, target_modules="all-linear", task_type="CAUSAL_LM"))
    if options.method.endswith("qat"):
        model = with_fake_quantisation(model, options.group_size)
    return model


def train_preferences(options, model, rows):
    """Trains `rows` ({"prompt_ids", "chosen_ids", "rejected_ids"}) with TRL; seconds and losses of the steps."""
    import datasets
    import transformers
    import trl

    class Stopwatch(transformers.TrainerCallback):
        def __init__(self):
            self.seconds = []

        def on_step_begin(self, *_, **__):
            self.start = time.perf_counter()

        def on_step_end(self, *_, **__):
            self.seconds.append(time.perf_counter() - self.start)

    class OnIds(trl.DPOTrainer):
        def _prepare_dataset(self, dataset, *_, **__):
            return dataset  # it is tokenised

    watch = Stopwatch()
    steps = options.warmup + options.steps
    settings = trl.DPOConfig(
        output_dir=options.scratch, per_device_train_batch_size=options.batch, max_steps=steps, beta=0.1,
        learning_rate=options.learning_rate, lr_scheduler_type="constant", weight_decay=options.weight_decay,
        max_grad_norm=0, max_length=None, bf16=options.precision == "bf16", use_cpu=True, logging_steps=1,
        save_strategy="no", report_to=[], gradient_checkpointing=False, disable_tqdm=True)
    # A fingerprint of its own: datasets cannot make one of this pyarrow's tables.
    dataset = datasets.Dataset(datasets.table.InMemoryTable.from_pylist(rows), fingerprint="rows")
    trainer = OnIds(model=model, args=settings, train_dataset=dataset, callbacks=[watch],
                    processing_class=transformers.AutoTokenizer.from_pretrained(options.model))
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return watch.seconds, losses
