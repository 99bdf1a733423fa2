#include "io/Safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include "base/AnyError.hpp"
#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/Text.hpp"
#include "io/JsonReader.hpp"

namespace multicard {

namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "tensors are mapped as stored in the file");

constexpr std::size_t kPrefixBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the limit of the reference implementation
const char* const kMetadataKey = "__metadata__";

[[noreturn]] void refuse(const std::string& path, const std::string& why, const std::string& suggestion = {}) {
  throw DataError(fmt::format("{} is not a valid safetensors file", path), why, suggestion);
}

/// Refuses files of torch.save, a ZIP archive or a bare pickle, which weights are often published as.
void refuse_torch_save(const std::string& path, std::string_view beginning) {
  const bool is_zip = beginning.starts_with("PK\3\4");
  const bool is_pickle = beginning.starts_with("\x80\x02");
  // A header as long as a pickle's first bytes say could be one of safetensors: its text begins with a brace.
  if (!is_zip && (!is_pickle || beginning.substr(kPrefixBytes).starts_with("{"))) return;
  refuse(path, "it is a file of torch.save (.pth, .pt, .bin)",
         "Convert it in Python: safetensors.torch.save_file(torch.load(FILE, weights_only=True), "
         "\"FILE.safetensors\").");
}

struct Mapping {
  std::shared_ptr<const void> memory;
  std::size_t size = 0;
};

Mapping map_file(const std::string& path) {
  const RegularFile file(path);
  const auto size = static_cast<std::size_t>(file.size());
  if (size == 0) refuse(path, "it is empty");
  // The mapping outlives the descriptor, and a new file that is renamed over this one does not change it. Cutting the
  // file short would (SIGBUS), which no program does that replaces weights.
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED) throw DataError(fmt::format("{} cannot be mapped", path), system_error_text(errno));
  return {{memory, [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); }}, size};
}

/// A list of whole numbers that fit int64 and are not negative.
std::vector<std::int64_t> counts(const json& list, const char* what) {
  if (!list.is_array()) throw std::invalid_argument(fmt::format("{} is not a list", what));
  std::vector<std::int64_t> values;
  for (const json& item : list) {
    // Negative numbers are signed to the parser, so what is unsigned and leaves the top bit free fits int64.
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() >> 63)
      throw std::invalid_argument(fmt::format("{} holds something that is not a count", what));
    values.push_back(item.get<std::int64_t>());
  }
  return values;
}

SafetensorsEntry parse_entry(const std::string& name, const json& value, std::span<const std::byte> data) {
  constexpr const char* kWhat = "its description";
  SafetensorsEntry entry{name, text_member(value, "dtype", kWhat), counts(member(value, "shape", kWhat), "shape"), {}};
  const std::vector<std::int64_t> offsets = counts(member(value, "data_offsets", kWhat), "data_offsets");
  if (safetensors_element_bytes(entry.dtype) == 0)
    throw std::invalid_argument(fmt::format("dtype {} is unknown", entry.dtype));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) throw std::invalid_argument("data_offsets is not [begin, end]");
  const auto begin = static_cast<std::uint64_t>(offsets[0]), end = static_cast<std::uint64_t>(offsets[1]);
  if (end > data.size())
    throw std::invalid_argument(fmt::format("its bytes end at {} of {}: the file is truncated", end, data.size()));
  if (safetensors_num_bytes(entry.dtype, entry.shape) != end - begin)
    throw std::invalid_argument(fmt::format("{} bytes do not fit its shape and dtype", end - begin));
  entry.bytes = data.subspan(begin, end - begin);
  return entry;
}

std::map<std::string, std::string> parse_metadata(const std::string& path, const json& value) {
  std::map<std::string, std::string> metadata;
  if (value.is_null()) return metadata;
  if (!value.is_object()) refuse(path, "its metadata is not a JSON object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) refuse(path, fmt::format("its metadata {} is not text", key));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// The entries sorted by place must be one unbroken row.
void require_gapless(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                     std::span<const std::byte> data) {
  const std::byte* at = data.data();
  for (const SafetensorsEntry& entry : entries) {
    if (entry.bytes.data() != at)
      refuse(path, fmt::format("the bytes of {} {}", entry.name,
                               entry.bytes.data() < at ? "overlap another tensor's" : "follow a hole"));
    at += entry.bytes.size();
  }
  if (at != data.data() + data.size()) refuse(path, "bytes follow the last tensor");
}

}  // namespace

std::size_t safetensors_element_bytes(const std::string& dtype) {
  static const std::map<std::string, std::size_t> kBytes{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

std::optional<std::uint64_t> safetensors_num_bytes(const std::string& dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = safetensors_element_bytes(dtype);
  if (bytes == 0) return std::nullopt;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) || bytes >> 63)
      return std::nullopt;
  return bytes;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const Mapping mapping = map_file(path);
  mapping_ = mapping.memory;
  const std::span all(static_cast<const std::byte*>(mapping.memory.get()), mapping.size);
  std::uint64_t header_bytes = 0;
  if (all.size() < kPrefixBytes) refuse(path, fmt::format("it has only {} bytes", all.size()));
  refuse_torch_save(path, {reinterpret_cast<const char*>(all.data()), std::min<std::size_t>(all.size(), 16)});
  std::memcpy(&header_bytes, all.data(), kPrefixBytes);
  if (header_bytes > kLargestHeader || header_bytes > all.size() - kPrefixBytes)
    refuse(path, fmt::format("a header of {} bytes in a file of {}", header_bytes, all.size()));
  const auto* text = reinterpret_cast<const char*>(all.data()) + kPrefixBytes;
  // From here on nothing outside the file is reachable: each entry is held against the bytes that are there.
  const json header = parse_unambiguous_json_object(std::string_view(text, header_bytes), "its header",
                                                    fmt::format("{} is not a valid safetensors file", path));
  const std::span data = all.subspan(kPrefixBytes + header_bytes);
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey) {
      metadata_ = parse_metadata(path, value);
      continue;
    }
    try {
      entries_.push_back(parse_entry(name, value, data));
    } catch (const std::exception& error) {
      refuse(path, fmt::format("tensor {}: {}", name, reason_of(error)));
    }
  }
  // By place, then size: an empty tensor stands before the one that begins at the same byte.
  std::sort(entries_.begin(), entries_.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  require_gapless(path, entries_, data);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    index_[entries_[i].name] = i;
}

void SafetensorsFile::rename(const std::function<std::string(const std::string&)>& named) {
  index_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::string name = named(entries_[i].name);
    if (!index_.emplace(name, i).second) refuse(path_, fmt::format("two of its tensors are {}", name));
    entries_[i].name = std::move(name);
  }
}

void SafetensorsFile::give_back(std::span<const std::byte> bytes) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
  auto* const begin = const_cast<std::byte*>(bytes.data()) - before;
  // Whole pages, those shared with a neighbour too: they are read again from the file when they are needed.
  if (!bytes.empty()) madvise(begin, before + bytes.size(), MADV_DONTNEED);
}

const SafetensorsEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const SafetensorsEntry& SafetensorsFile::at(const std::string& name) const {
  if (const SafetensorsEntry* entry = find(name)) return *entry;
  std::vector<std::string> names;
  for (const auto& [known, place] : index_)
    names.push_back(known);
  const std::optional<std::string> near = nearest(name, names);
  throw DataError(fmt::format("{} has no tensor {}", path_, name), near ? fmt::format("the nearest is {}", *near) : "");
}

}  // namespace multicard
