#include "io/Hdf5State.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

std::recursive_mutex& library_mutex() {
  // Recursive: a body that runs under the lock may destroy a dataset, whose destructor takes it too.
  static std::recursive_mutex mutex;
  return mutex;
}

/// The two innermost entries of the library's error stack: MPI's own text is the second of an MPI error.
struct Innermost {
  std::string first, second;
};

herr_t collect(unsigned depth, const H5E_error2_t* entry, void* out) {
  auto& found = *static_cast<Innermost*>(out);
  const std::string text = entry->desc ? entry->desc : "";
  if (depth == 0) found.first = text;
  if (depth == 1) found.second = text;
  return 0;
}

Innermost take_innermost() {
  Innermost found;
  // Upward begins at the innermost function. The stack is cleared, or an error that was dealt with would be told again.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &found);
  H5Eclear2(H5E_DEFAULT);
  return found;
}

/// What is worth reading: MPI's text, or the system's text when the library quotes it.
std::string shortened(const Innermost& found) {
  if (found.first.starts_with("MPI_")) return found.first + ": " + found.second;
  static const std::string kSystem = "error message = '";
  const std::size_t system = found.first.find(kSystem);
  if (system == std::string::npos) return found.first;
  const std::size_t begin = system + kSystem.size();
  return found.first.substr(begin, found.first.find('\'', begin) - begin);
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// MPI-IO often hides the reason of a failed write, so ask the file system too.
bool is_full(const std::string& path, const std::string& message) {
  constexpr std::uintmax_t kNearlyNothing = 64 * 1024;
  if (contains(message, "No space left") || contains(message, "NO_SPACE") || contains(message, "quota")) return true;
  std::error_code ignored;
  const auto space = std::filesystem::space(std::filesystem::path(path).parent_path() / ".", ignored);
  return !ignored && space.available < kNearlyNothing;
}

/// MPI-IO hides this reason too: is there a descriptor left?
bool has_no_descriptor() {
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno == EMFILE;
  close(descriptor);
  return false;
}

/// MPI-IO of several ranks of a node keeps files there, and says "known error not in list" where it cannot.
void require_shared_memory(const std::string& file) {
  constexpr off_t kLittle = 16 << 10;
  const int descriptor = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  const int number = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, kLittle);
  if (descriptor >= 0) close(descriptor);
  if (number == 0 || number == EOPNOTSUPP || number == EISDIR) return;  // the last two: it makes no nameless files
  throw EnvironmentError(fmt::format("{} cannot be opened by several ranks", file),
                         fmt::format("MPI needs shared memory, /dev/shm: {}", system_error_text(number)),
                         "Make /dev/shm writable, with some megabytes (containers: --shm-size), or start one rank.");
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(library_mutex(), std::try_to_lock) {
  // The clock is read where there is something to measure: most calls find the lock free.
  if (!lock_) {
    const TimePoint start = SteadyClock::now();
    lock_.lock();
    waited_ = SteadyClock::now() - start;
  }
  static const bool kSilenced = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(kSilenced);
}

void throw_hdf5_error(const Hdf5Operation& operation) {
  const Innermost innermost = take_innermost();
  // What follows are guesses after the fact at reasons that the library and MPI-IO do not pass on.
  const std::string message = shortened(innermost);
  const bool writes = contains(operation.verb, "writing") || contains(operation.verb, "creating");
  std::string why = message, suggestion;
  if (innermost.first.starts_with("MPI_")) require_shared_memory(operation.file);
  if (has_no_descriptor()) {
    why = system_error_text(EMFILE);
  } else if (contains(innermost.first, "unable to lock file") || contains(innermost.first, "locking disabled")) {
    suggestion = "Set HDF5_USE_FILE_LOCKING=FALSE, or end the program that holds the file.";
  } else if (writes && is_full(operation.file, message)) {
    why = "the disk is full" + (message.empty() ? "" : ": " + message);
    suggestion = "Free some space or choose another folder.";
  }
  throw DataError(fmt::format("{}: {}{}{} failed", operation.file, operation.verb, operation.object.empty() ? "" : " ",
                              operation.object),
                  why, suggestion);
}

void Hdf5FileState::require_open() const {
  if (id < 0) throw DataError(path + " has been closed");
}

/// The end of what the library has given out, written or not.
std::uint64_t Hdf5FileState::allocated_bytes() const {
  const Hdf5Lock lock;
  hsize_t bytes = 0;
  checked(H5Fget_filesize(id, &bytes), operation("measuring", ""));
  return bytes;
}

void Hdf5FileState::reserve_more(std::uint64_t bytes) {
  // What one operation adds besides its data is less than this, and large data begin at the next whole block.
  constexpr std::uint64_t kRecords = 16 << 10;
  // Reserved before the operation, on one rank, and agreed on: no rank begins to write what would not fit.
  const std::uint64_t gap = bytes >= kAlignment ? kAlignment : 0;
  agree([&] {
    if (!space) return;
    if (!is_parallel()) end = allocated_bytes();  // the parallel driver cannot tell
    // In a serial file `end` is what the library has given out; in a parallel one it is the sum of all that was ever
    // asked for, which is never less.
    space->reserve(end + bytes + gap + kRecords);
    end += bytes + gap + kRecords;
  });
}

std::uint64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::uint8:
      return 1;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32:
      return 4;
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64:
      return 8;
    case ElementType::text:
      break;
  }
  throw DataError("a text dataset has no numeric type");
}

