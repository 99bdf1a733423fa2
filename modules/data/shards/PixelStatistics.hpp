#pragma once
/// \file Mean and deviation of pixels among the numbers of a checkpoint, so that it can be evaluated without the
/// training shards.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace multicard {

/// Per channel, of pixel / 255.
struct PixelStatistics {
  std::vector<double> mean, std;
};

/// "normalize.mean.0", ... and "normalize.std.0", ...
std::map<std::string, double> numbers_of(const PixelStatistics& statistics);
/// The reverse; none when `numbers` hold none.
std::optional<PixelStatistics> pixel_statistics_from(const std::map<std::string, double>& numbers);

}  // namespace multicard
