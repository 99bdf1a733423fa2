// Parquet through Arrow's C++ libraries. Its types stay in this file.

#include <algorithm>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "base/Error.hpp"
#include "io/ArrowJson.hpp"
#include "io/ParquetFile.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t kRowsAtOnce = 256;  // images of some megabytes stay within a gigabyte

void check(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) throw DataError(fmt::format("{} cannot be read as Parquet", path), status.message());
}

template <class T>
T checked(arrow::Result<T> result, const std::string& path) {
  check(result.status(), path);
  return std::move(result).ValueUnsafe();
}

bool is_bytes(const arrow::DataType& type) {
  return type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY;
}

ParquetKind kind_of(const arrow::DataType& type) {
  if (arrow::is_integer(type.id())) return ParquetKind::integer;
  if (is_bytes(type)) return ParquetKind::bytes;
  if (arrow::is_base_binary_like(type.id()) || type.id() == arrow::Type::STRING_VIEW) return ParquetKind::text;
  if (type.id() != arrow::Type::STRUCT) return ParquetKind::other;
  const std::shared_ptr<arrow::Field> bytes = static_cast<const arrow::StructType&>(type).GetFieldByName("bytes");
  return bytes && is_bytes(*bytes->type()) ? ParquetKind::image : ParquetKind::other;
}

}  // namespace

struct ParquetFile::Open {
  std::unique_ptr<parquet::arrow::FileReader> reader;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<ParquetGroup> groups = {};
  // What is decoded: a batch of rows of a group, and the reader of those after it.
  std::unique_ptr<arrow::RecordBatchReader> batches = nullptr;
  std::shared_ptr<arrow::RecordBatch> batch = nullptr;
  std::int64_t batch_first = 0, next = 0, group_end = 0;

  bool holds(std::int64_t row) const { return batch && row >= batch_first && row < batch_first + batch->num_rows(); }
  void begin_group_of(std::int64_t row, const std::string& path);
  std::int64_t place_in_batch(std::int64_t row, const std::string& path);
};

void ParquetFile::Open::begin_group_of(std::int64_t row, const std::string& path) {
  // The last group that begins at or before the row; an empty one before it begins at the same row, and is passed over.
  const auto following =
      std::upper_bound(groups.begin(), groups.end(), row,
                       [](std::int64_t wanted, const ParquetGroup& one) { return wanted < one.first; });
  const auto group = following - 1;
  batches = checked(reader->GetRecordBatchReader({static_cast<int>(group - groups.begin())}), path);
  batch.reset();
  next = group->first;
  group_end = group->first + group->count;
}

/// Decodes until the batch that holds the row.
std::int64_t ParquetFile::Open::place_in_batch(std::int64_t row, const std::string& path) {
  if (holds(row)) return row - batch_first;
  // Forwards in the group decoding continues; backwards, or in another group, it begins again.
  if (!batches || row < next || row >= group_end) begin_group_of(row, path);
  while (!holds(row)) {
    check(batches->ReadNext(&batch), path);
    if (!batch) throw DataError(fmt::format("{} cannot be read as Parquet", path), "it has fewer rows than it says");
    batch_first = next;
    next += batch->num_rows();
  }
  return row - batch_first;
}

bool ParquetFile::is_supported() {
  return true;
}

ParquetFile::ParquetFile(const std::string& path) : path_(path) {
  // Arrow returns its errors, the Parquet part below it throws them.
  try {
    auto file = checked(arrow::io::ReadableFile::Open(path), path);
    parquet::ArrowReaderProperties properties(false);  // the ranks are the threads
    properties.set_batch_size(kRowsAtOnce);
    // Pre-buffering would hold a whole group of rows, compressed, which may be the whole file.
    properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(std::move(file)), path);
    auto reader = checked(builder.memory_pool(arrow::system_memory_pool())->properties(properties)->Build(), path);
    std::shared_ptr<arrow::Schema> schema;
    check(reader->GetSchema(&schema), path);
    open_ = std::make_unique<Open>(Open{std::move(reader), std::move(schema)});
    const auto file_metadata = open_->reader->parquet_reader()->metadata();
    std::int64_t first = 0;
    for (int group = 0; group < file_metadata->num_row_groups(); ++group) {
      const auto facts = file_metadata->RowGroup(group);
      open_->groups.push_back({first, facts->num_rows(), facts->total_byte_size()});
      first += facts->num_rows();
    }
  } catch (const parquet::ParquetException& error) {
    throw DataError(fmt::format("{} cannot be read as Parquet", path), error.what());
  }
}

