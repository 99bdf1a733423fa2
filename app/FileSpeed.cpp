#include "FileSpeed.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "TestFolder.hpp"
#include "base/Clock.hpp"
#include "base/Quantiles.hpp"
#include "base/RegularFile.hpp"
#include "base/SplitMix64.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "io/Bytes.hpp"
#include "io/Hdf5.hpp"
#include "io/PageCache.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

/// What a rank writes or reads in one call, and the fewest and most of them in a test.
constexpr std::uint64_t kBlock = std::uint64_t{16} << 20;
constexpr std::int64_t kMostBlocks = 4;
/// A test is about as long where the disk lets it be; there are up to three writes and three cold reads.
constexpr double kSecondsOfATest = 0.5;
constexpr int kWarmReads = 5;
/// A file is out of the page cache when less than this part of it is left there.
constexpr double kCold = 0.01;
constexpr const char* kDataset = "/bytes";

class FileTest {
 public:
  FileTest(const std::string& folder, const Communicator& world) : world_(world), folder_(folder, world) {
    // Nothing that a file system could make smaller.
    for (std::size_t i = 0; i < block_.size(); ++i)
      block_[i] = splitmix64(static_cast<std::uint64_t>(world.rank()), i);
  }

  void choose_blocks() {
    const double seconds = write_plain();
    const double fitting = std::min(kSecondsOfATest / seconds, static_cast<double>(kMostBlocks));
    const std::uint64_t room = agreed(world_, [&] { return fs::space(folder_.path()).available / 4; });
    const std::uint64_t each = kBlock * static_cast<std::uint64_t>(world_.size());
    const std::int64_t blocks = std::min(static_cast<std::int64_t>(fitting), static_cast<std::int64_t>(room / each));
    num_blocks_ = std::max<std::int64_t>(1, world_.allreduce(blocks, ReduceOp::min));
  }

  FileSpeed plain() {
    FileSpeed speed;
    speed.write = rate(write_plain());
    if (leaves_cache(own_path())) speed.read_cold = rate(read_plain());
    speed.read_warm = warm_rate([&] { return read_plain(); });
    agreed(world_, [&] { fs::remove(own_path()); });
    return speed;
  }

  FileSpeed hdf5(Transfer transfer) {
    const std::string path = folder_.path() + "/shared.h5";
    FileSpeed speed;
    speed.write = rate(timed([&] { write_hdf5(path, transfer); }));
    const bool is_cold = leaves_cache(path);
    {
      const Hdf5File file = Hdf5File::open_read(path, world_);
      const Hdf5Dataset dataset = file.open_dataset(kDataset);
      const auto read = [&] {
        return timed([&] {
          each_block(transfer,
                     [&](std::uint64_t first) { dataset.read<std::uint64_t>({first}, {count()}, block_, transfer); });
        });
      };
      if (is_cold) speed.read_cold = rate(read());
      speed.read_warm = warm_rate(read);
    }
    agreed(world_, [&] {
      if (world_.is_root()) fs::remove(path);
    });
    return speed;
  }

  std::int64_t bytes() const { return num_blocks_ * world_.size() * static_cast<std::int64_t>(kBlock); }

 private:
  std::string own_path() const { return folder_.path() + "/rank-" + std::to_string(world_.rank()); }
  static std::uint64_t count() { return kBlock / sizeof(std::uint64_t); }
  double rate(double seconds) const { return 1e-9 * static_cast<double>(bytes()) / seconds; }

  /// The median of some reads, each of which is short.
  template <class Read>
  double warm_rate(const Read& read) const {
    std::vector<double> rates(kWarmReads);
    for (double& one : rates)
      one = rate(read());
    return median(rates);
  }

  /// Of the slowest rank. \param body is collective
  template <class Body>
  double timed(Body&& body) const {
    const Watchdog::LongerTimeout longer_timeout(world_.watchdog(), kDiskTimeoutS);
    world_.barrier();
    const TimePoint start = SteadyClock::now();
    body();
    return world_.allreduce(seconds_since(start), ReduceOp::max);
  }

  double write_plain() {
    return timed([&] {
      agreed(world_, [&] {
        OutputFile file(own_path());
        for (std::int64_t i = 0; i < num_blocks_; ++i)
          file.write(std::as_bytes(std::span(block_)));
        file.close();
        bring_to_disk(own_path());
      });
    });
  }

  double read_plain() {
    return timed([&] {
      agreed(world_, [&] {
        RegularFile file(own_path());
        while (file.read(reinterpret_cast<char*>(block_.data()), kBlock) == kBlock) {
        }
      });
    });
  }

  /// Calls `transfer_block` with the first element of each block of this rank. Errors of one rank are thrown on all.
  template <class TransferBlock>
  void each_block(Transfer transfer, TransferBlock&& transfer_block) const {
    const auto all = [&] {
      for (std::int64_t i = 0; i < num_blocks_; ++i)
        transfer_block(static_cast<std::uint64_t>(world_.rank() * num_blocks_ + i) * count());
    };
    if (transfer == Transfer::collective)
      all();
    else
      agreed(world_, all);
  }

  void write_hdf5(const std::string& path, Transfer transfer) {
    Hdf5File file = Hdf5File::create(path, world_);
    Hdf5Dataset dataset = file.create_dataset<std::uint64_t>(
        kDataset, {static_cast<std::uint64_t>(world_.size() * num_blocks_) * count()});
    try {
      each_block(transfer, [&](std::uint64_t first) {
        dataset.write<std::uint64_t>({first}, {count()}, std::span<const std::uint64_t>(block_), transfer);
      });
    } catch (const Error&) {
      file.close();  // all ranks are here; left open, the file could not be removed everywhere
      throw;
    }
    file.close();
    // On every node: what a rank wrote may wait in the memory of its own.
    agreed(world_, [&] { bring_to_disk(path); });
  }

  /// Collective. Takes the file out of the page cache. \returns whether it has gone on all ranks
  bool leaves_cache(const std::string& path) const {
    agreed(world_, [&] { drop_from_page_cache(path); });
    const bool is_cold = agreed(world_, [&] { return cached_share(path) < kCold; });
    return world_.allreduce(is_cold ? 1 : 0, ReduceOp::min) == 1;
  }

  const Communicator& world_;
  TestFolder folder_;
  std::vector<std::uint64_t> block_ = std::vector<std::uint64_t>(count());
  std::int64_t num_blocks_ = 1;
};

}  // namespace

FileSystemMeasure measure_file_system(const std::string& folder, const Communicator& world) {
  FileSystemMeasure measure;
  measure.folder = agreed(world, [&] { return (folder.empty() ? fs::current_path() : fs::absolute(folder)).string(); });
  FileTest test(folder, world);
  test.choose_blocks();
  measure.bytes = test.bytes();
  measure.plain = test.plain();
  measure.independent = test.hdf5(Transfer::independent);
  if (world.size() > 1) measure.collective = test.hdf5(Transfer::collective);
  return measure;
}

}  // namespace multicard
