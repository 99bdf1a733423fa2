#include "config/LanguageKeys.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "config/Unavailable.hpp"

namespace multicard {

namespace {

constexpr int kMostRank = 65536;
constexpr std::size_t kMostPrompts = 20;

struct TaskKey {
  const char* task;  ///< the one that has it
  const char* section;
  const char* key;
};

constexpr std::array kTaskKeys{
    TaskKey{"llm", "", "method"},
    TaskKey{"llm", "model", "path"},
    TaskKey{"llm", "model", "dtype"},
    TaskKey{"llm", "model", "random_weights"},
    TaskKey{"llm", "model", "adapter"},
    TaskKey{"llm", "model", "activation_checkpointing"},
    TaskKey{"llm", "model", "trainable_dtype"},
    TaskKey{"llm", "data", "packing"},
    TaskKey{"llm", "data", "max_length"},
    TaskKey{"llm", "data", "overlong"},
    TaskKey{"llm", "evaluate", "questions"},
    TaskKey{"llm", "evaluate", "prompts"},
    TaskKey{"llm", "evaluate", "max_new"},
    TaskKey{"image", "model", "name"},
    TaskKey{"image", "model", "width"},
    TaskKey{"image", "model", "classes"},
    TaskKey{"image", "model", "dropout"},
    TaskKey{"image", "model", "weights"},
    TaskKey{"image", "model", "freeze"},
    TaskKey{"image", "model", "freeze_batch_norm"},
    TaskKey{"image", "data", "image_size"},
    TaskKey{"image", "data", "pipeline"},
    TaskKey{"image", "data", "layout"},
    TaskKey{"image", "data", "workers"},
    TaskKey{"image", "data", "augment"},
    TaskKey{"image", "data", "normalize"},
    TaskKey{"image", "parallel", "sync_batch_norm"},
    TaskKey{"image", "optimizer", "label_smoothing"},
};

}  // namespace

ModelOptions read_language_model(Section section) {
  ModelOptions model;
  model.path = section.has("path") ? section.path("path", "") : section.require<std::string>("path");
  model.name = "llama";
  model.dtype = section.choice("dtype", model.dtype, {"fp64", "fp32", "fp16", "bf16"});
  model.trainable_dtype = section.choice("trainable_dtype", model.trainable_dtype, {"fp32", "bf16"});
  model.random_weights = section.get("random_weights", model.random_weights);
  model.adapter = section.optional_path("adapter");
  model.activation_checkpointing = section.get("activation_checkpointing", model.activation_checkpointing);
  return model;
}

MethodOptions read_method(Section section, const ModelOptions& model) {
  MethodOptions method;
  method.name = section.get("name", method.name);
  if (!is_later_method(method.name)) section.choice("name", method.name, {"full", "lora"});
  if (method.name == "full") {
    for (const char* key : {"rank", "alpha", "dropout", "rslora", "targets"})
      if (section.has(key))
        section.reject(key, "belongs to adapters", "method.name is full",
                       "Remove it, or replace the whole section with method={name: full}.");
    if (model.adapter)
      section.reject("name", "full tuning does not start from an adapter", "model.adapter is set",
                     "Merge it first, or use lora.");
    return method;
  }
  constexpr double kAnyNumber = std::numeric_limits<double>::max();
  method.dropout = section.get_in_range("dropout", method.dropout, 0.0, kBelowOne);
  if (model.adapter) {  // which says the rest; what the deck says too must be the same
    method.rank = section.optional_in_range("rank", 1, kMostRank);
    method.alpha = section.optional_in_range("alpha", kAboveZero, kAnyNumber);
    method.rslora = section.optional<bool>("rslora");
    method.targets = section.list<std::string>("targets", {});
    return method;
  }
  method.rank = section.get_in_range("rank", 16, 1, kMostRank);
  method.alpha = section.get_in_range("alpha", 32.0, kAboveZero, kAnyNumber);
  method.rslora = section.get("rslora", false);
  method.targets = section.list<std::string>("targets", {"all-linear"});
  if (method.targets.empty()) section.reject("targets", "is empty", "nothing would be tuned");
  return method;
}

void read_rows(Section& section, DataOptions& data) {
  data.packing = section.get("packing", data.packing);
  data.max_length = section.optional_in_range<std::int64_t>("max_length", 2, std::numeric_limits<std::int32_t>::max());
  data.overlong = section.choice("overlong", data.overlong, {"cut", "drop", "error"});
  if (data.packing && !data.max_length)
    section.reject("packing", "needs data.max_length", "a pack holds at most that many tokens",
                   "Set it, e.g. to 2048.");
}

void read_asked(Section& evaluate, EvaluateOptions& options) {
  if (evaluate.has("questions")) {
    Section section = evaluate.section("questions");
    QuestionOptions& questions = options.questions.emplace();
    questions.file = section.has("file") ? section.path("file", "") : section.require<std::string>("file");
    questions.limit = section.optional_in_range<std::int64_t>("limit", 1, std::numeric_limits<std::int64_t>::max());
    questions.max_new = section.get_in_range<std::int64_t>("max_new", questions.max_new, 1, kMostNewTokens);
  }
  options.prompts = evaluate.list<std::string>("prompts", {});
  options.max_new = evaluate.get_in_range<std::int64_t>("max_new", options.max_new, 1, kMostNewTokens);
  if (options.prompts.size() > kMostPrompts)
    evaluate.reject("prompts", fmt::format("expected at most {} texts, got {}", kMostPrompts, options.prompts.size()));
  if (std::find(options.prompts.begin(), options.prompts.end(), "") != options.prompts.end())
    evaluate.reject("prompts", "holds an empty text", "there is nothing to answer");
}

void refuse_keys_of_other_task(Section& root, const Deck& deck, const std::string& task) {
  for (const TaskKey& entry : kTaskKeys) {
    const std::string name = entry.section;
    if (entry.task == task) continue;
    const std::string path = name.empty() ? entry.key : fmt::format("{}.{}", name, entry.key);
    if (deck.root().find_path(path) == nullptr) continue;
    Section section = name.empty() ? root : root.section(name);
    if (section.has(entry.key))
      section.reject(entry.key, fmt::format("belongs to task {}", entry.task), fmt::format("this deck's is {}", task));
  }
}

}  // namespace multicard
