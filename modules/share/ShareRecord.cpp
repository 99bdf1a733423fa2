#include "share/ShareRecord.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/JsonText.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "multicard-share";

template <class Row>
Json json_of(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json json;
    for_each_column<Row>([&](const auto& column) { json[column.name] = row.*column.place; });
    list.push_back(std::move(json));
  }
  return list;
}

template <class Row>
std::vector<Row> rows_of(const nlohmann::json& list) {
  std::vector<Row> rows;
  for (const auto& json : list) {
    Row& row = rows.emplace_back();
    for_each_column<Row>([&]<class Value>(const RowColumn<Row, Value>& column) {
      // Columns that came with a later version keep their default in a record that was written before.
      if (column.since == Since::first || json.contains(column.name))
        row.*column.place = json.at(column.name).template get<Value>();
    });
  }
  return rows;
}

}  // namespace

AllocationInterval* ShareRecord::open_interval(const std::string& task) {
  // An interval is open while end_s is negative; only the last one of a task can be.
  const auto last = std::find_if(intervals.rbegin(), intervals.rend(),
                                 [&](const AllocationInterval& interval) { return interval.task == task; });
  return last != intervals.rend() && last->end_s < 0 ? &*last : nullptr;
}

void ShareRecord::note(const std::string& task, const RankSet& ranks, double now, double predicted_step_s,
                       const std::string& placement) {
  AllocationInterval* open = open_interval(task);
  if (open && open->rank_list == ranks.text()) return;
  if (open) open->end_s = now;
  if (!ranks.empty())
    intervals.push_back({task, ranks.first(), ranks.count(), now, -1, predicted_step_s, 0, ranks.text(), placement});
}

void ShareRecord::measure(const std::string& task, std::int64_t num_completed, double step_s) {
  progress[task].num_completed = num_completed;
  AllocationInterval* open = open_interval(task);
  if (open && step_s > 0) open->measured_step_s = step_s;
}

// Rounds are frequent and mostly decide what the one before decided: a record of each would grow without end.
void ShareRecord::decide(bool is_change, const RejectedChange& decision) {
  const bool is_new = is_changed_ || rejected.empty() || rejected.back().reason != decision.reason;
  is_changed_ = is_change;
  if (!is_change && is_new && !decision.reason.empty()) rejected.push_back(decision);
}

// Baselines compare with policies on a fixed number of ranks, so kSeveral rules them out for good.
void ShareRecord::begin(int ranks) {
  num_ranks = num_ranks == 0 || num_ranks == ranks ? ranks : kSeveral;
}

void ShareRecord::close(double now) {
  for (AllocationInterval& interval : intervals)
    if (interval.end_s < 0) interval.end_s = now;
}

namespace {

Json json_of(const std::map<std::string, ShareProgress>& progress) {
  Json json = Json::object();
  for (const auto& [task, of_task] : progress)
    json[task] = {{"arrived_s", of_task.arrived_s}, {"completed_steps", of_task.num_completed}};
  return json;
}

/// Older records lack them: what they leave unknown is no reason to lose the rest.
void read_progress(const nlohmann::json& json, ShareRecord& record) {
  record.num_ranks = json.value("ranks", record.intervals.empty() ? 0 : ShareRecord::kSeveral);
  if (!json.contains("tasks")) return;
  for (const auto& [task, of_task] : json.at("tasks").items())
    record.progress[task] = {of_task.at("arrived_s").get<double>(), of_task.at("completed_steps").get<std::int64_t>()};
}

}  // namespace

TableGroup allocation_group(const ShareRecord& record, const std::vector<AllocationBaseline>& baselines,
                            const std::string& policy, const std::string& objective) {
  TableGroup group{schema::kAllocation, {{"policy", policy}, {"objective", objective}}, {}};
  group.tables["intervals"] = table_of(record.intervals);
  group.tables["decisions"] = table_of(record.changes);
  group.tables["kept"] = table_of(record.rejected);
  group.tables["placements"] = table_of(record.placements);
  group.tables["baselines"] = table_of(baselines);
  return group;
}

std::string record_file(const std::string& output) {
  return output + "/share.json";
}

bool is_share_record(const std::string& path) {
  return content_says(path, "{", kFormat);
}

void write_share_record(const std::string& path, const ShareRecord& record, double now) {
  const Json json{{"format", kFormat},
                  {"version", 1},
                  {"elapsed_s", now},
                  {"ranks", record.num_ranks},
                  {"tasks", json_of(record.progress)},
                  {"intervals", json_of(record.intervals)},
                  {"changes", json_of(record.changes)},
                  {"kept", json_of(record.rejected)},
                  {"placements", json_of(record.placements)},
                  {"arrivals", json_of(record.arrivals)}};
  write_file(path, json_text(json, 1) + "\n");
}

ShareRecord read_share_record(const std::string& path) {
  const std::string problem = fmt::format("{} is damaged", path);
  const std::string cure = "Delete it: the tasks resume all the same, without the history and the tasks that arrived.";
  const auto json = parse_json_object<nlohmann::json>(read_file(path), problem, cure);
  ShareRecord record;
  try {
    if (json.at("format") != kFormat || json.at("version") != 1)
      throw DataError(problem, "it is not of this version of multicard", cure);
    record.elapsed_s = json.at("elapsed_s").get<double>();
    record.intervals = rows_of<AllocationInterval>(json.at("intervals"));
    record.changes = rows_of<AllocationChange>(json.at("changes"));
    if (json.contains("kept")) record.rejected = rows_of<RejectedChange>(json.at("kept"));  // older records lack them
    if (json.contains("placements")) record.placements = rows_of<AllocationPlacement>(json.at("placements"));
    record.arrivals = rows_of<ShareArrival>(json.at("arrivals"));
    read_progress(json, record);
  } catch (const nlohmann::json::exception&) {
    throw DataError(problem, "a value is missing or of another type", cure);
  }
  record.close(record.elapsed_s);
  return record;
}

}  // namespace multicard
