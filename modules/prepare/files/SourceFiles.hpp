#pragma once
/// \file The files that a set of shards is made from.

#include <string>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

struct SourceFile {
  std::string path;
  std::string name;  ///< the part of the path that identifies it within the source
};

/// Collective. SHA-256 of the lines that sha256sum prints for the files, by name; the ranks hash equal parts.
std::string hash_files(const std::vector<SourceFile>& files, const Communicator& communicator);

}  // namespace multicard
