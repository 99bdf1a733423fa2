#pragma once
/// \file The inside of Hdf5File and Hdf5Dataset; for modules/io only.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include <hdf5.h>

#include "base/Clock.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "io/Hdf5.hpp"
#include "io/ReservedSpace.hpp"

namespace multicard {

/// Objects of at least this many bytes start at a multiple of it: whole stripes and pages.
inline constexpr std::uint64_t kAlignment = 1 << 20;

/// Held around every call of the library. Reports through return values only while it is held the first time.
class Hdf5Lock {
 public:
  Hdf5Lock();
  /// How long another thread held it.
  std::chrono::nanoseconds waited() const { return waited_; }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  std::chrono::nanoseconds waited_{0};
};

enum class Direction { read, write };

/// A transfer of elements, which begins under the lock and is counted (io/Hdf5Totals.hpp) when it has succeeded.
class TransferTimer {
 public:
  TransferTimer(Direction direction, Transfer transfer, const Hdf5Lock& lock)
      : direction_(direction), transfer_(transfer), lock_(lock) {}
  void add(std::uint64_t calls, std::uint64_t bytes) const;

 private:
  Direction direction_;
  Transfer transfer_;
  const Hdf5Lock& lock_;
  TimePoint start_ = SteadyClock::now();
};

/// What is being done, for messages: "FILE: VERB OBJECT failed".
struct Hdf5Operation {
  const std::string& file;
  const char* verb;
  const std::string& object;
};

/// Throws the library's last error as a DataError; as an EnvironmentError where the machine is the reason.
[[noreturn]] void throw_hdf5_error(const Hdf5Operation& operation);

/// Passes identifiers, sizes and states through; a negative one is an error.
template <class Code>
Code checked(Code code, const Hdf5Operation& operation) {
  if (code < 0) throw_hdf5_error(operation);
  return code;
}

/// An identifier of the library and how it is given back.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Id(hid_t id, Close close) : id_(id), close_(close) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&&) = delete;
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

/// Properties of a new object without the time at which it is made, so that equal contents are equal files.
Hdf5Id timeless(hid_t kind);

struct Hdf5FileState {
  std::string path;
  Communicator communicator = Communicator::null();  ///< null for a file of this process alone
  Hdf5Options options;
  hid_t id = -1;                         ///< -1 once closed
  std::unique_ptr<ReservedSpace> space;  ///< on the writing rank of a file open for writing
  std::uint64_t end = 0;                 ///< at most this many bytes are in use
  std::uint64_t bytes_at_open = 0;       ///< of a file opened for reading, which anybody may have written; else 0
  int exceptions_at_open = 0;
  bool failed_together = false;  ///< all ranks know of an error

  bool is_parallel() const { return !communicator.is_null(); }
  /// A DataError once closed.
  void require_open() const;
  Hdf5Operation operation(const char* verb, const std::string& object) const { return {path, verb, object}; }

  /// Runs `body` under the lock, which it may take as an argument, and under the watchdog's eyes.
  template <class Body>
  auto locked(const char* verb, Body&& body) const {
    require_open();
    const Watchdog::Guard guard(communicator.watchdog(), verb, kDiskTimeoutS);
    const Hdf5Lock lock;
    if constexpr (std::is_invocable_v<Body&, const Hdf5Lock&>)
      return body(lock);
    else
      return body();
  }
  /// The same; an error of one rank is thrown on all ranks of the file. Ranks that are done wait as patiently for those
  /// whose disk is busy.
  template <class Body>
  auto together(const char* verb, Body&& body) {
    const Watchdog::LongerTimeout longer_timeout(communicator.watchdog(), kDiskTimeoutS);
    return agree([&] { return locked(verb, body); });
  }
  /// Runs `body`; an error of one rank is thrown on all ranks of the file.
  template <class Body>
  auto agree(Body&& body) {
    if (!is_parallel()) return body();
    try {
      return agreed(communicator, body);
    } catch (const Error& error) {
      failed_together = error.scope() == Scope::all_ranks;
      throw;
    }
  }

  /// Collective. To be called before an operation that lets the file grow by `bytes` and the library's own records of
  /// it: a full disk then shows before any rank has begun, so that the file can still be closed.
  void reserve_more(std::uint64_t bytes);

 private:
  std::uint64_t allocated_bytes() const;
};

struct Hdf5DatasetState {
  std::shared_ptr<Hdf5FileState> file;
  std::string path;
  hid_t id = -1;
  ElementType type = ElementType::uint8;
  Extents dims;

  Hdf5DatasetState(std::shared_ptr<Hdf5FileState> owner, std::string dataset_path, hid_t dataset);
  ~Hdf5DatasetState();
  Hdf5DatasetState(const Hdf5DatasetState&) = delete;
  Hdf5DatasetState& operator=(const Hdf5DatasetState&) = delete;
};

/// \name What is checked before it is read
/// @{
/// DataError unless every object of the file is in its group alone: no links, which could lead elsewhere or round in
/// circles.
void check_structure(const Hdf5FileState& file);
/// DataError when the open dataset `id` has its elements elsewhere, or more of them than the file can hold.
void check_storage(const Hdf5FileState& file, const std::string& dataset, hid_t id, const Extents& dims);
/// EnvironmentError when there is no memory for all its elements.
void check_memory(const Hdf5DatasetState& dataset);
/// @}

/// \name Types
/// @{
hid_t memory_type(ElementType type);
hid_t file_type(ElementType type);
/// Fixed-length UTF-8 of `bytes` bytes, the closing NUL included.
Hdf5Id text_type(std::size_t bytes);
/// Texts side by side, each with its closing NULs; NUL inside a text is a DataError.
std::string pack_texts(const std::vector<std::string>& texts, std::size_t bytes, const Hdf5Operation& operation);
std::vector<std::string> unpack_texts(const std::string& packed, hid_t type);
/// Room for the longest and a closing NUL.
std::size_t packed_bytes(const std::vector<std::string>& texts);
/// @}

}  // namespace multicard
