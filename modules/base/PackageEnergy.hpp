#pragma once
/// \file The energy that the processors of this machine have used, by RAPL (Linux, Documentation/power/powercap).

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace multicard {

/// Adds up the counters of all processor packages, which begin again at 0 every few minutes to hours.
class PackageEnergy {
 public:
  explicit PackageEnergy(std::filesystem::path folder = "/sys/class/powercap");

  /// Joules since the construction; nothing where there are no counters, or where this user may not read them. To be
  /// called more often than the counters begin again.
  std::optional<double> joules();

 private:
  struct Package {
    std::int64_t last_uj = 0, range_uj = 0;
  };

  std::filesystem::path folder_;
  std::map<std::string, Package> packages_;  ///< by the name of their folder
  double joules_ = 0;
};

}  // namespace multicard
