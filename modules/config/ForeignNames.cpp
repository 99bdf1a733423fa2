#include "config/ForeignNames.hpp"

#include <array>
#include <span>

namespace multicard {

namespace {

struct ForeignName {
  const char* foreign;
  const char* own;
};

// Names of PEFT (r, target_modules), torchtune and Lightning (batch_size, max_epochs), transformers (max_steps,
// per_device_train_batch_size), LLaMA-Factory (cutoff_len, lora_rank) and PyTorch (channels_last). Not all are the same
// quantity (warmup_ratio, gradient_accumulation_steps): the key is where a deck sets what they set.
constexpr std::array kKeys{
    ForeignName{"r", "method.rank"},
    ForeignName{"lora_r", "method.rank"},
    ForeignName{"lora_rank", "method.rank"},
    ForeignName{"lora_alpha", "method.alpha"},
    ForeignName{"lora_dropout", "method.dropout"},
    ForeignName{"target_modules", "method.targets"},
    ForeignName{"lora_target", "method.targets"},
    ForeignName{"use_rslora", "method.rslora"},
    ForeignName{"model_name_or_path", "model.path"},
    ForeignName{"torch_dtype", "model.dtype"},
    ForeignName{"gradient_checkpointing", "model.activation_checkpointing"},
    ForeignName{"max_seq_length", "data.max_length"},
    ForeignName{"truncation", "data.overlong"},
    ForeignName{"max_samples", "data.limit"},
    ForeignName{"max_train_samples", "data.limit"},
    ForeignName{"channels_last", "data.layout"},
    ForeignName{"memory_format", "data.layout"},
    ForeignName{"cutoff_len", "data.max_length"},
    ForeignName{"lr", "optimizer.learning_rate"},
    ForeignName{"max_grad_norm", "optimizer.clip_norm"},
    ForeignName{"lr_scheduler_type", "schedule.name"},
    ForeignName{"warmup_ratio", "schedule.warmup_steps"},
    ForeignName{"num_warmup_steps", "schedule.warmup_steps"},
    ForeignName{"output_dir", "run.output"},
    ForeignName{"num_train_epochs", "run.epochs"},
    ForeignName{"max_steps", "run.steps"},
    ForeignName{"gradient_accumulation_steps", "run.micro_batch"},
    ForeignName{"per_device_train_batch_size", "run.batch_per_rank"},
    ForeignName{"train_batch_size", "run.global_batch"},
    ForeignName{"batch_size", "run.global_batch"},
    ForeignName{"micro_batch_size", "run.micro_batch"},
    ForeignName{"max_epochs", "run.epochs"},
    ForeignName{"num_epochs", "run.epochs"},
    ForeignName{"max_steps_per_epoch", "run.steps"},
    ForeignName{"max_seq_len", "data.max_length"},
    ForeignName{"num_workers", "data.workers"},
    ForeignName{"dataset", "data.train"},
    ForeignName{"base_model", "model.path"},
    ForeignName{"clip_grad_norm", "optimizer.clip_norm"},
    ForeignName{"wd", "optimizer.weight_decay"},
    ForeignName{"compute_dtype", "precision"},
    ForeignName{"logging_steps", "run.log_every"},
    ForeignName{"save_steps", "run.checkpoint_every"},
    ForeignName{"save_total_limit", "run.keep_checkpoints"},
    ForeignName{"eval_steps", "evaluate.every_steps"},
};

constexpr std::array kWords{
    ForeignName{"bfloat16", "bf16"}, ForeignName{"float16", "fp16"}, ForeignName{"half", "fp16"},
    ForeignName{"float32", "fp32"},  ForeignName{"float", "fp32"},   ForeignName{"float64", "fp64"},
    ForeignName{"double", "fp64"},
};

std::optional<std::string> find(std::span<const ForeignName> names, const std::string& foreign) {
  for (const ForeignName& name : names)
    if (foreign == name.foreign) return name.own;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> own_key(const std::string& key) {
  return find(kKeys, key);
}

std::optional<std::string> own_word(const std::string& word) {
  return find(kWords, word);
}

}  // namespace multicard
