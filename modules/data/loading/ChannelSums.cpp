#include "data/loading/ChannelSums.hpp"

#include <algorithm>
#include <cmath>

namespace multicard {

ChannelSums::ChannelSums(std::int64_t channels)
    : sums_(static_cast<std::size_t>(channels)), squares_(static_cast<std::size_t>(channels)) {}

void ChannelSums::add(std::span<const std::uint8_t> pixels) {
  const std::size_t channels = sums_.size();
  // One channel at a time with plain local sums: a 64-bit sum of squares holds 2^48 pixels of 255^2.
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::uint64_t sum = 0, squares = 0;
    for (std::size_t i = channel; i < pixels.size(); i += channels) {
      const std::uint64_t byte = pixels[i];
      sum += byte;
      squares += byte * byte;
    }
    sums_[channel] += sum;
    squares_[channel] += squares;
  }
  if (channels > 0) num_pixels_ += pixels.size() / channels;
}

void ChannelSums::reduce(const Communicator& communicator) {
  communicator.allreduce(std::span(sums_), ReduceOp::sum);
  communicator.allreduce(std::span(squares_), ReduceOp::sum);
  num_pixels_ = communicator.allreduce(num_pixels_, ReduceOp::sum);
}

double ChannelSums::mean_byte(std::size_t channel) const {
  return static_cast<double>(sums_[channel]) / static_cast<double>(num_pixels_);
}

std::vector<double> ChannelSums::mean() const {
  std::vector<double> values;
  for (std::size_t channel = 0; channel < sums_.size(); ++channel)
    values.push_back(mean_byte(channel) / 255);
  return values;
}

// Population variance as E[x^2] - E[x]^2. The textbook danger of cancellation does not arise: the sums are exact
// integers, and the difference of two doubles below 2^16 is right to about 2^-36.
std::vector<double> ChannelSums::std() const {
  std::vector<double> values;
  for (std::size_t channel = 0; channel < sums_.size(); ++channel) {
    const double mean = mean_byte(channel);
    const double variance = static_cast<double>(squares_[channel]) / static_cast<double>(num_pixels_) - mean * mean;
    values.push_back(std::sqrt(std::max(0.0, variance)) / 255);
  }
  return values;
}

}  // namespace multicard
