#pragma once
/// \file Where runs come from.

#include <map>
#include <string>
#include <vector>

#include "results/ResultsReader.hpp"

namespace multicard::post {

/// A results file: who wrote it, where and how.
struct Source {
  std::string path;
  std::map<std::string, std::string> attributes;   ///< of the root: version, created_utc, command_line, …
  std::map<std::string, std::string> provenance;   ///< hosts, cpu, gpus, …
  std::map<std::string, std::string> environment;  ///< variables
  std::vector<SettingKey> keys;                    ///< what its program knew of the keys of decks
  AllocationRecord allocation = {};                ///< of a share: who had which ranks when
  std::vector<std::string> hosts = {};             ///< of each rank
};

}  // namespace multicard::post
