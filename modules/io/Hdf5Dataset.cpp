#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/Hdf5State.hpp"
#include "io/Hyperslab.hpp"

namespace multicard {

namespace {

// The types that multicard writes. HDF5 would convert others too, and say nothing of what is lost on the way.
std::optional<ElementType> find_element_type(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      if (H5Tis_variable_str(type) == 0) return ElementType::text;
      break;
    case H5T_FLOAT:
      if (bytes == 4) return ElementType::float32;
      if (bytes == 8) return ElementType::float64;
      break;
    case H5T_INTEGER:
      if (H5Tget_sign(type) == H5T_SGN_NONE) {
        if (bytes == 1) return ElementType::uint8;
        if (bytes == 4) return ElementType::uint32;
        if (bytes == 8) return ElementType::uint64;
      } else {
        if (bytes == 4) return ElementType::int32;
        if (bytes == 8) return ElementType::int64;
      }
      break;
    default:
      break;
  }
  return std::nullopt;
}

/// One transfer of a block; everything that is equal in all of its pieces.
struct Request {
  const Hdf5DatasetState& dataset;
  Direction direction;
  Hyperslab block;
  void* values;
  std::size_t num_values;
  ElementType type;

  const char* verb() const { return direction == Direction::read ? "reading" : "writing"; }
  void check() const;
  /// Transfers one piece; without one takes part in a collective transfer with nothing. A negative result is an error.
  herr_t transfer(const Hyperslab* piece, void* memory, hid_t properties) const;
};

void Request::check() const {
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{}: {} {} failed", dataset.file->path, verb(), dataset.path), why);
  };
  if (type != dataset.type) refuse(fmt::format("it holds {}, {} is expected", name_of(dataset.type), name_of(type)));
  if (block.start.size() != dataset.dims.size() || block.count.size() != dataset.dims.size())
    refuse(fmt::format("it has {} dimensions where {} are wanted", dataset.dims.size(), block.count.size()));
  for (std::size_t axis = 0; axis < dataset.dims.size(); ++axis)
    // Subtracted, not added: a sum of two numbers from outside could wrap around.
    if (block.start[axis] > dataset.dims[axis] || block.count[axis] > dataset.dims[axis] - block.start[axis])
      refuse(fmt::format("[{}] + [{}] reaches beyond its extents [{}]", fmt::join(block.start, ", "),
                         fmt::join(block.count, ", "), fmt::join(dataset.dims, ", ")));
  if (block.num_elements() != num_values)
    refuse(fmt::format("{} values for a block of {}", num_values, block.num_elements()));
}

herr_t Request::transfer(const Hyperslab* piece, void* memory, hid_t properties) const {
  static_assert(sizeof(hsize_t) == sizeof(std::uint64_t));
  const auto as_hsize = [](const Extents& extents) { return reinterpret_cast<const hsize_t*>(extents.data()); };
  const Hdf5Id in_file(H5Dget_space(dataset.id), H5Sclose);
  const int rank = static_cast<int>(dataset.dims.size());
  const Hdf5Id in_memory(H5Screate_simple(rank, as_hsize(piece ? piece->count : block.count), nullptr), H5Sclose);
  const herr_t selected = piece ? H5Sselect_hyperslab(in_file, H5S_SELECT_SET, as_hsize(piece->start), nullptr,
                                                      as_hsize(piece->count), nullptr)
                                : std::min(H5Sselect_none(in_file), H5Sselect_none(in_memory));
  if (selected < 0) return selected;
  if (direction == Direction::read)
    return H5Dread(dataset.id, memory_type(type), in_memory, in_file, properties, memory);
  return H5Dwrite(dataset.id, memory_type(type), in_memory, in_file, properties, memory);
}

/// After an error a rank continues with empty pieces, because the others wait for it in the remaining ones.
void run_pieces(const Request& request, const HyperslabPieces& pieces, std::uint64_t rounds, hid_t properties) {
  const Hdf5DatasetState& dataset = request.dataset;
  char* memory = static_cast<char*>(request.values);
  std::optional<Error> error;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const bool is_empty = error || round >= pieces.size();
    const Hyperslab piece = is_empty ? Hyperslab{} : pieces.piece(round);
    try {
      checked(request.transfer(is_empty ? nullptr : &piece, memory, properties),
              dataset.file->operation(request.verb(), dataset.path));
    } catch (const Error& found) {
      if (!error) error = found;
    }
    if (!is_empty) memory += piece.num_elements() * element_bytes(request.type);
  }
  if (error) throw Error(*error);
}

