#include <algorithm>

#include <fmt/format.h>

#include "io/Hdf5State.hpp"

namespace multicard {

namespace {

/// What an attribute is made of before it is written.
struct Encoded {
  Hdf5Id type;
  std::optional<hsize_t> length;  ///< none for a single value
  const void* data;
  std::string packed;  ///< of texts
};

Encoded encode_texts(const std::vector<std::string>& texts, std::optional<hsize_t> length,
                     const Hdf5Operation& operation) {
  // Of fixed length: HDF5 cannot write texts of variable length from several ranks.
  const std::size_t bytes = packed_bytes(texts);
  return {text_type(bytes), length, nullptr, pack_texts(texts, bytes, operation)};
}

Encoded encode(const Hdf5Value& value, const Hdf5Operation& operation) {
  const auto plain = [](hid_t type, std::optional<hsize_t> length, const void* data) {
    return Encoded{Hdf5Id(H5Tcopy(type), H5Tclose), length, data, {}};
  };
  if (const auto* text = std::get_if<std::string>(&value)) return encode_texts({*text}, std::nullopt, operation);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    return encode_texts(*texts, texts->size(), operation);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return plain(H5T_STD_I64LE, std::nullopt, integer);
  if (const auto* real = std::get_if<double>(&value)) return plain(H5T_IEEE_F64LE, std::nullopt, real);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
    return plain(H5T_STD_I64LE, integers->size(), integers->data());
  const auto& reals = std::get<std::vector<double>>(value);
  return plain(H5T_IEEE_F64LE, reals.size(), reals.data());
}

/// At least what an attribute takes in the file.
std::uint64_t encoded_bytes(const Hdf5Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return packed_bytes({*text});
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return texts->size() * packed_bytes(*texts);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) return integers->size() * sizeof(double);
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) return reals->size() * sizeof(double);
  return sizeof(double);
}

hid_t memory_type_of(const Encoded& encoded) {
  // Numbers are little-endian in the file, on every machine; in memory they are as this one has them.
  switch (H5Tget_class(encoded.type)) {
    case H5T_INTEGER:
      return H5T_NATIVE_INT64;
    case H5T_FLOAT:
      return H5T_NATIVE_DOUBLE;
    default:
      return encoded.type;
  }
}

/// An attribute opened for reading.
struct Stored {
  Hdf5Id attribute, type, space;

  explicit Stored(hid_t id)
      : attribute(id, H5Aclose), type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose) {}
  bool is_scalar() const { return H5Sget_simple_extent_type(space) == H5S_SCALAR; }
  std::size_t length() const {
    return static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
  }
};

template <class T>
Hdf5Value read_numbers(const Stored& stored, hid_t memory, const Hdf5Operation& operation) {
  std::vector<T> values(stored.length());
  if (!values.empty()) checked(H5Aread(stored.attribute, memory, values.data()), operation);
  if (stored.is_scalar()) return values.at(0);
  return values;
}

/// Other programs write texts of variable length too.
std::vector<std::string> read_variable_texts(const Stored& stored, const Hdf5Operation& operation) {
  // The library allocates each text; reclaiming frees them all.
  std::vector<char*> pointers(stored.length(), nullptr);
  if (!pointers.empty()) checked(H5Aread(stored.attribute, stored.type, pointers.data()), operation);
  std::vector<std::string> texts;
  texts.reserve(pointers.size());
  for (const char* pointer : pointers)
    texts.emplace_back(pointer ? pointer : "");
  H5Dvlen_reclaim(stored.type, stored.space, H5P_DEFAULT, pointers.data());
  return texts;
}

Hdf5Value read_texts(const Stored& stored, const Hdf5Operation& operation) {
  std::vector<std::string> texts;
  if (H5Tis_variable_str(stored.type) > 0) {
    texts = read_variable_texts(stored, operation);
  } else {
    std::string packed(stored.length() * H5Tget_size(stored.type), '\0');
    if (!packed.empty()) checked(H5Aread(stored.attribute, stored.type, packed.data()), operation);
    texts = unpack_texts(packed, stored.type);
  }
  if (stored.is_scalar()) return texts.at(0);
  return texts;
}

