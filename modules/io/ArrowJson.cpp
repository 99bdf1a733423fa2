#include "io/ArrowJson.hpp"

#include <cmath>
#include <optional>
#include <string>

#include <arrow/api.h>

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

json object_of(const arrow::StructArray& array, std::int64_t i) {
  json object = json::object();
  for (int field = 0; field < array.num_fields(); ++field)
    object[array.struct_type()->field(field)->name()] = arrow_value(*array.field(field), i);
  return object;
}

/// A list of any kind: its values are a range of another array.
template <class List>
json list_of(const arrow::Array& array, std::int64_t i) {
  // Offsets count in values(), which a slice of the list shares with the whole; fields of a struct come sliced already.
  const auto& list = static_cast<const List&>(array);
  json values = json::array();
  for (std::int64_t at = list.value_offset(i); at < list.value_offset(i) + list.value_length(i); ++at)
    values.push_back(arrow_value(*list.values(), at));
  return values;
}

template <class Numbers>
json number_of(const arrow::Array& array, std::int64_t i) {
  const auto value = static_cast<const Numbers&>(array).Value(i);
  if constexpr (std::is_floating_point_v<decltype(value)>)
    // JSON has no NaN. Data sets use it for a value that is missing, as null is.
    return std::isfinite(value) ? json(value) : json(nullptr);
  else
    return value;
}

template <class Texts>
json text_of(const arrow::Array& array, std::int64_t i) {
  return std::string(static_cast<const Texts&>(array).GetView(i));
}

json other_value(const arrow::Array& array, std::int64_t i) {
  // Dates, decimals and the like, in Arrow's own notation.
  const arrow::Result<std::shared_ptr<arrow::Scalar>> scalar = array.GetScalar(i);
  return scalar.ok() ? json((*scalar)->ToString()) : json(nullptr);
}

/// A truth value or a number; nothing for other kinds.
std::optional<json> plain_value(const arrow::Array& array, std::int64_t i) {
  using enum arrow::Type::type;
  switch (array.type_id()) {
    case BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(i);
    case INT8:
      return number_of<arrow::Int8Array>(array, i);
    case INT16:
      return number_of<arrow::Int16Array>(array, i);
    case INT32:
      return number_of<arrow::Int32Array>(array, i);
    case INT64:
      return number_of<arrow::Int64Array>(array, i);
    case UINT8:
      return number_of<arrow::UInt8Array>(array, i);
    case UINT16:
      return number_of<arrow::UInt16Array>(array, i);
    case UINT32:
      return number_of<arrow::UInt32Array>(array, i);
    case UINT64:
      return number_of<arrow::UInt64Array>(array, i);
    case FLOAT:
      return number_of<arrow::FloatArray>(array, i);
    case DOUBLE:
      return number_of<arrow::DoubleArray>(array, i);
    default:
      return std::nullopt;
  }
}

}  // namespace

nlohmann::ordered_json arrow_value(const arrow::Array& array, std::int64_t i) {
  if (array.IsNull(i)) return nullptr;
  if (const std::optional<json> plain = plain_value(array, i)) return *plain;
  using enum arrow::Type::type;
  switch (array.type_id()) {
    case STRING:
      return text_of<arrow::StringArray>(array, i);
    case LARGE_STRING:
      return text_of<arrow::LargeStringArray>(array, i);
    case STRING_VIEW:
      return text_of<arrow::StringViewArray>(array, i);
    case BINARY:
    case LARGE_BINARY:
      return json{{"num_bytes", arrow_bytes(array, i).size()}};
    case LIST:
      return list_of<arrow::ListArray>(array, i);
    case LARGE_LIST:
      return list_of<arrow::LargeListArray>(array, i);
    case FIXED_SIZE_LIST:
      return list_of<arrow::FixedSizeListArray>(array, i);
    case STRUCT:
      return object_of(static_cast<const arrow::StructArray&>(array), i);
    case DICTIONARY: {
      const auto& words = static_cast<const arrow::DictionaryArray&>(array);
      return arrow_value(*words.dictionary(), words.GetValueIndex(i));
    }
    case EXTENSION:
      return arrow_value(*static_cast<const arrow::ExtensionArray&>(array).storage(), i);
    default:
      return other_value(array, i);
  }
}

std::string_view arrow_bytes(const arrow::Array& array, std::int64_t i) {
  return array.type_id() == arrow::Type::LARGE_BINARY ? static_cast<const arrow::LargeBinaryArray&>(array).GetView(i)
                                                      : static_cast<const arrow::BinaryArray&>(array).GetView(i);
}

}  // namespace multicard
