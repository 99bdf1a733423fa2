#pragma once
/// \file What opening the data of a task has found, as a value.

#include <memory>
#include <optional>

#include "comm/Communicator.hpp"
#include "data/loading/TextDataSource.hpp"
#include "data/shards/ImageShards.hpp"

namespace multicard {

/// Of images or of text. With it the data of the same deck is opened again, on any ranks, without being scanned.
struct TaskScan {
  std::shared_ptr<const ImageSetScan> training_images = nullptr, test_images = nullptr;
  std::optional<TextSetScan> training_text = std::nullopt, test_text = std::nullopt;

  bool is_empty() const { return !training_images && !training_text; }
};

/// Collective. Ranks whose scan is empty get root's; nothing is sent where none is.
void share(TaskScan& scan, const Communicator& communicator, int root);

}  // namespace multicard