std::optional<Hdf5Value> decode(const Stored& stored, const Hdf5Operation& operation) {
  switch (H5Tget_class(stored.type)) {
    case H5T_STRING:
      return read_texts(stored, operation);
    case H5T_INTEGER:
      return read_numbers<std::int64_t>(stored, H5T_NATIVE_INT64, operation);
    case H5T_FLOAT:
      return read_numbers<double>(stored, H5T_NATIVE_DOUBLE, operation);
    default:
      return std::nullopt;
  }
}

std::string full_name(const std::string& object, const std::string& name) {
  return fmt::format("attribute {} of {}", name, object);
}

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->push_back(name);
  return 0;
}

}  // namespace

void Hdf5File::write_attribute(const std::string& object, const std::string& name, const Hdf5Value& value) {
  state_->reserve_more(encoded_bytes(value));
  state_->together("writing", [&] {
    const std::string full = full_name(object, name);
    const Hdf5Operation operation = state_->operation("writing", full);
    const Encoded encoded = encode(value, operation);
    const Hdf5Id owner(H5Oopen(state_->id, object.c_str(), H5P_DEFAULT), H5Oclose);
    checked<hid_t>(owner, operation);
    const Hdf5Id space(encoded.length ? H5Screate_simple(1, &*encoded.length, nullptr) : H5Screate(H5S_SCALAR),
                       H5Sclose);
    // An attribute keeps its type and extents for life, so a new value needs a new one.
    if (checked(H5Aexists(owner, name.c_str()), operation) > 0) checked(H5Adelete(owner, name.c_str()), operation);
    const Hdf5Id made(H5Acreate2(owner, name.c_str(), encoded.type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    checked<hid_t>(made, operation);
    const void* data = encoded.data ? encoded.data : encoded.packed.data();
    // Also for a single value, which has no length: only an empty array has nothing to write.
    if (encoded.length != 0U) checked(H5Awrite(made, memory_type_of(encoded), data), operation);
  });
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  return state_->locked("looking up", [&] {
    return checked(H5Aexists_by_name(state_->id, object.c_str(), name.c_str(), H5P_DEFAULT),
                   state_->operation("looking up", full_name(object, name))) > 0;
  });
}

Hdf5Value Hdf5File::read_attribute(const std::string& object, const std::string& name) const {
  const std::string full = full_name(object, name);
  if (!has_attribute(object, name)) throw DataError(fmt::format("{} has no {}", path(), full));
  return state_->locked("reading", [&] {
    const Hdf5Operation operation = state_->operation("reading", full);
    const Stored stored(
        checked(H5Aopen_by_name(state_->id, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), operation));
    std::optional<Hdf5Value> value = decode(stored, operation);
    if (!value) throw DataError(fmt::format("{}: reading {} failed", path(), full), "it is neither text nor number");
    return std::move(*value);
  });
}

std::map<std::string, Hdf5Value> Hdf5File::attributes(const std::string& object) const {
  return state_->locked("listing", [&] {
    const Hdf5Operation operation = state_->operation("listing", object);
    const Hdf5Id owner(H5Oopen(state_->id, object.c_str(), H5P_DEFAULT), H5Oclose);
    // Names first, values afterwards: attributes are not opened while the library walks through them.
    std::vector<std::string> names;
    checked(H5Aiterate2(checked<hid_t>(owner, operation), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names),
            operation);
    std::map<std::string, Hdf5Value> found;
    for (const std::string& name : names) {
      const Stored stored(checked(H5Aopen(owner, name.c_str(), H5P_DEFAULT), operation));
      if (std::optional<Hdf5Value> value = decode(stored, operation)) found.emplace(name, std::move(*value));
    }
    return found;
  });
}

void Hdf5File::throw_attribute_type(const std::string& object, const std::string& name) const {
  throw DataError(fmt::format("{}: {} has an unexpected type", path(), full_name(object, name)));
}

}  // namespace multicard
