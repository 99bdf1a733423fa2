#include "device/NumaNodes.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace multicard {

std::vector<int> numbers_in(const std::string& list) {
  std::vector<int> numbers;
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    char dash = 0;
    std::istringstream ends(range);
    if (!(ends >> first)) continue;
    if (!(ends >> dash >> last)) last = first;
    for (int number = first; number <= last; ++number)
      numbers.push_back(number);
  }
  return numbers;
}

std::vector<int> numa_nodes_of(const std::string& cpus, const std::string& system) {
  const std::vector<int> wanted = numbers_in(cpus);
  std::vector<int> nodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(system, error)) {
    const std::string name = entry.path().filename().string();
    // The folder also has files, such as has_cpu and online.
    if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos) continue;
    std::string list;
    std::ifstream file(entry.path() / "cpulist");
    std::getline(file, list);
    const std::vector<int> own = numbers_in(list);
    if (std::find_first_of(own.begin(), own.end(), wanted.begin(), wanted.end()) != own.end())
      nodes.push_back(std::stoi(name.substr(4)));
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace multicard
