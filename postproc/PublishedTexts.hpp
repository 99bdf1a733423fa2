#pragma once
/// \file The option of all commands of multicard-post about what is left out of texts.

#include "postproc/reduce/ProvenanceFilter.hpp"

namespace multicard::post {

inline constexpr const char* kFullProvenance =
    "Publish addresses, home folders and secrets too, which are filtered from texts of the results file";

inline ProvenanceFilter filter_of(bool is_full) {
  return ProvenanceFilter(is_full ? Privacy::full : Privacy::filtered);
}

}  // namespace multicard::post
