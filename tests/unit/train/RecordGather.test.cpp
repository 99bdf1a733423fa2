#include "train/RecordGather.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

/// What rank `rank` has recorded after `num_steps` steps.
RankRecord record_of(int rank, std::size_t num_steps) {
  RankRecord record;
  record.clock = "host";
  record.first_step = 40;
  record.steps.resize(num_steps);
  for (std::size_t i = 0; i < num_steps; ++i) {
    record.steps[i].step = static_cast<double>(i) + 0.1 * rank;
    record.steps[i].phases[2] = 0.5;
    record.samples.push_back(static_cast<std::int64_t>(i) + rank);
    record.counts["tokens"].push_back(7 * rank);
    record.extra_times["host_data_wait"].push_back(0.25);
  }
  record.epochs["train"] = {static_cast<double>(num_steps), 2.0};
  record.memory["host_peak_bytes"] = 1000 + rank;
  record.communication["all_reduce"] = {static_cast<std::int64_t>(num_steps), 3, 4.0, 5.0, 6.0};
  record.transfers["host_to_device"] = rank;
  return record;
}

TEST(RecordGather, BytesHoldTheWholeRecord) {
  const RankRecord record = record_of(1, 3);

  const RankRecord back = record_from_bytes(to_bytes(record));

  EXPECT_EQ(to_bytes(back), to_bytes(record));
  EXPECT_EQ(back.clock, "host");
  EXPECT_EQ(back.first_step, 40);
  EXPECT_EQ(back.steps[2].step, 2.1);
  EXPECT_EQ(back.steps[2].phases[2], 0.5);
  EXPECT_EQ(back.samples, record.samples);
  EXPECT_EQ(back.counts, record.counts);
  EXPECT_EQ(back.extra_times, record.extra_times);
  EXPECT_EQ(back.epochs, record.epochs);
  EXPECT_EQ(back.memory, record.memory);
  EXPECT_EQ(back.communication.at("all_reduce").seconds_exposed, 6.0);
  EXPECT_EQ(back.transfers, record.transfers);
}

TEST(RecordGather, RefusesOtherBytes) {
  const std::string bytes = to_bytes(record_of(1, 3));
  EXPECT_THROW(record_from_bytes(bytes.substr(0, bytes.size() - 1)), CommunicationError);
  EXPECT_THROW(record_from_bytes(bytes + "x"), CommunicationError);
  EXPECT_THROW(record_from_bytes("\xff\xff\xff\xff\xff\xff\xff\xff"), CommunicationError);
}

TEST(RecordGather, PiecesMakeTheWholeOnRankZero) {
  RecordGather gather(world());
  std::vector<RankRecord> gathered(world().is_root() ? static_cast<std::size_t>(world().size()) : 0);
  for (const std::size_t num_steps : {0u, 2u, 2u, 5u}) {
    std::vector<RankRecord> pieces = gather.gather(record_of(world().rank(), num_steps));
    ASSERT_EQ(pieces.size(), gathered.size());
    for (std::size_t rank = 0; rank < pieces.size(); ++rank)
      append(gathered[rank], std::move(pieces[rank]));
  }
  for (std::size_t rank = 0; rank < gathered.size(); ++rank)
    EXPECT_EQ(to_bytes(gathered[rank]), to_bytes(record_of(static_cast<int>(rank), 5)));
}

}  // namespace
}  // namespace multicard