ParquetFile::~ParquetFile() = default;

std::int64_t ParquetFile::num_rows() const {
  return open_->groups.empty() ? 0 : open_->groups.back().first + open_->groups.back().count;
}

std::vector<ParquetGroup> ParquetFile::groups() const {
  return open_->groups;
}

std::vector<ParquetColumn> ParquetFile::columns() const {
  std::vector<ParquetColumn> columns;
  for (const std::shared_ptr<arrow::Field>& field : open_->schema->fields())
    columns.push_back({field->name(), kind_of(*field->type()), field->type()->ToString()});
  return columns;
}

std::string ParquetFile::metadata(const std::string& key) const {
  const std::shared_ptr<const arrow::KeyValueMetadata>& all = open_->schema->metadata();
  const int at = all ? all->FindKey(key) : -1;
  return at < 0 ? std::string() : all->value(at);
}

std::string ParquetFile::row(std::int64_t row) {
  try {
    const std::int64_t at = open_->place_in_batch(row, path_);
    json object = json::object();
    for (int column = 0; column < open_->batch->num_columns(); ++column)
      object[open_->batch->column_name(column)] = arrow_value(*open_->batch->column(column), at);
    return object.dump();
  } catch (const json::exception&) {
    throw DataError(fmt::format("row {} of {} is not UTF-8 text", row + 1, path_));
  } catch (const parquet::ParquetException& error) {
    throw DataError(fmt::format("{} cannot be read as Parquet", path_), error.what());
  }
}

std::vector<std::int64_t> ParquetFile::integers(const std::string& column) {
  std::vector<std::int64_t> values;
  try {
    // Only this column is read and decoded: the others may hold images.
    const int leaf = open_->reader->parquet_reader()->metadata()->schema()->ColumnIndex(column);
    if (leaf < 0) throw DataError(fmt::format("{} has no column {}", path_, column));
    for (std::size_t group = 0; group < open_->groups.size(); ++group) {
      const auto table = checked(open_->reader->ReadRowGroup(static_cast<int>(group), {leaf}), path_);
      for (const std::shared_ptr<arrow::Array>& chunk : table->column(0)->chunks())
        for (std::int64_t i = 0; i < chunk->length(); ++i) {
          const json value = arrow_value(*chunk, i);
          if (!value.is_number_integer())
            throw DataError(fmt::format("row {} of {} has no {}", values.size() + 1, path_, column));
          values.push_back(value.get<std::int64_t>());
        }
    }
  } catch (const parquet::ParquetException& error) {
    throw DataError(fmt::format("{} cannot be read as Parquet", path_), error.what());
  }
  return values;
}

std::string ParquetFile::bytes(std::int64_t row, const std::string& column) {
  try {
    const std::int64_t at = open_->place_in_batch(row, path_);
    std::shared_ptr<arrow::Array> values = open_->batch->GetColumnByName(column);
    if (values && values->type_id() == arrow::Type::STRUCT && !values->IsNull(at))
      values = static_cast<const arrow::StructArray&>(*values).GetFieldByName("bytes");
    if (!values || !is_bytes(*values->type()) || values->IsNull(at))
      throw DataError(fmt::format("row {} of {} holds no image in {}", row + 1, path_, column),
                      "perhaps only the path of a file", "Write the images' bytes into the file.");
    return std::string(arrow_bytes(*values, at));
  } catch (const parquet::ParquetException& error) {
    throw DataError(fmt::format("{} cannot be read as Parquet", path_), error.what());
  }
}

}  // namespace multicard
