// What Hdf5File does with the groups and datasets of an open file.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "io/Hdf5State.hpp"
#include "io/Hyperslab.hpp"

namespace multicard {

namespace {

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->push_back(name);
  return 0;
}

void new_group(const Hdf5FileState& file, const std::string& path) {
  const Hdf5Id made(H5Gcreate2(file.id, path.c_str(), H5P_DEFAULT, timeless(H5P_GROUP_CREATE), H5P_DEFAULT), H5Gclose);
  checked<hid_t>(made, file.operation("creating", path));
}

/// The groups that lead to `path`. HDF5 would make them by itself, but with times.
void make_parents(const Hdf5FileState& file, const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string parent = path.substr(0, end);
    if (checked(H5Lexists(file.id, parent.c_str(), H5P_DEFAULT), file.operation("looking up", parent)) == 0)
      new_group(file, parent);
  }
}

void set_fill(hid_t properties, Fill fill, ElementType type, const Hdf5Operation& operation) {
  H5Pset_fill_time(properties, fill == Fill::never ? H5D_FILL_TIME_NEVER : H5D_FILL_TIME_ALLOC);
  if (fill != Fill::nan) return;
  if (type != ElementType::float32 && type != ElementType::float64)
    throw DataError(fmt::format("{}: {} {} failed", operation.file, operation.verb, operation.object),
                    fmt::format("{} cannot be NaN", name_of(type)));
  // The library converts the value to the type of the dataset.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &nan);
}

hid_t new_dataset(const Hdf5FileState& file, const std::string& path, hid_t type, const Extents& dims,
                  hid_t properties) {
  const Hdf5Operation operation = file.operation("creating", path);
  const Hdf5Id space(
      H5Screate_simple(static_cast<int>(dims.size()), reinterpret_cast<const hsize_t*>(dims.data()), nullptr),
      H5Sclose);
  checked<hid_t>(space, operation);
  // Contiguous and allocated at once: several ranks can write only what has its place, readers find it with pread
  // (file_offset), and a disk without room shows here instead of in the middle of a transfer.
  H5Pset_layout(properties, H5D_CONTIGUOUS);
  H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
  make_parents(file, path);
  return checked(H5Dcreate2(file.id, path.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT), operation);
}

}  // namespace

Hdf5Id timeless(hid_t kind) {
  Hdf5Id properties(H5Pcreate(kind), H5Pclose);
  H5Pset_obj_track_times(properties, false);
  return properties;
}

void Hdf5File::create_group(const std::string& group) {
  if (exists(group)) return;
  state_->reserve_more(0);
  state_->together("creating", [&] {
    make_parents(*state_, group);
    new_group(*state_, group);
  });
}

bool Hdf5File::exists(const std::string& object) const {
  return state_->locked("looking up", [&] {
    // Group by group: of a path through a group that is missing H5Lexists reports an error, not that there is none.
    std::string path;
    for (const std::string& part : split(object, '/')) {
      if (part.empty()) continue;
      path += "/" + part;
      if (checked(H5Lexists(state_->id, path.c_str(), H5P_DEFAULT), state_->operation("looking up", object)) == 0)
        return false;
    }
    return true;
  });
}

bool Hdf5File::is_dataset(const std::string& object) const {
  return state_->locked("looking up", [&] {
    const Hdf5Id opened(H5Oopen(state_->id, object.c_str(), H5P_DEFAULT), H5Oclose);
    return H5Iget_type(checked<hid_t>(opened, state_->operation("looking up", object))) == H5I_DATASET;
  });
}

std::vector<std::string> Hdf5File::children(const std::string& group) const {
  return state_->locked("listing", [&] {
    const Hdf5Operation operation = state_->operation("listing", group);
    const Hdf5Id opened(H5Gopen2(state_->id, group.c_str(), H5P_DEFAULT), H5Gclose);
    std::vector<std::string> names;
    checked(H5Literate(checked<hid_t>(opened, operation), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names),
            operation);
    std::sort(names.begin(), names.end());
    return names;
  });
}

