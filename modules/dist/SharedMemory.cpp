#include "dist/SharedMemory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/SharedPages.hpp"
#include "comm/AbortRemovals.hpp"

namespace multicard {

namespace {

class FileHandle {
 public:
  explicit FileHandle(int number) : number_(number) {}
  ~FileHandle() {
    if (number_ >= 0) close(number_);
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

/// Names are in use for moments only.
bool is_old(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  const auto written = entry.last_write_time(error);
  return !error && std::filesystem::file_time_type::clock::now() - written > std::chrono::hours(1);
}

/// Removes what processes left that were killed between making an object and taking its name away. Other users' stay,
/// and young ones: the processes of another container are not seen from here, though /dev/shm may be shared with it.
void remove_leftovers() {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/dev/shm", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int process = 0, attempt = 0, length = 0;
    const int num_read = std::sscanf(name.c_str(), "multicard-%d-%d%n", &process, &attempt, &length);
    const bool is_ours = num_read == 2 && static_cast<std::size_t>(length) == name.size() && process > 0;
    if (is_ours && is_old(*entry) && kill(process, 0) != 0 && errno == ESRCH) shm_unlink(("/" + name).c_str());
  }
}

/// An unused name, in the form of shm_open; the object exists then. Empty when that fails.
std::string make_object(std::size_t bytes) {
  remove_leftovers();
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::string name = fmt::format("/multicard-{}-{}", getpid(), attempt);
    const FileHandle file(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
    if (!file.is_open() && errno == EEXIST) continue;
    if (!file.is_open()) return {};
    if (ftruncate(file.number(), static_cast<off_t>(bytes)) == 0) return name;
    shm_unlink(name.c_str());
    return {};
  }
  return {};
}

/// Takes the memory of a range. False when there is no room.
bool reserve(const FileHandle& file, std::size_t offset, std::size_t bytes) {
  // On tmpfs a signal interrupts the call, which takes back what it had reserved; it begins again from nothing.
  int answer = EINTR;
  while (answer == EINTR)
    answer = posix_fallocate(file.number(), static_cast<off_t>(offset), static_cast<off_t>(bytes));
  return answer == 0;
}

/// Maps the object and takes the memory of the own part, from this rank so that it lies in the memory near it. Null
/// when there is no room (a plain mapping would be killed at the first touch).
std::byte* map_object(const std::string& name, std::size_t total, std::size_t own_offset, std::size_t own_bytes) {
  const FileHandle file(name.empty() ? -1 : shm_open(name.c_str(), O_RDWR, 0));
  if (!file.is_open()) return nullptr;
  if (!reserve(file, own_offset, own_bytes)) return nullptr;
  void* address = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::create(const Communicator& node, std::size_t bytes_per_rank) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t stride = std::max<std::size_t>(1, (bytes_per_rank + page - 1) / page) * page;
  const std::size_t total = stride * static_cast<std::size_t>(node.size());
  const std::string name = node.broadcast(node.is_root() ? make_object(total) : std::string());
  // Never without a name: that would be the whole of /dev/shm.
  const std::optional<int> ticket = name.empty() ? std::nullopt : std::optional(on_abort_remove("/dev/shm" + name));
  std::byte* base = map_object(name, total, stride * static_cast<std::size_t>(node.rank()), stride);
  // It also is the barrier: after it the name is not needed any more.
  const bool everywhere = node.allreduce(base ? 1 : 0, ReduceOp::min) == 1;
  // All have it mapped (or none needs it): without a name nothing is left, however the job ends.
  if (node.is_root() && !name.empty()) shm_unlink(name.c_str());
  if (ticket) cancel_on_abort(*ticket);
  if (!everywhere && base) munmap(base, total);
  if (!everywhere) return nullptr;
  return std::shared_ptr<SharedMemory>(new SharedMemory(base, stride, total, node.rank()));
}

SharedMemory::SharedMemory(std::byte* base, std::size_t stride, std::size_t total, int own_rank)
    : base_(base), stride_(stride), total_(total), own_rank_(own_rank) {
  count_shared_pages(static_cast<std::int64_t>(stride), static_cast<std::int64_t>(total - stride));
}

SharedMemory::~SharedMemory() {
  munmap(base_, total_);
  count_shared_pages(-static_cast<std::int64_t>(stride_), -static_cast<std::int64_t>(total_ - stride_));
}

bool SharedMemory::owns(const void* address, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(address);
  const std::byte* mine = part(own_rank_);
  return first >= mine && first + bytes <= mine + stride_;
}

}  // namespace multicard
