#include "base/PackageEnergy.hpp"

#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

namespace multicard {

namespace {

std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
  std::int64_t number = 0;
  if (std::ifstream stream(file); stream >> number) return number;
  return std::nullopt;
}

/// Some machines show a package twice, also as intel-rapl-mmio:0.
bool is_package(const std::filesystem::path& zone) {
  if (!zone.filename().string().starts_with("intel-rapl:")) return false;
  std::ifstream file(zone / "name");
  std::string name;
  return std::getline(file, name) && name.starts_with("package-");
}

}  // namespace

PackageEnergy::PackageEnergy(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  for (std::filesystem::directory_iterator zone(folder_, error), end; !error && zone != end; zone.increment(error)) {
    const auto now = number_in(zone->path() / "energy_uj"), range = number_in(zone->path() / "max_energy_range_uj");
    if (now && range && is_package(zone->path())) packages_[zone->path().filename().string()] = {*now, *range};
  }
}

std::optional<double> PackageEnergy::joules() {
  for (auto& [name, package] : packages_) {
    const auto now = number_in(folder_ / name / "energy_uj");
    if (!now) return std::nullopt;
    const std::int64_t used = *now - package.last_uj;
    joules_ += 1e-6 * static_cast<double>(used < 0 ? used + package.range_uj : used);
    package.last_uj = *now;
  }
  return packages_.empty() ? std::nullopt : std::optional(joules_);
}

}  // namespace multicard
