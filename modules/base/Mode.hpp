#pragma once
/// \file What a network computes for.

namespace multicard {

/// Training uses the statistics of the batch and dropout; evaluation uses the running statistics.
enum class Mode { train, evaluate };

}  // namespace multicard