hid_t memory_type(ElementType type) {
  switch (type) {
    case ElementType::uint8:
      return H5T_NATIVE_UINT8;
    case ElementType::int32:
      return H5T_NATIVE_INT32;
    case ElementType::int64:
      return H5T_NATIVE_INT64;
    case ElementType::uint32:
      return H5T_NATIVE_UINT32;
    case ElementType::uint64:
      return H5T_NATIVE_UINT64;
    case ElementType::float32:
      return H5T_NATIVE_FLOAT;
    case ElementType::float64:
      return H5T_NATIVE_DOUBLE;
    case ElementType::text:
      break;
  }
  throw DataError("a text dataset has no numeric type");
}

hid_t file_type(ElementType type) {
  switch (type) {
    case ElementType::uint8:
      return H5T_STD_U8LE;
    case ElementType::int32:
      return H5T_STD_I32LE;
    case ElementType::int64:
      return H5T_STD_I64LE;
    case ElementType::uint32:
      return H5T_STD_U32LE;
    case ElementType::uint64:
      return H5T_STD_U64LE;
    case ElementType::float32:
      return H5T_IEEE_F32LE;
    case ElementType::float64:
      return H5T_IEEE_F64LE;
    case ElementType::text:
      break;
  }
  throw DataError("a text dataset has no numeric type");
}

const char* name_of(ElementType type) {
  static constexpr const char* kNames[] = {"uint8", "int32", "int64", "uint32", "uint64", "float32", "float64", "text"};
  return kNames[static_cast<std::size_t>(type)];
}

Hdf5Id text_type(std::size_t bytes) {
  Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, bytes);
  H5Tset_cset(type, H5T_CSET_UTF8);
  H5Tset_strpad(type, H5T_STR_NULLTERM);
  return type;
}

std::size_t packed_bytes(const std::vector<std::string>& texts) {
  std::size_t longest = 0;
  for (const std::string& text : texts)
    longest = std::max(longest, text.size());
  return longest + 1;
}

std::string pack_texts(const std::vector<std::string>& texts, std::size_t bytes, const Hdf5Operation& operation) {
  std::string packed(texts.size() * bytes, '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].find('\0') != std::string::npos)
      throw DataError(fmt::format("{}: {} {} failed", operation.file, operation.verb, operation.object),
                      "the text contains a NUL byte");
    packed.replace(i * bytes, texts[i].size(), texts[i]);
  }
  return packed;
}

std::vector<std::string> unpack_texts(const std::string& packed, hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const H5T_str_t padding = H5Tget_strpad(type);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < packed.size(); at += bytes) {
    std::string text = packed.substr(at, bytes);
    // Files of other programs pad with NULs (numpy) or spaces (Fortran), not at all where a text fills its place.
    if (padding == H5T_STR_NULLTERM)
      text.resize(std::min(text.find('\0'), text.size()));
    else
      text.erase(text.find_last_not_of(padding == H5T_STR_SPACEPAD ? ' ' : '\0') + 1);
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string hdf5_version() {
  const Hdf5Lock lock;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace multicard
