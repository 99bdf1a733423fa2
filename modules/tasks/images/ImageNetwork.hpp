#pragma once
/// \file The network of a deck, ready to train.

#include <memory>
#include <string>
#include <vector>

#include "nn/vision/Network.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// The network that `options` names with `num_classes` outputs, on `device`, in the type and layout of the run, with
/// the deck's starting weights and its frozen parameters. Where a file of weights has another number of classes, all
/// but the classifier is taken from it, and the classifier is initialised from scratch.
/// \throws UsageError and DataError about the options and the file.
std::unique_ptr<Network> make_image_network(const RunOptions& options, std::int64_t num_classes, at::Device device);

/// The classes that weights were trained on, in the order of their outputs: those of a checkpoint's folder, or of a
/// file in one. None where they are unknown.
std::vector<std::string> classes_of_weights(const std::string& path);

/// The memory format of a deck's data.layout.
at::MemoryFormat memory_format(const RunOptions& options);

}  // namespace multicard
