#include "results/RankRecord.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/Error.hpp"
#include "comm/Packing.hpp"

namespace multicard {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kRank = "rank";

/// Steps beyond the end of `values` are those in which the rank took no part.
template <class T>
void resize_steps(std::vector<T>& values, std::size_t num_steps) {
  if constexpr (std::is_same_v<T, StepTimes>)
    values.resize(num_steps, absent_step());
  else
    values.resize(num_steps, std::is_integral_v<T> ? T{} : static_cast<T>(kUnknown));
}

template <class T>
std::vector<T> tail(const std::vector<T>& values, std::size_t first) {
  return {values.begin() + static_cast<std::ptrdiff_t>(std::min(first, values.size())), values.end()};
}

template <class T>
void append_values(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Of the columns of samples.
std::size_t num_samples(const std::map<std::string, std::vector<double>>& columns) {
  return columns.empty() ? 0 : columns.begin()->second.size();
}

/// What one of the two parts has not measured is unknown there.
void append_samples(std::map<std::string, std::vector<double>>& whole,
                    const std::map<std::string, std::vector<double>>& later) {
  const std::size_t before = num_samples(whole), after = before + num_samples(later);
  for (const auto& [name, values] : later) {
    std::vector<double>& column = whole[name];
    column.resize(before, kUnknown);
    append_values(column, values);
  }
  for (auto& [name, column] : whole)
    column.resize(after, kUnknown);
}

/// \name How a value of a later part is added
/// @{
void add(Merge merge, std::int64_t& value, std::int64_t since) {
  value = merge == Merge::largest ? std::max(value, since) : value + since;
}
void add(Merge /*merge*/, CommunicationTotals& value, const CommunicationTotals& since) {
  if (value.calls == 0) value.seconds_skew = 0;  // nothing is unknown of no calls
  value.add(since);
}
/// Epoch by epoch: both parts may have worked on the one in which the run was interrupted.
void add(Merge /*merge*/, std::vector<double>& values, const std::vector<double>& since) {
  values.resize(std::max(values.size(), since.size()), kUnknown);
  for (std::size_t i = 0; i < since.size(); ++i)
    if (!std::isnan(since[i])) values[i] = std::isnan(values[i]) ? since[i] : values[i] + since[i];
}
/// @}

/// Calls `visit` with every member of a record, in one order for writing and reading.
template <class Record, class Visit>
void visit_members(Record& record, Visit&& visit) {
  visit(record.clock);
  visit(record.first_step);
  visit(record.steps);
  visit(record.samples);
  for_each_group([&](auto /*group*/, auto& columns) { visit(columns); }, record);
  visit.entries(record.tables, [&](auto& table) {
    visit(table.keys);
    visit(table.rules);
    visit.entries(table.rows, [&](auto& row) { visit(row); });
  });
}

/// A total that one of the two parts does not know is unknown.
void add_row(const std::map<std::string, Merge>& rules, std::map<std::string, double>& whole,
             const std::map<std::string, double>& since) {
  for (const auto& [column, merge] : rules) {
    const auto known = whole.find(column);
    const auto later = since.find(column);
    const bool is_in_both = known != whole.end() && later != since.end();
    if (is_in_both)
      known->second = merge == Merge::largest ? std::max(known->second, later->second) : known->second + later->second;
    else if (merge == Merge::total)
      whole.erase(column);
    else if (later != since.end())
      whole.emplace(column, later->second);
  }
}

}  // namespace

void add_part(RankTable& table, const RankTable& since) {
  table.keys = since.keys;
  for (const auto& [column, merge] : since.rules)
    table.rules[column] = merge;
  for (const auto& [key, row] : since.rows) {
    const auto [place, is_new_row] = table.rows.emplace(key, row);
    if (!is_new_row) add_row(table.rules, place->second, row);
  }
}

RecordLength length_of(const RankRecord& record) {
  return {record.steps.size(), num_samples(record.resources)};
}

RankRecord tail_of(const RankRecord& record, const RecordLength& length) {
  RankRecord piece;
  piece.clock = record.clock;
  piece.first_step = record.first_step;
  // Only steps and samples can be sent in part. All else is sent as it stands, and replaces what was sent.
  piece.steps = tail(record.steps, length.steps);
  piece.samples = tail(record.samples, length.steps);
  const auto copy = [&]<Merge kMerge>(RecordGroup<kMerge> /*group*/, const auto& from, auto& to) {
    to = from;
    if constexpr (kMerge == Merge::per_step || kMerge == Merge::sampled)
      for (auto& [name, values] : to)
        values = tail(values, kMerge == Merge::per_step ? length.steps : length.samples);
  };
  for_each_group(copy, record, piece);
  piece.tables = record.tables;
  return piece;
}

void append(RankRecord& gathered, RankRecord piece) {
  append_values(gathered.steps, piece.steps);
  append_values(gathered.samples, piece.samples);
  gathered.clock = std::move(piece.clock);
  gathered.first_step = piece.first_step;
  const auto take = [&]<Merge kMerge>(RecordGroup<kMerge> /*group*/, auto& to, auto& from) {
    if constexpr (kMerge == Merge::per_step) {
      for (const auto& [name, values] : from)
        append_values(to[name], values);
    } else if constexpr (kMerge == Merge::sampled) {
      append_samples(to, from);
    } else {
      to = std::move(from);
    }
  };
  for_each_group(take, gathered, piece);
  gathered.tables = std::move(piece.tables);
}

void append_absent(RankRecord& record, std::size_t num_steps) {
  resize_steps(record.steps, num_steps);
  resize_steps(record.samples, num_steps);
  const auto extend = [&]<Merge kMerge>(RecordGroup<kMerge> /*group*/, auto& columns) {
    if constexpr (kMerge == Merge::per_step)
      for (auto& [name, values] : columns)
        resize_steps(values, num_steps);
  };
  for_each_group(extend, record);
}

void continue_record(RankRecord& record, const RankRecord& since, std::size_t before) {
  append_absent(record, before);
  append_values(record.steps, since.steps);
  append_values(record.samples, since.samples);
  const auto merge = [&]<Merge kMerge>(RecordGroup<kMerge> /*group*/, auto& whole, const auto& later) {
    if constexpr (kMerge == Merge::sampled) {
      append_samples(whole, later);
    } else {
      for (const auto& [name, values] : later) {
        auto& column = whole[name];
        if constexpr (kMerge == Merge::per_step) {
          resize_steps(column, before);
          append_values(column, values);
        } else {
          add(kMerge, column, values);
        }
      }
    }
  };
  for_each_group(merge, record, since);
  for (const auto& [path, table] : since.tables)
    add_part(record.tables[path], table);
}

std::map<std::string, CommunicationTotals> totals_since(std::map<std::string, CommunicationTotals> now,
                                                        const std::map<std::string, CommunicationTotals>& before) {
  for (const auto& kind : before) {
    const CommunicationTotals& totals = kind.second;
    CommunicationTotals& left = now[kind.first];
    for_each_column<CommunicationTotals>([&](const auto& column) { left.*column.place -= totals.*column.place; });
  }
  return now;
}

std::string to_bytes(const RankRecord& record) {
  Packer packer;
  visit_members(record, packer);
  return packer.take();
}

RankRecord record_from_bytes(std::string_view bytes) {
  RankRecord record;
  Unpacker unpacker(bytes);
  visit_members(record, unpacker);
  if (!unpacker.finished()) throw CommunicationError("a record arrived with bytes left over");
  return record;
}

Table table_of_ranks(const std::map<int, RankTable>& tables) {
  Table all;
  // The columns of all ranks together: a rank that never met a kernel or a call has no value for it, which is NaN here.
  all.integers[kRank];
  for (const auto& [rank, table] : tables) {
    for (const auto& [column, merge] : table.rules)
      all.merge[column] = merge;
    for (const std::string& key : table.keys)
      all.text[key];
  }
  for (const auto& [column, merge] : all.merge)
    all.reals[column];
  for (const auto& [rank, table] : tables)
    for (const auto& [key, row] : table.rows) {
      all.integers[kRank].push_back(rank);
      for (std::size_t i = 0; i < table.keys.size(); ++i)
        all.text[table.keys[i]].push_back(key[i]);
      for (auto& [column, values] : all.reals) {
        const auto found = row.find(column);
        values.push_back(found == row.end() ? kUnknown : found->second);
      }
    }
  return all;
}

bool is_of_ranks(const Table& table) {
  return !table.merge.empty() && table.integers.contains(kRank) && !table.text.empty();
}

std::map<int, RankTable> tables_by_rank(const Table& table) {
  std::map<int, RankTable> tables;
  const std::vector<std::int64_t>& ranks = table.integers.at(kRank);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankTable& of_rank = tables[static_cast<int>(ranks[i])];
    of_rank.rules = table.merge;
    of_rank.keys.clear();
    RankTable::Key key;
    for (const auto& [column, values] : table.text) {
      of_rank.keys.push_back(column);
      key.push_back(values.at(i));
    }
    auto& row = of_rank.rows[key];
    // NaN is the absence that table_of_ranks() wrote: reading gives back the rows that were recorded.
    for (const auto& [column, values] : table.reals)
      if (!std::isnan(values.at(i))) row[column] = values.at(i);
  }
  return tables;
}

}  // namespace multicard
