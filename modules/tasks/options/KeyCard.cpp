#include "tasks/options/KeyCard.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "config/ForeignNames.hpp"

namespace multicard {

namespace {

std::string plain(std::string text) {
  std::erase(text, '`');
  return text;
}

/// Where no word and no default makes an example, or the key has a meaning only with others.
constexpr std::array kExamples{
    std::pair{"task", "llm model.path=models/llama-3.2-1b data.train='data/mine/train*.h5'"},
    std::pair{"model.classes", "10"},
    std::pair{"model.dropout", "0.1"},
    std::pair{"model.weights", "weights/mobilenet_v2.safetensors"},
    std::pair{"model.freeze", "'[\"features.*\"]'"},
    std::pair{"model.path", "models/llama-3.2-1b"},
    std::pair{"model.adapter", "adapters/first"},
    std::pair{"method.targets", "'[q_proj, v_proj]'"},
    std::pair{"method.rank_pattern", "'{q_proj: 32}'"},
    std::pair{"method.alpha_pattern", "'{q_proj: 64}'"},
    std::pair{"method.modules_to_save", "'[lm_head]'"},
    std::pair{"method.dropout", "0.05"},
    std::pair{"method.neftune_alpha", "5"},
    std::pair{"method.label_smoothing", "0.1 method.name=dpo"},
    std::pair{"method.length_average", "true method.name=dpo"},
    std::pair{"method.beta", "0.2 method.name=dpo"},
    std::pair{"method.loss", "ipo method.name=dpo"},
    std::pair{"method.reference", "copy method.name=lora-dpo"},
    std::pair{"method.group_size", "128 method.name=qat"},
    std::pair{"method.fake_quant_step", "100 method.name=qat"},
    std::pair{"method.double_quant", "false method.name=qlora"},
    std::pair{"method.block_size", "64 method.name=qlora"},
    std::pair{"data.train", "'data/mine/train*.h5'"},
    std::pair{"data.test", "'data/mine/test*.h5'"},
    std::pair{"data.packing", "true data.max_length=2048"},
    std::pair{"data.max_length", "2048"},
    std::pair{"data.overlong", "drop data.max_length=2048"},
    std::pair{"data.augment.horizontal_flip", "0.5"},
    std::pair{"data.augment.random_resized_crop", "'[0.35, 1]'"},
    std::pair{"data.augment.crop_ratio", "'[0.9, 1.1]' data.augment.random_resized_crop='[0.35, 1]'"},
    std::pair{"data.normalize.mean", "'[0.5]' data.normalize.std='[0.25]'"},
    std::pair{"data.normalize.std", "'[0.25]' data.normalize.mean='[0.5]'"},
    std::pair{"data.limit", "1000"},
    std::pair{"parallel.bucket_mb", "25"},
    std::pair{"parallel.powersgd_rank", "2"},
    std::pair{"parallel.powersgd_start_step", "100 parallel.powersgd_rank=2"},
    std::pair{"optimizer.learning_rate", "0.01"},
    std::pair{"optimizer.momentum", "0.9"},
    std::pair{"optimizer.nesterov", "true optimizer.momentum=0.9"},
    std::pair{"optimizer.weight_decay", "0.01"},
    std::pair{"optimizer.betas", "'[0.9, 0.95]' optimizer.name=adamw"},
    std::pair{"optimizer.eps", "1e-6 optimizer.name=adamw"},
    std::pair{"optimizer.label_smoothing", "0.1"},
    std::pair{"optimizer.clip_norm", "1"},
    std::pair{"schedule.warmup_steps", "100"},
    std::pair{"schedule.total_steps", "5000 schedule.name=cosine"},
    std::pair{"schedule.min_factor", "0.1 schedule.name=cosine"},
    std::pair{"schedule.step_size", "30 schedule.name=step"},
    std::pair{"schedule.gamma", "0.5 schedule.name=step schedule.step_size=30"},
    std::pair{"run.output", "results/first"},
    std::pair{"run.epochs", "3"},
    std::pair{"run.steps", "500"},
    std::pair{"run.batch_per_rank", "32"},
    std::pair{"run.micro_batch", "auto"},
    std::pair{"run.seed", "7"},
    std::pair{"run.ema_decay", "0.999"},
    std::pair{"run.prometheus", "metrics/first.prom"},
    std::pair{"run.wall_limit", "1:30:00"},
    std::pair{"run.resume", "never"},
    std::pair{"evaluate.every_epochs", "2"},
    std::pair{"evaluate.every_steps", "500"},
    std::pair{"evaluate.limit", "1000"},
    std::pair{"evaluate.patience", "3"},
    std::pair{"evaluate.min_delta", "0.001 evaluate.patience=3"},
    std::pair{"evaluate.questions.file", "questions.jsonl"},
    std::pair{"evaluate.questions.limit", "20 evaluate.questions.file=questions.jsonl"},
    std::pair{"evaluate.questions.max_new", "128 evaluate.questions.file=questions.jsonl"},
    std::pair{"profile.trace", "true profile.enabled=true"},
    std::pair{"evaluate.prompts", "'[\"What is MPI?\"]'"},
};

/// Of which the type begins with a word for any value; the others list the words that they take.
bool takes_any(const std::string& type) {
  constexpr std::array kKinds{"integer", "number", "list", "map", "path", "string", "seconds"};
  return std::any_of(kKinds.begin(), kKinds.end(), [&](const char* kind) { return type.starts_with(kind); });
}

std::string section_of(std::string_view path) {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? "Top" : std::string(path.substr(0, dot));
}

std::string effect_in_words(const DeckKey& key) {
  const char* const on_resume = key.is_fixed() ? "a run resumes only with the same value" : "may change on resume";
  constexpr std::array<const char*, 5> kMeanings{
      "another model or other data", "a step computes something else", "the same work learns something else",
      "the training is done another way, at another speed", "another length, output or record of the run"};
  return fmt::format("{}; {}", kMeanings.at(static_cast<std::size_t>(key.effect)), on_resume);
}

std::string value_for(const DescribedKey& described) {
  const auto& [key, reading] = described;
  for (const auto& [path, value] : kExamples)
    if (key.path == path) return value;
  const std::vector<std::string> words = words_of(reading);
  const std::string fallback = plain(reading.fallback);
  const auto other = std::find_if(words.begin(), words.end(), [&fallback](const std::string& word) {
    return fallback != word && !fallback.starts_with(word + ";");
  });
  return other != words.end() ? *other : fallback;
}

}  // namespace

std::vector<std::string> words_of(const KeyReading& reading) {
  const std::string type = plain(reading.type);
  if (type == "boolean") return {"true", "false"};
  constexpr std::string_view kOr = ", or ";
  if (takes_any(type)) {
    const std::size_t at = type.find(kOr);
    return at == std::string::npos ? std::vector<std::string>{} : std::vector{type.substr(at + kOr.size())};
  }
  std::vector<std::string> words = split(type, ',');
  for (std::string& word : words)
    word.erase(0, word.find_first_not_of(' '));
  return words;
}

std::vector<std::string> example_of(const DescribedKey& key) {
  const std::string text = fmt::format("{}={}", key.key.path, value_for(key));
  // A blank parts overrides, but not what is quoted.
  std::vector<std::string> words(1);
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '\'') is_quoted = !is_quoted;
    if (c == ' ' && !is_quoted)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

std::string key_card(const DescribedKey& described) {
  const auto& [key, reading] = described;
  std::string out = std::string(key.path) + "\n";
  const auto row = [&](const char* name, const std::string& text) { out += fmt::format("  {:<10}{}\n", name, text); };
  row("meaning", plain(std::string(key.help)));
  if (!key.notes.reserved.empty()) row("later", "not available yet: " + std::string(key.notes.reserved));
  row("type", plain(reading.type));
  row("default", plain(reading.fallback));
  if (key.tasks != KeyTasks::any) row("decks", fmt::format("of task {} only", text_of(key.tasks)));
  row("effect", effect_in_words(key));
  const std::string task = key.tasks == KeyTasks::llm ? "llm" : "image";
  row("example", fmt::format("multicard run inputs/{} {}", task == "llm" ? "llm/lora.yaml" : "image/tiny.yaml",
                             join(example_of(described), " ")));
  row("document", fmt::format("docs/decks.md, \"{}\"", section_of(key.path)));
  return out;
}

std::vector<DescribedKey> keys_named(const std::string& name) {
  const std::vector<DescribedKey> all = describe_run_keys();
  const auto those = [&](const auto& is_meant) {
    std::vector<DescribedKey> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const DescribedKey& one) { return is_meant(std::string(one.key.path)); });
    return found;
  };
  const std::string own = own_key(name.substr(name.rfind('.') + 1)).value_or("");
  if (auto found = those([&](const std::string& path) { return path == name; }); !found.empty()) return found;
  if (auto found = those([&](const std::string& path) { return path.starts_with(name + "."); }); !found.empty())
    return found;
  if (auto found = those([&](const std::string& path) { return path == own; }); !found.empty()) return found;
  return those([&](const std::string& path) { return path.ends_with("." + name); });
}

}  // namespace multicard
