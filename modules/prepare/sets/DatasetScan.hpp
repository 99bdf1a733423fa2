#pragma once
/// \file Which images go into the shards, before any is written.

#include <cstdint>
#include <vector>

#include "prepare/images/ImageSource.hpp"
#include "prepare/sets/Prepare.hpp"

namespace multicard {

struct DatasetScan {
  std::vector<std::int64_t> kept;  ///< places in the source, ascending
  std::int64_t num_skipped = 0;
  ImageShape shape;  ///< of all images as they will be stored
};

/// Collective. Looks at the first images of the source, the ranks at equal parts: labels, shapes, and with skip_bad
/// whether they can be decoded at all. Lists what is left out. Grey images among colour ones become colour.
/// \throws DataError on all ranks: a label that is no class, images of different sizes without options.size, an
/// unreadable one, nothing left.
DatasetScan scan_images(const ImageSource& source, const PrepareOptions& options, std::int64_t num_classes,
                        const Communicator& communicator);

}  // namespace multicard
