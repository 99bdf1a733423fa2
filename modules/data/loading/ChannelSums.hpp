#pragma once
/// \file Mean and standard deviation of bytes.

#include <cstdint>
#include <span>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// Sums over pixels in whole numbers, so that they do not depend on the order or the number of ranks. Good for 2^48
/// pixels.
class ChannelSums {
 public:
  explicit ChannelSums(std::int64_t channels);

  /// Pixels with channels next to each other.
  void add(std::span<const std::uint8_t> pixels);
  /// Collective. Adds up the sums of all ranks.
  void reduce(const Communicator& communicator);

  /// Of byte / 255, per channel.
  std::vector<double> mean() const;
  std::vector<double> std() const;

 private:
  double mean_byte(std::size_t channel) const;

  std::vector<std::uint64_t> sums_, squares_;
  std::uint64_t num_pixels_ = 0;
};

}  // namespace multicard
