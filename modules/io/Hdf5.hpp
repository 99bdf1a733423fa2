#pragma once
/// \file HDF5 files as values. The library itself is hidden by this header.
///
/// All HDF5 calls of the process pass one lock, because the library is built without thread safety: any thread may use
/// any object here. Collective operations must still be made by one thread a rank at a time, in the same order on all
/// ranks. Failures are DataErrors that name the file, the operation and HDF5's own innermost message.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// What a dataset holds; `text` is fixed-length UTF-8.
enum class ElementType { uint8, int32, int64, uint32, uint64, float32, float64, text };

template <class T>
constexpr ElementType element_type() {
  using V = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic_v<V>, "datasets hold numbers; texts have functions of their own");
  if constexpr (std::is_same_v<V, float>) return ElementType::float32;
  if constexpr (std::is_same_v<V, double>) return ElementType::float64;
  if constexpr (std::is_same_v<V, std::uint8_t>) return ElementType::uint8;
  if constexpr (std::is_integral_v<V> && std::is_signed_v<V> && sizeof(V) == 4) return ElementType::int32;
  if constexpr (std::is_integral_v<V> && std::is_signed_v<V> && sizeof(V) == 8) return ElementType::int64;
  if constexpr (std::is_integral_v<V> && std::is_unsigned_v<V> && sizeof(V) == 4) return ElementType::uint32;
  if constexpr (std::is_integral_v<V> && std::is_unsigned_v<V> && sizeof(V) == 8) return ElementType::uint64;
}
const char* name_of(ElementType type);
/// \throws DataError for `text`, whose length each dataset has for itself.
std::uint64_t element_bytes(ElementType type);

/// The value of an attribute. Vectors are one-dimensional arrays.
using Hdf5Value = std::variant<std::string, std::int64_t, double, std::vector<std::string>, std::vector<std::int64_t>,
                               std::vector<double>>;

/// How a transfer of a file opened by several ranks is made. A serial file knows no difference.
enum class Transfer {
  independent,  ///< by this rank alone
  collective    ///< by all ranks together; a rank may take part with a count of zero
};

/// What unwritten elements hold.
enum class Fill {
  never,  ///< whatever the disk held: for datasets that are written whole
  zero,
  nan  ///< float32 and float64 only
};

using Extents = std::vector<std::uint64_t>;

/// \private
struct Hdf5FileState;
/// \private
struct Hdf5DatasetState;

/// An open dataset, kept open for repeated transfers. A value: copies share the same dataset. It ends with its file's
/// close(); a use after that is a DataError.
class Hdf5Dataset {
 public:
  const std::string& path() const;  ///< inside the file
  ElementType type() const;
  const Extents& dims() const;
  std::uint64_t num_elements() const;

  /// Writes / reads the block of `count` elements along each dimension from `start`, in row-major order. `values` must
  /// have exactly that many elements and T must be the stored type. Split into pieces of at most 1 GiB.
  /// Collective when `transfer` is; an error of one rank is then thrown on all.
  template <class T>
  void write(const Extents& start, const Extents& count, std::span<const T> values,
             Transfer transfer = Transfer::independent) {
    write_raw(start, count, values.data(), values.size(), element_type<T>(), transfer);
  }
  template <class T>
  void read(const Extents& start, const Extents& count, std::span<T> values,
            Transfer transfer = Transfer::independent) const {
    read_raw(start, count, values.data(), values.size(), element_type<T>(), transfer);
  }
  /// Independent: all elements.
  template <class T>
  std::vector<T> read_all() const {
    require_memory();
    std::vector<T> values(num_elements());
    read<T>(Extents(dims().size(), 0), dims(), values);
    return values;
  }

  /// \throws EnvironmentError when the memory that is left does not hold all elements.
  void require_memory() const;

  /// Where the first element stands in the file, if the elements stand there as they are in memory (contiguous and
  /// little-endian), so that they can be read with pread.
  std::optional<std::uint64_t> file_offset() const;

 private:
  friend class Hdf5File;
  explicit Hdf5Dataset(std::shared_ptr<Hdf5DatasetState> state) : state_(std::move(state)) {}
  void write_raw(const Extents& start, const Extents& count, const void* values, std::size_t num_values,
                 ElementType type, Transfer transfer);
  void read_raw(const Extents& start, const Extents& count, void* values, std::size_t num_values, ElementType type,
                Transfer transfer) const;

  std::shared_ptr<Hdf5DatasetState> state_;
};

/// Settings of one open file.
struct Hdf5Options {
  /// The largest single transfer; above 2 GiB MPI-IO fails (docs/hdf5.md).
  std::uint64_t piece_bytes = std::uint64_t{1} << 30;
};

