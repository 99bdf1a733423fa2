// What a file that others wrote may hold, looked at before anything of it is read.

#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/System.hpp"
#include "base/Text.hpp"
#include "io/Hdf5State.hpp"
#include "io/Hyperslab.hpp"

namespace multicard {

namespace {

/// Deeper groups than multicard's own by far.
constexpr int kMostLevels = 16;
/// The largest factor by which deflate makes data smaller.
// 1032 by zlib's documentation, and some room.
constexpr std::uint64_t kMostCompressed = 1100;
/// Less memory than this is not asked for in advance.
constexpr std::uint64_t kLittleMemory = std::uint64_t{64} << 20;

[[noreturn]] void refuse(const std::string& file, const std::string& object, const char* what, const std::string& why) {
  throw DataError(fmt::format("{}: {} {}", file, object, what), why);
}

struct Link {
  std::string name;
  H5L_type_t type;
  haddr_t address;  ///< of the object, of hard links
};

herr_t collect_link(hid_t, const char* name, const H5L_info_t* link, void* out) {
  static_cast<std::vector<Link>*>(out)->push_back({name, link->type, link->u.address});
  return 0;
}

/// Links could lead to other files, or round in circles: each object must be in its group, and there alone.
class StructureCheck {
 public:
  explicit StructureCheck(const Hdf5FileState& file) : file_(file) {}

  void group(const std::string& path, int level) {
    if (level > kMostLevels)
      refuse(file_.path, path, "cannot be read", fmt::format("groups are nested more than {} deep", kMostLevels));
    for (const Link& link : links_in(path.empty() ? "/" : path))
      object(path + "/" + link.name, link, level);
  }

 private:
  std::vector<Link> links_in(const std::string& group) const {
    const Hdf5Operation operation = file_.operation("listing", group);
    const Hdf5Id opened(H5Gopen2(file_.id, group.c_str(), H5P_DEFAULT), H5Gclose);
    std::vector<Link> links;
    checked(H5Literate(checked<hid_t>(opened, operation), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_link, &links),
            operation);
    return links;
  }

  void object(const std::string& path, const Link& link, int level) {
    if (link.type != H5L_TYPE_HARD)
      refuse(file_.path, path, link.type == H5L_TYPE_SOFT ? "is a soft link" : "is a link to another file",
             "links are not followed");
    // A second hard link to one object, perhaps to a group around this one, has the same address.
    if (!seen_.insert(link.address).second)
      refuse(file_.path, path, "cannot be read", "the same object has another name in the file");
    const Hdf5Id opened(H5Oopen(file_.id, path.c_str(), H5P_DEFAULT), H5Oclose);
    const H5I_type_t type = H5Iget_type(checked<hid_t>(opened, file_.operation("opening", path)));
    if (type == H5I_GROUP) return group(path, level + 1);
    if (type != H5I_DATASET) refuse(file_.path, path, "cannot be read", "it is neither a group nor a dataset");
  }

  const Hdf5FileState& file_;
  std::set<haddr_t> seen_;
};

/// Bytes of all elements; nullopt when no file can have that size.
std::optional<std::uint64_t> bytes_of(const Extents& dims, std::uint64_t element) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::uint64_t bytes = element;
  for (const std::uint64_t extent : dims) {
    if (extent > 0 && bytes > kMost / extent) return std::nullopt;
    bytes *= extent;
  }
  return bytes;
}

/// Where an extent is 0, the others must be possible all the same.
bool can_be_in(std::uint64_t file_bytes, const Extents& dims, std::uint64_t element, H5D_layout_t layout) {
  Extents without_zeros = dims;
  std::erase(without_zeros, 0);
  const bool is_empty = without_zeros.size() < dims.size();
  const std::optional<std::uint64_t> bytes = bytes_of(without_zeros, element);
  if (!bytes) return false;
  return is_empty || *bytes <= (layout == H5D_CHUNKED ? kMostCompressed * file_bytes : file_bytes);
}

/// Compression that the library does not have here. It looks into HDF5_PLUGIN_PATH, too.
void check_filters(const std::string& file, const std::string& dataset, hid_t properties) {
  const int count = H5Pget_nfilters(properties);
  for (int index = 0; index < count; ++index) {
    std::array<char, 64> name{};
    unsigned flags = 0, config = 0;
    std::size_t num_values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(index), &flags, &num_values, nullptr,
                                               name.size() - 1, name.data(), &config);
    if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
    const std::string known = name[0] ? fmt::format("{} ({})", name.data(), filter) : std::to_string(filter);
    throw DataError(fmt::format("{}: {} cannot be read", file, dataset),
                    fmt::format("it is compressed by the HDF5 filter {}, which is not available here", known),
                    "Write the file again without compression or with gzip (where the filter is there: h5repack -f "
                    "GZIP=4 OLD NEW), or set HDF5_PLUGIN_PATH to the folder of its plugin.");
  }
  H5Eclear2(H5E_DEFAULT);
}

}  // namespace

void check_structure(const Hdf5FileState& file) {
  StructureCheck(file).group("", 0);
}

void check_storage(const Hdf5FileState& file, const std::string& dataset, hid_t id, const Extents& dims) {
  if (file.bytes_at_open == 0) return;
  const Hdf5Id properties(H5Dget_create_plist(id), H5Pclose);
  const Hdf5Id type(H5Dget_type(id), H5Tclose);
  const H5D_layout_t layout = H5Pget_layout(properties);
  if (layout == H5D_VIRTUAL || H5Pget_external_count(properties) != 0)
    refuse(file.path, dataset, "cannot be read", "its elements are stored in other files");
  check_filters(file.path, dataset, properties);
  if (!can_be_in(file.bytes_at_open, dims, H5Tget_size(type), layout))
    refuse(file.path, dataset, "is damaged", "it has more elements than the file has room for");
}

void check_memory(const Hdf5DatasetState& dataset) {
  const Hdf5Id type(H5Dget_type(dataset.id), H5Tclose);
  const std::uint64_t bytes = bytes_of(dataset.dims, H5Tget_size(type)).value_or(UINT64_MAX);
  if (bytes <= kLittleMemory || bytes <= static_cast<std::uint64_t>(available_memory_bytes())) return;
  throw EnvironmentError(fmt::format("{}: {} does not fit into memory", dataset.file->path, dataset.path),
                         fmt::format("it takes {}, {} are available", human_bytes(static_cast<double>(bytes)),
                                     human_bytes(static_cast<double>(available_memory_bytes()))));
}

}  // namespace multicard
