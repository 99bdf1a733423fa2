#include "data/DatasetType.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

constexpr std::array<std::pair<DatasetType, const char*>, 7> kNames{{
    {DatasetType::alpaca, "alpaca"},
    {DatasetType::chat, "chat"},
    {DatasetType::prompt_completion, "prompt-completion"},
    {DatasetType::text, "text"},
    {DatasetType::question_answer, "question-answer"},
    {DatasetType::preference, "preference"},
    {DatasetType::tokens, "tokens"},
}};

}  // namespace

DatasetType dataset_type(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [type, known] : kNames) {
    if (name == known) return type;
    names.emplace_back(known);
  }
  throw UsageError(fmt::format("there is no dataset type {}", name), "",
                   fmt::format("Use one of {}.", join(names, ", ")));
}

std::string name_of(DatasetType type) {
  for (const auto& [known, name] : kNames)
    if (known == type) return name;
  return {};
}

LossOn loss_on(std::string_view name) {
  if (name == "completion") return LossOn::completion;
  if (name == "all") return LossOn::all;
  throw UsageError(fmt::format("--loss {} is unknown", name), "", "Use completion or all.");
}

}  // namespace multicard
