#pragma once
/// \file The columns of one table of profiles, for programs and for people; for postproc/trace only.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "postproc/page/Columns.hpp"

namespace multicard::post {

/// A row with the rank that it is of.
template <class Row>
struct OfRank {
  std::int64_t rank = 0;
  Row row;
};

inline constexpr Outputs kPrograms = kCsv | kJson, kPeople = kPage | kTerminal;

/// Of a rank, device or stream: a negative number stands for one that is not known, or for several.
inline std::optional<std::int64_t> if_numbered(std::int64_t number) {
  return number >= 0 ? std::optional(number) : std::nullopt;
}

/// NaN for what is not known.
template <class T>
double as_double(const T& value) {
  return static_cast<double>(value);
}
template <class T>
double as_double(const std::optional<T>& value) {
  return value ? static_cast<double>(*value) : kNone;
}

/// "12.34 ms", in the largest unit of which it has one.
std::string time_text(double ns);

/// What a terminal shows of a name: at most 60 characters (names of kernels have hundreds), none of which controls it.
std::string shortened(const std::string& text);

/// Builds the columns of a table. Times are nanoseconds for programs and have units for people.
template <class Row>
class TableColumns {
 public:
  using Ranked = OfRank<Row>;

  /// Of rows without a name.
  TableColumns() { add_rank(); }
  /// The name of a row is its first column; `label` is the header.
  template <class Get>
  TableColumns(const char* name, const char* label, Get get) {
    text(name, label, get);
    add_rank();
  }

  template <class Get>
  TableColumns& text(const char* name, const char* label, Get get) {
    columns_.emplace_back(
        name, kPrograms | kPage, [get](const Ranked& of) { return Value(std::invoke(get, of.row)); }, label);
    columns_.emplace_back(
        name, kTerminal, [get](const Ranked& of) { return Value(shortened(std::invoke(get, of.row))); }, label);
    return *this;
  }

  template <class Get>
  TableColumns& count(const char* name, const char* label, Get get) {
    return number(name, label, get, Format::count);
  }
  template <class Get>
  TableColumns& bytes(const char* name, const char* label, Get get) {
    return number(name, label, get, Format::bytes);
  }
  template <class Get>
  TableColumns& percent(const char* name, const char* label, Get get) {
    return number(name, label, get, Format::percent);
  }
  template <class Get>
  TableColumns& number(const char* name, const char* label, Get get, Format format = Format::plain) {
    columns_.emplace_back(
        name, kPrograms | kPeople, [get](const Ranked& of) { return Value(std::invoke(get, of.row)); }, label, format);
    return *this;
  }
  template <class Get>
  TableColumns& time(const std::string& name, const char* label, Get get) {
    columns_.emplace_back(name + "_ns", kPrograms, [get](const Ranked& of) { return Value(std::invoke(get, of.row)); });
    columns_.emplace_back(
        name, kPeople,
        [get](const Ranked& of) {
          const double ns = as_double(std::invoke(get, of.row));
          return Value(HtmlCell(time_text(ns), ns));
        },
        label);
    return *this;
  }
  /// Count, total, mean, median, 95th percentile, least and most of a row's `time`.
  TableColumns& distribution() {
    return count("count", "count", [](const Row& row) { return row.time.count; })
        .time("total", "total", [](const Row& row) { return row.time.total; })
        .time("mean", "mean", [](const Row& row) { return row.time.mean; })
        .time("median", "median", [](const Row& row) { return row.time.median; })
        .time("p95", "95 %", [](const Row& row) { return row.time.p95; })
        .time("min", "min", [](const Row& row) { return row.time.min; })
        .time("max", "max", [](const Row& row) { return row.time.max; });
  }

  const Columns<Ranked>& all() const { return columns_; }

 private:
  void add_rank() {
    columns_.emplace_back(
        "rank", kPrograms | kPeople, [](const Ranked& of) { return Value(if_numbered(of.rank)); }, "rank");
  }

  Columns<Ranked> columns_;
};

}  // namespace multicard::post