std::vector<std::string> Hdf5File::datasets_below(const std::string& group) const {
  std::vector<std::string> found;
  for (const std::string& name : children(group)) {
    const std::string path = (group == "/" ? "" : group) + "/" + name;
    if (is_dataset(path)) {
      found.push_back(name);
      continue;
    }
    for (const std::string& below : datasets_below(path))
      found.push_back(name + "/" + below);
  }
  return found;
}

void Hdf5File::copy_from(const Hdf5File& source, const std::string& source_object, const std::string& object) {
  if (state_->is_parallel() || source.state_->is_parallel())
    throw DataError(fmt::format("{}: copying into a file that several ranks hold is not possible", path()));
  state_->reserve_more(source.state_->locked("reading", [&] {
    // At most the whole source: how much a copied object takes, the library does not say beforehand.
    hsize_t bytes = 0;
    checked(H5Fget_filesize(source.state_->id, &bytes), source.state_->operation("reading", source_object));
    return bytes;
  }));
  state_->locked("writing", [&] {
    make_parents(*state_, object);
    checked(H5Ocopy(source.state_->id, source_object.c_str(), state_->id, object.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            state_->operation("writing", object));
  });
}

Hdf5Dataset Hdf5File::create_dataset(const std::string& dataset, ElementType type, const Extents& dims, Fill fill) {
  state_->reserve_more(Hyperslab{{}, dims}.num_elements() * element_bytes(type));
  return state_->together("creating", [&] {
    const Hdf5Id properties = timeless(H5P_DATASET_CREATE);
    set_fill(properties, fill, type, state_->operation("creating", dataset));
    const hid_t id = new_dataset(*state_, dataset, file_type(type), dims, properties);
    return Hdf5Dataset(std::make_shared<Hdf5DatasetState>(state_, dataset, id));
  });
}

Hdf5Dataset Hdf5File::open_dataset(const std::string& dataset) const {
  return state_->locked("opening", [&] {
    const hid_t id = checked(H5Dopen2(state_->id, dataset.c_str(), H5P_DEFAULT), state_->operation("opening", dataset));
    return Hdf5Dataset(std::make_shared<Hdf5DatasetState>(state_, dataset, id));
  });
}

void Hdf5File::write_texts(const std::string& dataset, const std::vector<std::string>& texts) {
  const std::size_t bytes = packed_bytes(texts);
  state_->reserve_more(texts.size() * bytes);
  state_->together("writing", [&](const Hdf5Lock& lock) {
    const Hdf5Operation operation = state_->operation("writing", dataset);
    const std::string packed = pack_texts(texts, bytes, operation);
    const Hdf5Id type = text_type(bytes);
    const Hdf5Id properties = timeless(H5P_DATASET_CREATE);
    const Hdf5Id made(new_dataset(*state_, dataset, type, {texts.size()}, properties), H5Dclose);
    // Making the dataset is collective, writing its few bytes is not.
    if (!is_writer() || texts.empty()) return;
    const TransferTimer timer(Direction::write, Transfer::independent, lock);
    checked(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()), operation);
    timer.add(1, packed.size());
  });
}

std::vector<std::string> Hdf5File::read_texts(const std::string& dataset) const {
  const Hdf5Dataset opened = open_dataset(dataset);
  if (opened.type() != ElementType::text)
    throw DataError(fmt::format("{}: reading {} failed", path(), dataset),
                    fmt::format("it holds {}, text is expected", name_of(opened.type())));
  return state_->locked("reading", [&](const Hdf5Lock& lock) {
    check_memory(*opened.state_);
    const hid_t id = opened.state_->id;
    const Hdf5Id type(H5Dget_type(id), H5Tclose);
    std::string packed(opened.num_elements() * H5Tget_size(type), '\0');
    const TransferTimer timer(Direction::read, Transfer::independent, lock);
    checked(H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()), state_->operation("reading", dataset));
    timer.add(1, packed.size());
    return unpack_texts(packed, type);
  });
}

}  // namespace multicard
