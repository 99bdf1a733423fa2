#include "io/Hdf5Totals.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Hdf5State.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

constexpr std::uint64_t kValues = 1000;

/// A file of this rank alone, with kValues floats.
std::string make_own(const ScratchFolder& scratch) {
  std::string path = scratch / (std::to_string(world().rank()) + ".h5");
  Hdf5File file = Hdf5File::create(path);
  file.write_values("/x", std::vector<float>(kValues, 1));
  file.close();
  return path;
}

/// What `body` adds to the counters.
template <class Body>
TotalsByKind totals_of(Body&& body) {
  const TotalsByKind before = hdf5_totals();
  body();
  return hdf5_totals_since(before);
}

TEST(Hdf5Totals, CountCallsAndBytesOfEachKind) {
  const ScratchFolder scratch;
  const std::string path = make_own(scratch);

  std::vector<float> some(20);

  const TotalsByKind totals = totals_of([&] {
    Hdf5File file = Hdf5File::open_update(path);
    file.read_values<float>("/x");
    file.read_slab<float>("/x", {10}, {20}, std::span(some));
    file.write_texts("/texts", {"one", "three"});
    file.read_texts("/texts");
    file.close();
  });

  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals.at("read_independent").calls, 3);
  EXPECT_EQ(totals.at("read_independent").bytes, 4 * (static_cast<std::int64_t>(kValues) + 20) + 2 * 6);
  EXPECT_EQ(totals.at("write_independent").calls, 1);
  EXPECT_EQ(totals.at("write_independent").bytes, 2 * 6);
  for (const auto& [kind, of] : totals) {
    EXPECT_GT(of.seconds, 0) << kind;
    EXPECT_EQ(of.lock_seconds, 0) << kind;
    EXPECT_GT(of.gb_per_s(), 0) << kind;
  }
}

TEST(Hdf5Totals, CountEachPieceAndNoFailure) {
  const ScratchFolder scratch;
  const std::string path = make_own(scratch);

  const TotalsByKind totals = totals_of([&] {
    const Hdf5File file = Hdf5File::open_read(path, Communicator::null(), {.piece_bytes = 1000});
    file.read_values<float>("/x");
    std::vector<float> values(20);
    EXPECT_THROW(file.read_slab<float>("/x", {kValues}, {20}, std::span(values)), DataError);
  });

  EXPECT_EQ(totals.at("read_independent").calls, 4);
  EXPECT_EQ(totals.at("read_independent").bytes, 4 * static_cast<std::int64_t>(kValues));
}

TEST(Hdf5Totals, AddUpOverThreads) {
  const ScratchFolder scratch;
  const Hdf5File file = Hdf5File::open_read(make_own(scratch));
  constexpr int kThreads = 4, kReads = 50;

  const TotalsByKind totals = totals_of([&] {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&file] {
        for (int read = 0; read < kReads; ++read)
          file.read_values<float>("/x");
      });
  });

  EXPECT_EQ(totals.at("read_independent").calls, kThreads * kReads);
  EXPECT_EQ(totals.at("read_independent").bytes, kThreads * kReads * 4 * static_cast<std::int64_t>(kValues));
}

TEST(Hdf5Totals, HaveTheWaitForTheLockApart) {
  const ScratchFolder scratch;
  const Hdf5File file = Hdf5File::open_read(make_own(scratch));
  const Hdf5Dataset dataset = file.open_dataset("/x");
  constexpr std::chrono::milliseconds kHeld{200};

  const TotalsByKind totals = totals_of([&] {
    std::promise<void> is_held;
    const std::jthread holder([&] {
      const Hdf5Lock lock;
      is_held.set_value();
      std::this_thread::sleep_for(kHeld);
    });
    is_held.get_future().wait();
    std::vector<float> values(kValues);
    dataset.read<float>({0}, {kValues}, std::span(values));
  });

  const FileTotals& read = totals.at("read_independent");
  EXPECT_GT(read.lock_seconds, 0.1);
  EXPECT_LT(read.seconds, 0.1);
}

TEST(Hdf5Totals, KnowCollectiveTransfersOfSeveralRanks) {
  const ScratchFolder scratch;
  const int size = world().size();
  const bool is_last = world().rank() == size - 1;
  // The last rank takes part in the writes with nothing.
  const std::uint64_t num_writers = static_cast<std::uint64_t>(std::max(1, size - 1));
  const std::vector<double> values(size == 1 || !is_last ? kValues : 0, 1);
  const std::uint64_t first = values.empty() ? 0 : kValues * static_cast<std::uint64_t>(world().rank());

  const TotalsByKind totals = totals_of([&] {
    Hdf5File file = Hdf5File::create(scratch / "shared.h5", world());
    Hdf5Dataset dataset = file.create_dataset<double>("/x", {kValues * num_writers});
    dataset.write<double>({first}, {values.size()}, std::span(values), Transfer::collective);
    std::vector<double> all(kValues * num_writers);
    dataset.read<double>({0}, dataset.dims(), std::span(all), Transfer::collective);
    if (is_last) dataset.read<double>({0}, {5}, std::span(all).first(5));
    file.close();
  });

  const std::string kind = size == 1 ? "independent" : "collective";
  EXPECT_EQ(totals.at("write_" + kind).calls, 1);
  EXPECT_EQ(totals.at("write_" + kind).bytes, static_cast<std::int64_t>(8 * values.size()));
  const std::int64_t own = is_last ? 5 : 0, whole = static_cast<std::int64_t>(kValues * num_writers);
  EXPECT_EQ(totals.at("read_" + kind).bytes, 8 * (whole + (size == 1 ? own : 0)));
  EXPECT_EQ(totals.contains("read_independent"), size == 1 || is_last);
  EXPECT_EQ(totals.contains("write_independent"), size == 1);
}

}  // namespace
}  // namespace multicard