/// An open HDF5 file. With a communicator of several ranks it is opened by all of them through MPI-IO with collective
/// metadata: everything but independent transfers and path() is then collective, with equal arguments on all ranks.
/// With the null communicator (or one rank) it is this process's own. Paths inside the file start with "/".
class Hdf5File {
 public:
  /// Collective. A new file; one that exists is replaced. Write under a PendingFile's path to keep the old one until
  /// the new one is whole.
  static Hdf5File create(const std::string& path, const Communicator& communicator = Communicator::null(),
                         Hdf5Options options = {});
  /// Collective. Anybody may have written the file: links, elements in other files, and more elements than the file has
  /// room for are DataErrors, the first here, the others when a dataset is opened.
  static Hdf5File open_read(const std::string& path, const Communicator& communicator = Communicator::null(),
                            Hdf5Options options = {});

  /// Collective. An existing file, for reading and writing.
  static Hdf5File open_update(const std::string& path, const Communicator& communicator = Communicator::null(),
                              Hdf5Options options = {});

  Hdf5File(Hdf5File&&) noexcept = default;
  Hdf5File& operator=(Hdf5File&& other) noexcept;
  /// Collective when the file is still open. Closes; an error is only logged.
  ~Hdf5File();

  const std::string& path() const;
  /// Collective. Writes what is buffered and closes the file and its datasets.
  void close();

  /// \name Structure
  /// @{
  /// With all groups above it; one that exists stays.
  void create_group(const std::string& group);
  bool exists(const std::string& object) const;
  bool is_dataset(const std::string& object) const;
  /// Names of the groups and datasets in a group, sorted.
  std::vector<std::string> children(const std::string& group) const;
  /// Paths, relative to `group`, of the datasets in it and in the groups below it, sorted.
  std::vector<std::string> datasets_below(const std::string& group) const;
  /// Copies an object with everything below it from another file. Serial files only.
  void copy_from(const Hdf5File& source, const std::string& source_object, const std::string& object);
  /// @}

  /// \name Attributes (of a group or dataset that exists; "/" is the root)
  /// @{
  /// A new value replaces an old one. Texts must not contain NUL.
  void write_attribute(const std::string& object, const std::string& name, const Hdf5Value& value);
  bool has_attribute(const std::string& object, const std::string& name) const;
  Hdf5Value read_attribute(const std::string& object, const std::string& name) const;
  /// A DataError unless the attribute exists and has this type. T is one of Hdf5Value's.
  template <class T>
  T attribute(const std::string& object, const std::string& name) const {
    Hdf5Value value = read_attribute(object, name);
    if (T* typed = std::get_if<T>(&value)) return std::move(*typed);
    throw_attribute_type(object, name);
  }
  /// All attributes whose type Hdf5Value can hold.
  std::map<std::string, Hdf5Value> attributes(const std::string& object) const;
  /// @}

  /// \name Datasets
  /// @{
  /// Contiguous, with fixed extents; missing groups are created.
  Hdf5Dataset create_dataset(const std::string& dataset, ElementType type, const Extents& dims,
                             Fill fill = Fill::never);
  template <class T>
  Hdf5Dataset create_dataset(const std::string& dataset, const Extents& dims, Fill fill = Fill::never) {
    return create_dataset(dataset, element_type<T>(), dims, fill);
  }
  Hdf5Dataset open_dataset(const std::string& dataset) const;
  Extents dims(const std::string& dataset) const { return open_dataset(dataset).dims(); }

  template <class T>
  void write_slab(const std::string& dataset, const Extents& start, const Extents& count, std::span<const T> values,
                  Transfer transfer = Transfer::collective) {
    open_dataset(dataset).write<T>(start, count, values, transfer);
  }
  template <class T>
  void read_slab(const std::string& dataset, const Extents& start, const Extents& count, std::span<T> values,
                 Transfer transfer = Transfer::collective) const {
    open_dataset(dataset).read<T>(start, count, values, transfer);
  }
  /// A small one-dimensional dataset that is equal on all ranks; rank 0 writes it.
  template <class T>
  void write_values(const std::string& dataset, const std::vector<T>& values) {
    create_dataset<T>(dataset, {values.size()})
        .template write<T>({0}, {is_writer() ? values.size() : 0},
                           std::span(values).first(is_writer() ? values.size() : 0), Transfer::collective);
  }
  template <class T>
  std::vector<T> read_values(const std::string& dataset) const {
    return open_dataset(dataset).read_all<T>();
  }
  /// The same for texts, stored with the length of the longest.
  void write_texts(const std::string& dataset, const std::vector<std::string>& texts);
  std::vector<std::string> read_texts(const std::string& dataset) const;
  /// @}

 private:
  explicit Hdf5File(std::shared_ptr<Hdf5FileState> state) : state_(std::move(state)) {}
  bool is_writer() const;
  [[noreturn]] void throw_attribute_type(const std::string& object, const std::string& name) const;

  std::shared_ptr<Hdf5FileState> state_;
};

/// "1.10.8"
std::string hdf5_version();

}  // namespace multicard