/// \param transfer how it is made in the end: a serial file knows independent transfers only
void run_counted(const Request& request, Transfer transfer, const HyperslabPieces& pieces, std::uint64_t rounds,
                 hid_t properties, const Hdf5Lock& lock) {
  const TransferTimer timer(request.direction, transfer, lock);
  run_pieces(request, pieces, rounds, properties);
  timer.add(rounds, request.num_values * element_bytes(request.type));
}

void run(const Request& request, Transfer transfer) {
  Hdf5FileState& file = *request.dataset.file;
  const auto cut = [&] {
    request.check();
    return HyperslabPieces(request.block, element_bytes(request.type), file.options.piece_bytes);
  };
  if (transfer == Transfer::independent || !file.is_parallel()) {
    const HyperslabPieces pieces = cut();
    return file.locked(request.verb(), [&](const Hdf5Lock& lock) {
      run_counted(request, Transfer::independent, pieces, pieces.size(), H5P_DEFAULT, lock);
    });
  }
  // A collective transfer is one call of all ranks. Blocks may be of different sizes, so all make as many calls as the
  // one with the most pieces; and a block that does not fit must show on all ranks before the first call.
  const HyperslabPieces pieces = agreed(file.communicator, cut);
  const std::uint64_t rounds = file.communicator.allreduce(pieces.size(), ReduceOp::max);
  file.together(request.verb(), [&](const Hdf5Lock& lock) {
    const Hdf5Id properties(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
    H5Pset_dxpl_mpio(properties, H5FD_MPIO_COLLECTIVE);
    run_counted(request, Transfer::collective, pieces, rounds, properties, lock);
  });
}

}  // namespace

Hdf5DatasetState::Hdf5DatasetState(std::shared_ptr<Hdf5FileState> owner, std::string dataset_path, hid_t dataset)
    : file(std::move(owner)), path(std::move(dataset_path)), id(dataset) {
  // Where this throws, no destructor closes the dataset.
  const Hdf5Id stored(H5Dget_type(id), H5Tclose);
  const Hdf5Id space(H5Dget_space(id), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  const std::optional<ElementType> found = find_element_type(stored);
  if (!found || rank < 1) {
    H5Dclose(id);
    throw DataError(fmt::format("{}: {} cannot be read", file->path, path),
                    found ? "it has no dimensions" : "its element type is not one that multicard knows",
                    "Known are uint8, int32, int64, uint32, uint64, float32, float64 and fixed-length text.");
  }
  type = *found;
  dims.resize(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, reinterpret_cast<hsize_t*>(dims.data()), nullptr);
  try {
    check_storage(*file, path, id, dims);
  } catch (...) {
    H5Dclose(id);
    throw;
  }
}

Hdf5DatasetState::~Hdf5DatasetState() {
  const Hdf5Lock lock;
  // A closed file has closed its datasets (H5F_CLOSE_STRONG); the identifier may be another object's now.
  if (file->id >= 0) H5Dclose(id);
}

const std::string& Hdf5Dataset::path() const {
  return state_->path;
}
ElementType Hdf5Dataset::type() const {
  return state_->type;
}
const Extents& Hdf5Dataset::dims() const {
  return state_->dims;
}
std::uint64_t Hdf5Dataset::num_elements() const {
  return Hyperslab{{}, state_->dims}.num_elements();
}

void Hdf5Dataset::write_raw(const Extents& start, const Extents& count, const void* values, std::size_t num_values,
                            ElementType type, Transfer transfer) {
  // The library's write takes const memory; Request is shared with reading.
  run({*state_, Direction::write, {start, count}, const_cast<void*>(values), num_values, type}, transfer);
}

void Hdf5Dataset::read_raw(const Extents& start, const Extents& count, void* values, std::size_t num_values,
                           ElementType type, Transfer transfer) const {
  run({*state_, Direction::read, {start, count}, values, num_values, type}, transfer);
}

void Hdf5Dataset::require_memory() const {
  state_->file->locked("measuring", [&] { check_memory(*state_); });
}

std::optional<std::uint64_t> Hdf5Dataset::file_offset() const {
  return state_->file->locked("looking up", [&]() -> std::optional<std::uint64_t> {
    const Hdf5Id stored(H5Dget_type(state_->id), H5Tclose);
    // Undefined for chunks, compact data (inside the header) and what was never allocated: not an error.
    const haddr_t offset = H5Dget_offset(state_->id);
    const bool is_plain = H5Tget_size(stored) == 1 || H5Tget_order(stored) != H5T_ORDER_BE;
    H5Eclear2(H5E_DEFAULT);
    if (offset == HADDR_UNDEF || !is_plain) return std::nullopt;
    return offset;
  });
}

}  // namespace multicard
