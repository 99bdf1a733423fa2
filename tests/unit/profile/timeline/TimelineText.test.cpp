// The time lines of ranks whose clocks differ, as one text.
#include "profile/timeline/TimelineText.hpp"

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "profile/timeline/GzipText.hpp"
#include "profile/trace/TraceText.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::json;

constexpr int kRanks = 3;
/// What the clock of each rank shows at time 0 of the first one's.
constexpr std::int64_t kOffsets[kRanks] = {0, 5'000'000, -5'000'000};
constexpr std::int64_t kOrigin = 1'700'000'000'000'000'000;

struct Recorded {
  Trace trace;
  Timeline timeline;
};

/// A step of 100 us with two collectives. Rank 1 enters the first 2 us later than the others, the second 1 us earlier.
Recorded record_of(int rank) {
  const std::int64_t zero = kOrigin + kOffsets[rank];
  Recorded made;
  made.timeline.first_step = 7;
  made.timeline.steps = {{zero, zero + 100'000}};
  made.trace.phases = {{{zero, zero + 60'001}, Phase::forward}, {{zero + 60'001, zero + 100'000}, Phase::backward}};
  made.trace.num_threads = 1;
  const std::int32_t mm = made.trace.names.id("aten::mm \"quoted\" \xff"), add = made.trace.names.id("aten::add");
  made.trace.operators = {{{zero + 10'000, zero + 30'000}, mm, 0}, {{zero + 12'000, zero + 13'125}, add, 0}};
  made.timeline.threads = {{4711, 0}};
  made.timeline.thread_names = {{4711, "main"}, {4712, "communication"}};
  WorkRange first{{zero + 40'000 + (rank == 1 ? 2000 : 0), zero + 50'000}, WorkKind::collective, "all_reduce", 4712};
  first.bytes = 1000;
  first.sequence = 3;
  WorkRange second = first;
  second.begin = zero + 70'000 - (rank == 1 ? 1000 : 0);
  second.end = zero + 80'000;
  second.sequence = 4;
  made.timeline.work = {first, second};
  made.timeline.moments = {{zero + 1000, "allocation", "a: 1 -> 2 ranks"}};
  made.timeline.counters = {{zero, "host tensors", "bytes", 12.0}};
  return made;
}

TimelineRank rank_of(int rank) {
  TimelineRank self;
  self.rank = rank;
  self.num_ranks = kRanks;
  self.host = "node";
  self.common = [rank](std::int64_t time) { return time - kOffsets[rank]; };
  self.origin = kOrigin;
  self.clock_error_ns = 1234;
  return self;
}

std::string unpacked(const std::string& bytes) {
  const test::ScratchFolder scratch;
  std::ofstream(scratch / "trace.gz", std::ios::binary) << bytes;
  return std::string(TraceText::read(scratch / "trace.gz").text());
}

json events_of_all(std::int64_t& num_events) {
  std::vector<std::unique_ptr<TimelineText>> texts;
  std::vector<std::map<int, std::vector<CollectiveEntry>>> entries(kRanks + 2);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Recorded recorded = record_of(rank);
    texts.push_back(std::make_unique<TimelineText>(recorded.trace, recorded.timeline, rank_of(rank)));
    entries[static_cast<std::size_t>(rank) + 1] = texts.back()->entries();
  }
  std::string bytes;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const TimelinePart part = texts[rank]->part(entries[rank][1], entries[rank + 2][1]);
    bytes += part.bytes;
    num_events += part.num_events;
  }
  return json::parse(unpacked(bytes));
}

TEST(TimelineText, IsOneTextOfAllRanks) {
  std::int64_t num_events = 0;
  const json all = events_of_all(num_events);

  EXPECT_EQ(all["multicard_trace"], json({{"ranks", 3}, {"first_step", 7}, {"steps", 1}, {"clock_error_us", 1.234}}));
  EXPECT_EQ(all["traceEvents"].size(), static_cast<std::size_t>(num_events));
  std::map<int, std::string> processes;
  std::set<std::string> threads;
  for (const json& event : all["traceEvents"]) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") threads.insert(event["args"]["name"]);
  }
  EXPECT_EQ(processes,
            (std::map<int, std::string>{{10, "rank 0 (node)"}, {20, "rank 1 (node)"}, {30, "rank 2 (node)"}}));
  EXPECT_EQ(threads, (std::set<std::string>{"steps", "main, operators", "communication"}));
}

TEST(TimelineText, HasOneClockInWholeNanoseconds) {
  std::int64_t num_events = 0;
  const json all = events_of_all(num_events);

  const std::map<std::string, std::pair<double, double>> expected{
      {"step 7", {0.0, 100.0}}, {"aten::add", {12.0, 1.125}}, {"backward", {60.001, 39.999}}};
  int num_seen = 0;
  for (const json& event : all["traceEvents"]) {
    const auto known = expected.find(event["name"]);
    if (event["ph"] != "X" || known == expected.end()) continue;
    EXPECT_EQ(std::pair(event["ts"].get<double>(), event["dur"].get<double>()), known->second) << event["name"];
    ++num_seen;
  }
  EXPECT_EQ(num_seen, 3 * kRanks);
}

TEST(TimelineText, LeadsArrowsFromTheRankThatEnteredFirst) {
  std::int64_t num_events = 0;
  const json all = events_of_all(num_events);

  std::map<std::int64_t, std::vector<std::pair<std::string, int>>> arrows;  // by number: begins and ends, with the rank
  std::map<std::int64_t, std::map<std::string, double>> times;
  for (const json& event : all["traceEvents"]) {
    if (event["ph"] != "s" && event["ph"] != "f") continue;
    arrows[event["id"]].emplace_back(event["ph"], event["pid"].get<int>() / 10 - 1);
    times[event["id"]][event["ph"]] = event["ts"];
  }
  using Ends = std::vector<std::pair<std::string, int>>;
  // The first collective: rank 1 is later than both. The second: it is earlier.
  EXPECT_EQ(arrows, (std::map<std::int64_t, Ends>{{3 * kRanks + 0, {{"s", 0}, {"f", 1}}},
                                                  {3 * kRanks + 1, {{"f", 1}, {"s", 2}}},
                                                  {4 * kRanks + 0, {{"f", 0}, {"s", 1}}},
                                                  {4 * kRanks + 1, {{"s", 1}, {"f", 2}}}}));
  for (const auto& [id, ends] : times)
    EXPECT_LE(ends.at("s"), ends.at("f")) << id;
}

TEST(TimelineText, CountsWhatCollectivesCarry) {
  std::int64_t num_events = 0;
  const json all = events_of_all(num_events);

  std::vector<std::pair<double, double>> rates;
  for (const json& event : all["traceEvents"])
    if (event["name"] == "collectives" && event["ph"] == "C" && event["pid"] == 10)
      rates.emplace_back(event["ts"], event["args"]["bytes/s"]);
  EXPECT_EQ(rates, (std::vector<std::pair<double, double>>{{40, 1e8}, {50, 0}, {70, 1e8}, {80, 0}}));
}

TEST(TimelineText, PutsWhatOverlapsOnLanesOfItsOwn) {
  Recorded recorded = record_of(0);
  const std::int32_t name = recorded.trace.names.id("kernel");
  recorded.trace.streams = {{0, 7}};
  for (const Span& span : {Span{0, 10}, Span{5, 15}, Span{6, 8}, Span{10, 20}}) {
    GpuEvent event;
    static_cast<Span&>(event) = {kOrigin + span.begin, kOrigin + span.end};
    event.name = name;
    recorded.trace.gpu.push_back(event);
  }

  TimelineRank self = rank_of(0);
  self.num_ranks = 1;
  const TimelineText text(recorded.trace, recorded.timeline, self);
  const json all = json::parse(unpacked(text.part({}, {}).bytes));

  std::map<int, std::vector<double>> begins;
  for (const json& event : all["traceEvents"])
    if (event["name"] == "kernel") begins[event["tid"]].push_back(event["ts"]);
  ASSERT_EQ(begins.size(), 2u);
  EXPECT_EQ(begins.begin()->second, (std::vector<double>{0, 0.006, 0.010}));
  EXPECT_EQ(begins.rbegin()->second, std::vector<double>{0.005});
}

/// The arguments of NCCL kernels, of which the first was launched by the thread 4711 after 20 us, and the second by no
/// call in the trace.
std::vector<json> kernels_with(const std::vector<CollectiveLaunch>& launches) {
  Recorded recorded = record_of(0);
  recorded.timeline.launches = launches;
  recorded.trace.streams = {{0, 7}};
  const std::int32_t name = recorded.trace.names.id("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  recorded.trace.calls = {{{kOrigin + 20'000, kOrigin + 21'000}, 1, recorded.trace.names.id("cudaLaunchKernel"), 0}};
  for (const std::int64_t correlation : {1, 2}) {
    GpuEvent event;
    static_cast<Span&>(event) = {kOrigin + 30'000 * correlation, kOrigin + 30'000 * correlation + 1000};
    event.correlation = correlation;
    event.name = name;
    recorded.trace.gpu.push_back(event);
  }
  TimelineRank self = rank_of(0);
  const json all =
      json::parse(unpacked(TimelineText(recorded.trace, recorded.timeline, self).part({}, {}).bytes) + "]}");
  std::vector<json> arguments;
  for (const json& event : all["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "kernel") arguments.push_back(event.value("args", json::object()));
  return arguments;
}

TEST(TimelineText, KnowsTheRanksThatAKernelOfNcclJoinsByItsLaunch) {
  const CollectiveLaunch before{{kOrigin + 10'000, kOrigin + 15'000}, 4711, {0, 1, 2}},
      around{{kOrigin + 19'000, kOrigin + 22'000}, 4711, {0, 2, 4}};

  EXPECT_EQ(kernels_with({before, around}),
            (std::vector<json>{{{"sequence", 0}, {"ranks", "0, 2, ..., 6"}}, json::object()}));
  EXPECT_EQ(kernels_with({before}), (std::vector<json>{json::object(), json::object()}));
  // Without groups they join all ranks, whatever is known of their launches.
  EXPECT_EQ(kernels_with({}), (std::vector<json>{{{"sequence", 0}}, {{"sequence", 1}}}));
}

TEST(TimelineText, CountsHowBusyTheGpuIs) {
  Recorded recorded = record_of(0);
  const std::int32_t name = recorded.trace.names.id("kernel");
  recorded.trace.streams = {{0, 7}, {0, 8}};
  constexpr std::int64_t kPart = 100'000;
  const auto add = [&](std::int64_t begin, std::int64_t end, std::int32_t stream) {
    GpuEvent event;
    static_cast<Span&>(event) = {kOrigin + begin, kOrigin + end};
    event.name = name;
    event.stream = stream;
    recorded.trace.gpu.push_back(event);
  };
  // Two streams at once count once; nothing in the third part; one that ends in the middle of the fifth.
  add(0, kPart, 0);
  add(kPart / 2, 3 * kPart / 2, 1);
  add(7 * kPart / 2, 9 * kPart / 2, 0);

  TimelineRank self = rank_of(0);
  self.num_ranks = 1;
  const TimelineText text(recorded.trace, recorded.timeline, self);
  const json all = json::parse(unpacked(text.part({}, {}).bytes));

  std::vector<std::pair<double, double>> busy;
  for (const json& event : all["traceEvents"])
    if (event["name"] == "GPU" && event["ph"] == "C") busy.emplace_back(event["ts"], event["args"]["busy"]);
  EXPECT_EQ(busy,
            (std::vector<std::pair<double, double>>{{0, 1}, {100, 0.5}, {200, 0}, {300, 0.5}, {400, 1}, {450, 0}}));
}

TEST(GzipText, MakesMembersThatSayWhoseTheyAre) {
  GzipText gzip("mine");
  std::string whole;
  for (int i = 0; i < 400'000; ++i) {
    gzip.text() += std::to_string(i);
    whole += std::to_string(i);
    gzip.flush();
  }

  const std::string bytes = gzip.take();

  EXPECT_EQ(bytes.substr(10, 5), std::string("mine\0", 5));
  EXPECT_LT(bytes.size(), whole.size() / 2);
  EXPECT_EQ(unpacked(bytes), whole);
  EXPECT_EQ(gzip.take(), "");
}

}  // namespace
}  // namespace multicard
