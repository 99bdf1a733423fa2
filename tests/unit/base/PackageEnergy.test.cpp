#include "base/PackageEnergy.hpp"

#include <cstdint>
#include <fstream>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

/// A zone as the kernel shows it.
void put_zone(const fs::path& folder, const std::string& zone, const std::string& name, std::int64_t energy_uj) {
  fs::create_directories(folder / zone);
  std::ofstream(folder / zone / "name") << name << "\n";
  std::ofstream(folder / zone / "energy_uj") << energy_uj << "\n";
  std::ofstream(folder / zone / "max_energy_range_uj") << 1'000'000'000 << "\n";
}

TEST(PackageEnergy, AddsUpThePackagesAndNotTheirParts) {
  const ScratchFolder scratch;
  const fs::path folder(scratch / "powercap");
  put_zone(folder, "intel-rapl:0", "package-0", 5'000'000);
  put_zone(folder, "intel-rapl:0:0", "core", 3'000'000);
  put_zone(folder, "intel-rapl:1", "package-1", 7'000'000);
  put_zone(folder, "intel-rapl-mmio:0", "package-0", 5'000'000);
  PackageEnergy energy(folder);
  EXPECT_EQ(energy.joules(), 0.0);

  put_zone(folder, "intel-rapl:0", "package-0", 6'000'000);
  put_zone(folder, "intel-rapl:0:0", "core", 4'000'000);
  put_zone(folder, "intel-rapl:1", "package-1", 9'500'000);
  put_zone(folder, "intel-rapl-mmio:0", "package-0", 6'000'000);
  EXPECT_DOUBLE_EQ(energy.joules().value(), 3.5);
}

TEST(PackageEnergy, CountsOnWhereACounterBeginsAgain) {
  const ScratchFolder scratch;
  const fs::path folder(scratch / "powercap");
  put_zone(folder, "intel-rapl:0", "package-0", 999'000'000);
  PackageEnergy energy(folder);

  put_zone(folder, "intel-rapl:0", "package-0", 2'000'000);
  EXPECT_DOUBLE_EQ(energy.joules().value(), 3.0);
}

TEST(PackageEnergy, IsUnknownWithoutCounters) {
  const ScratchFolder scratch;
  EXPECT_FALSE(PackageEnergy(scratch / "absent").joules());
}

TEST(PackageEnergy, IsUnknownWhereACounterCannotBeRead) {
  const ScratchFolder scratch;
  const fs::path folder(scratch / "powercap");
  put_zone(folder, "intel-rapl:0", "package-0", 5);
  PackageEnergy energy(folder);
  fs::remove(folder / "intel-rapl:0/energy_uj");
  EXPECT_FALSE(energy.joules());
}

}  // namespace
}  // namespace multicard
