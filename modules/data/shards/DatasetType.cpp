#include "data/shards/DatasetType.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {

DatasetType dataset_type(std::string_view name) {
  if (const auto type = value_of<DatasetType>(name, kDatasetTypeWords)) return *type;
  throw UsageError(fmt::format("there is no dataset type {}", name), "",
                   fmt::format("Use one of {}.", join(texts_of<DatasetType>(kDatasetTypeWords), ", ")));
}

std::string name_of(DatasetType type) {
  return std::string(word_of(type, kDatasetTypeWords));
}

LossOn loss_on(std::string_view name) {
  if (const auto loss = value_of<LossOn>(name, kLossOnWords)) return *loss;
  throw UsageError(fmt::format("--loss {} is unknown", name), "", "Use completion or all.");
}

}  // namespace multicard
