#include "prepare/images/ParquetColumns.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "io/JsonReader.hpp"
#include "prepare/images/ImageFormats.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

/// What a column is looked for.
struct Wanted {
  const char* name;                ///< that such a column usually has
  const char* what;                ///< it holds
  std::vector<ParquetKind> kinds;  ///< the first that there is
  const char* expected;
};

// The datasets library stores an Image feature as a struct of bytes and path; plain bytes are what other writers have.
const Wanted kImages{"image", "images", {ParquetKind::image, ParquetKind::bytes}, "bytes, or structs with bytes"};
const Wanted kLabels{"label", "labels", {ParquetKind::integer}, "integers"};

/// What rows are numbered by, and sizes.
bool is_never_meant(const std::string& column) {
  const ForeignKey* known = find_parquet_column(column);
  return known && known->use == KeyUse::harmless;
}

bool is_of(const Wanted& wanted, const ParquetColumn& column) {
  return std::find(wanted.kinds.begin(), wanted.kinds.end(), column.kind) != wanted.kinds.end();
}

const ParquetColumn* find(const std::vector<ParquetColumn>& columns, const std::string& name) {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const ParquetColumn& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

std::string described(const std::vector<ParquetColumn>& columns) {
  std::vector<std::string> parts;
  parts.reserve(columns.size());
  for (const ParquetColumn& column : columns)
    parts.push_back(fmt::format("{} ({})", column.name, column.type));
  return parts.empty() ? "none" : join(parts, ", ");
}

[[noreturn]] void refuse_kind(const ParquetFile& file, const Wanted& wanted, const ParquetColumn& column) {
  throw DataError(fmt::format("{}: its column {} holds no {}", file.path(), column.name, wanted.what),
                  fmt::format("it is of type {}; {} are {}", column.type, wanted.what, wanted.expected),
                  "Name the columns that are meant: --columns IMAGE,LABEL.");
}

std::string named_column(const ParquetFile& file, const Wanted& wanted, const std::string& name) {
  const std::vector<ParquetColumn> columns = file.columns();
  const ParquetColumn* column = find(columns, name);
  if (!column || !is_of(wanted, *column))
    throw DataError(fmt::format("{} has no column {} of {}", file.path(), name, wanted.what),
                    fmt::format("its columns are {}; {} are {}", described(columns), wanted.what, wanted.expected));
  return name;
}

// A guess is made only where nothing else is possible: two candidates are an error, since training on the wrong
// integers as labels would not be noticed.
std::string meant_column(const ParquetFile& file, const Wanted& wanted) {
  const std::vector<ParquetColumn> columns = file.columns();
  if (const ParquetColumn* usual = find(columns, wanted.name)) {
    if (!is_of(wanted, *usual)) refuse_kind(file, wanted, *usual);
    return usual->name;
  }
  for (const ParquetKind kind : wanted.kinds) {
    std::vector<std::string> names;
    for (const ParquetColumn& column : columns)
      if (column.kind == kind && !is_never_meant(column.name)) names.push_back(column.name);
    if (names.size() == 1) return names.front();
    if (!names.empty())
      throw DataError(fmt::format("{} has several columns that may hold {}", file.path(), wanted.what),
                      join(names, ", "), "Name those that are meant: --columns IMAGE,LABEL.");
  }
  throw DataError(fmt::format("{} has no column of {}", file.path(), wanted.what),
                  fmt::format("its columns are {}; {} are {}", described(columns), wanted.what, wanted.expected));
}

[[noreturn]] void refuse_names(const ParquetFile& file, const std::string& column) {
  throw DataError(fmt::format("{}: the names of the classes of its column {} are not understood", file.path(), column),
                  "the key huggingface of its metadata has a name for each number from 0, as a list or an object",
                  "Write the file again with a ClassLabel of the datasets library, or without metadata.");
}

}  // namespace

ImageColumns find_image_columns(const ParquetFile& file, const std::vector<std::string>& named) {
  ImageColumns found;
  found.image = named.empty() ? meant_column(file, kImages) : named_column(file, kImages, named.at(0));
  found.label = named.empty() ? meant_column(file, kLabels) : named_column(file, kLabels, named.at(1));
  for (const ParquetColumn& column : file.columns())
    if (column.name != found.image && column.name != found.label) found.unused.push_back(column.name);
  return found;
}

// The datasets library writes its schema as JSON into the file's key-value metadata under "huggingface": {"info":
// {"features": {COLUMN: {"names": [...], "_type": "ClassLabel"}}}}. Names may also be an object by number.
std::vector<std::string> stored_class_names(const ParquetFile& file, const std::string& column) {
  const std::string text = file.metadata("huggingface");
  if (text.empty()) return {};
  const json facts = parse_ordered_json(text, fmt::format("the metadata of {}", file.path()));
  const json* part = &facts;
  for (const char* key : {"info", "features", column.c_str(), "names"})
    if (part) part = optional_member(*part, key);
  if (!part || part->is_null()) return {};
  if (!part->is_array() && !part->is_object()) refuse_names(file, column);
  std::vector<std::string> names;
  for (std::size_t label = 0; label < part->size(); ++label) {
    const json* name = part->is_array() ? &(*part)[label] : optional_member(*part, std::to_string(label).c_str());
    if (!name || !name->is_string()) refuse_names(file, column);
    names.push_back(name->get<std::string>());
  }
  return names;
}

}  // namespace multicard
