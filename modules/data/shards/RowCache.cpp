#include "data/shards/RowCache.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/Agreement.hpp"

namespace multicard {

namespace {

// A row's state only rises. Memory of a new file is zero, so that kAbsent needs no initialisation, and pages are taken
// when rows are written. A row whose writer died while it was arriving stays so, and is read from the file by all.
enum State : std::uint8_t { kAbsent, kArriving, kPresent };
static_assert(std::atomic_ref<std::uint8_t>::is_always_lock_free, "it is shared by processes");

[[noreturn]] void refuse(const std::string& what, int number) {
  throw EnvironmentError("the ranks of a node cannot share a cache of rows",
                         fmt::format("{}: {}", what, system_error_text(number)), "Set data.cache: none.");
}

/// What another process needs to open a MemoryFile.
struct Ticket {
  std::string path;
  std::string identity;  ///< where processes have namespaces of their own, the path may name something else
};

/// A file in memory, without a name and without a limit of its own (/dev/shm may have one). Others can open it as long
/// as its maker holds it.
class MemoryFile {
 public:
  explicit MemoryFile(std::size_t bytes) : MemoryFile(memfd_create("multicard-rows", MFD_CLOEXEC), "memfd_create") {
    if (ftruncate(number_, static_cast<off_t>(bytes)) != 0) refuse("ftruncate", errno);
  }
  explicit MemoryFile(const Ticket& ticket) : MemoryFile(open(ticket.path.c_str(), O_RDWR | O_CLOEXEC), ticket.path) {
    if (identity() != ticket.identity) refuse(ticket.path, ESTALE);
  }
  ~MemoryFile() { close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  Ticket ticket() const { return {fmt::format("/proc/{}/fd/{}", getpid(), number_), identity()}; }

  std::shared_ptr<std::uint8_t> map(std::size_t bytes) const {
    void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number_, 0);
    if (address == MAP_FAILED) refuse("mmap", errno);
    return {static_cast<std::uint8_t*>(address), [bytes](std::uint8_t* base) { munmap(base, bytes); }};
  }

 private:
  MemoryFile(int number, const std::string& what) : number_(number) {
    if (number_ < 0) refuse(what, errno);
  }
  std::string identity() const {
    struct stat found {};
    if (fstat(number_, &found) != 0) refuse("fstat", errno);
    return fmt::format("{}:{}", found.st_dev, found.st_ino);
  }

  int number_;
};

/// Collective. Zeroed memory that the ranks of `node`, a part of `communicator`, map together; it goes with the last
/// mapping. The root's descriptor must stay open until every rank of the node has opened it by /proc: it does until the
/// second agreement has ended. After that the mappings keep the memory, and no file is left over even when the job is
/// killed.
std::shared_ptr<std::uint8_t> memory_of_node(std::size_t bytes, const Communicator& node,
                                             const Communicator& communicator) {
  std::unique_ptr<MemoryFile> file;
  Ticket ticket;
  agreed(communicator, [&] {
    if (!node.is_root()) return;
    file = std::make_unique<MemoryFile>(bytes);
    ticket = file->ticket();
  });
  ticket = {node.broadcast(ticket.path), node.broadcast(ticket.identity)};
  return agreed(communicator, [&] {
    if (!file) file = std::make_unique<MemoryFile>(ticket);
    return file->map(bytes);
  });
}

}  // namespace

RowCache::RowCache(std::int64_t num_rows, std::int64_t bytes_per_row, const Communicator& communicator)
    : num_rows_(num_rows), bytes_per_row_(bytes_per_row) {
  make_memory(communicator);
}

RowCache::RowCache(std::vector<std::int64_t> ends, const Communicator& communicator)
    : num_rows_(static_cast<std::int64_t>(ends.size())), ends_(std::move(ends)) {
  make_memory(communicator);
}

void RowCache::make_memory(const Communicator& communicator) {
  const Communicator node = communicator.split_by_node();
  ranks_on_node_ = node.size();
  memory_ = memory_of_node(static_cast<std::size_t>(begin_of(num_rows_) + num_rows_), node, communicator);
}

std::int64_t RowCache::bytes(std::int64_t num_rows, std::int64_t bytes_per_row) {
  return num_rows * (bytes_per_row + 1);
}

std::int64_t RowCache::bytes_of_rank(std::int64_t num_rows) const {
  return (begin_of(num_rows) + num_rows + ranks_on_node_ - 1) / ranks_on_node_;
}

std::int64_t RowCache::begin_of(std::int64_t row) const {
  if (ends_.empty()) return row * bytes_per_row_;
  return row == 0 ? 0 : ends_[static_cast<std::size_t>(row - 1)];
}

/// States stand after all rows.
std::uint8_t* RowCache::state_of(std::int64_t row) const {
  return memory_.get() + begin_of(num_rows_) + row;
}

// Acquire pairs with the release in put(): who sees kPresent sees all bytes of the row, in another process too.
bool RowCache::get(std::int64_t row, std::span<std::uint8_t> bytes, std::int64_t first) const {
  if (std::atomic_ref(*state_of(row)).load(std::memory_order_acquire) != kPresent) return false;
  std::copy_n(memory_.get() + begin_of(row) + first, bytes.size(), bytes.data());
  return true;
}

// The exchange elects one writer; relaxed suffices, because nothing is read on account of kArriving.
void RowCache::put(std::int64_t row, std::span<const std::uint8_t> bytes) {
  std::atomic_ref state(*state_of(row));
  std::uint8_t expected = kAbsent;
  if (!state.compare_exchange_strong(expected, kArriving, std::memory_order_relaxed)) return;
  std::copy(bytes.begin(), bytes.end(), memory_.get() + begin_of(row));
  state.store(kPresent, std::memory_order_release);
}

}  // namespace multicard
