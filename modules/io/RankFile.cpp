#include "io/RankFile.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "comm/AbortRemovals.hpp"
#include "comm/Agreement.hpp"
#include "comm/Native.hpp"
#include "comm/Watchdog.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "io/ReservedSpace.hpp"

namespace multicard {

namespace {

constexpr const char* kDiskMayBeFull = "Free some space or choose another folder.";

/// \throws DataError unless `code` is MPI_SUCCESS
void check_written(int code, const std::string& path) {
  if (code != MPI_SUCCESS) throw DataError(fmt::format("{} cannot be written", path), mpi_error_text(code));
}

/// An MPI file that all ranks have open. Errors of its calls are returned (the default of MPI for files).
class MpiFile {
 public:
  /// Collective.
  MpiFile(const std::string& path, const Communicator& communicator) : path_(path), communicator_(communicator) {
    agreed(communicator_, [&] {
      const CreationGuard guard;
      check_written(
          MPI_File_open(native(communicator_), path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file_),
          path_);
    });
  }
  /// Collective too: errors are agreed on, so that all ranks come here.
  ~MpiFile() {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;

  /// Collective.
  void write(std::int64_t place, std::string_view bytes) {
    const auto longest = communicator_.allreduce(static_cast<std::int64_t>(bytes.size()), ReduceOp::max);
    for (std::int64_t begin = 0; begin < longest; begin += static_cast<std::int64_t>(kMaxTransferBytes)) {
      const auto from = std::min(static_cast<std::size_t>(begin), bytes.size());
      const auto count = static_cast<int>(std::min(kMaxTransferBytes, bytes.size() - from));
      agreed(communicator_, [&] {
        MPI_Status status;
        const auto write = [&] {
          return MPI_File_write_at_all(file_, place + static_cast<std::int64_t>(from), bytes.data() + from, count,
                                       MPI_BYTE, &status);
        };
        check_written(counted_mpi(MpiFunction::file_write_at_all, static_cast<std::size_t>(count), write), path_);
        int written = 0;
        check_written(MPI_Get_count(&status, MPI_BYTE, &written), path_);
        if (written != count)
          throw DataError(fmt::format("{} cannot be written", path_), "a part of it is missing", kDiskMayBeFull);
      });
    }
  }

 private:
  std::string path_;
  Communicator communicator_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::int64_t write_in_rank_order(const std::string& path, const Communicator& communicator, std::string_view mine) {
  if (communicator.size() == 1) {
    write_file(path, mine);
    return static_cast<std::int64_t>(mine.size());
  }
  const Watchdog::LongerTimeout longer_timeout(communicator.watchdog(), kDiskTimeoutS);
  PendingFile pending(path, communicator);
  const std::vector<std::int64_t> lengths = communicator.allgather(static_cast<std::int64_t>(mine.size()));
  const auto place = std::accumulate(lengths.begin(), lengths.begin() + communicator.rank(), std::int64_t{0});
  const auto total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  {
    MpiFile file(pending.path(), communicator);
    // The part of a rank after one that a full disk did not take would hide that it is missing.
    std::optional<ReservedSpace> space;
    agreed(communicator, [&] {
      if (!communicator.is_root()) return;
      space.emplace(pending.path());
      space->reserve(static_cast<std::uint64_t>(total));
    });
    const Watchdog::Guard guard(communicator.watchdog(), "writing a file together");
    file.write(place, mine);
  }
  agreed(communicator, [&] {
    // A full disk may show nowhere else: the library does not pass every short write on.
    if (!communicator.is_root()) return;
    if (static_cast<std::int64_t>(RegularFile(pending.path()).size()) != total)
      throw DataError(fmt::format("{} cannot be written", path), "it is not whole: the disk may be full",
                      kDiskMayBeFull);
  });
  pending.commit();
  return total;
}

}  // namespace multicard
