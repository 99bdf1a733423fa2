#pragma once
// Whole runs that tune the small language model with the batches, the start and the recipe of the PEFT oracle.

#include <fstream>

#include <ATen/ops/sum.h>
#include <nlohmann/json.hpp>

#include "prepare/sets/TextPrepare.hpp"
#include "state/TensorFile.hpp"
#include "support/task_run.hpp"

namespace multicard::test {

inline const std::string kModelFolder = source_path("tests/data/models/tinystories-656K").string();

inline std::string lora_oracle(const std::string& file) {
  return source_path("tests/data/oracles/lora/" + file).string();
}

/// The batches of 4 rows of an oracle as shards scratch/oracle-*, in its order and without padding.
inline void write_oracle_shards(const ScratchFolder& scratch,
                                const std::string& source = lora_oracle("batches.safetensors")) {
  if (world().is_root()) {
    const TensorFile batches(source);
    const at::Tensor ids = batches.load("input_ids").flatten(0, 1), labels = batches.load("labels").flatten(0, 1);
    const at::Tensor lengths = batches.load("attention_mask").flatten(0, 1).sum(1);
    std::ofstream out(scratch / "oracle.jsonl");
    for (std::int64_t row = 0; row < ids.size(0); ++row) {
      const auto list = [&](const at::Tensor& values) {
        const auto* first = values[row].const_data_ptr<std::int64_t>();
        return std::vector<std::int64_t>(first, first + lengths[row].item<std::int64_t>());
      };
      out << nlohmann::json{{"input_ids", list(ids)}, {"labels", list(labels)}} << "\n";
    }
  }
  world().barrier();
  TextPrepareOptions options;
  options.type = DatasetType::tokens;
  options.inputs = {scratch / "oracle.jsonl"};
  options.output = scratch / "oracle";
  options.num_shards = 3;
  options.quiet = true;
  prepare_text(options, world());
}

/// The oracle's recipe, in `precision`.
inline RunOptions oracle_recipe(const ScratchFolder& scratch, const std::string& precision) {
  RunOptions options;
  options.task = TaskName::llm;
  options.model.path = kModelFolder;
  options.model.name = "llama";
  options.model.dtype = value_of<WeightDtype>(precision, kWeightDtypeWords).value();
  options.model.adapter = lora_oracle("adapter_init");
  options.precision = value_of<Precision>(precision, kPrecisionWords).value();
  options.data.train = scratch / "oracle-*.h5";
  options.data.shuffle = false;
  options.optimizer.name = OptimizerName::adamw;
  options.optimizer.learning_rate = 1e-3;
  options.optimizer.weight_decay = 0.01;
  options.optimizer.clip_norm = 1.0;
  options.schedule.name = ScheduleName::cosine;
  options.schedule.warmup_steps = 5;
  options.run.output = scratch / "out";
  options.run.global_batch = 4;
  options.run.keep_checkpoints = 0;
  options.evaluate.every_epochs = 0;
  return options;
}

}  // namespace multicard::test
