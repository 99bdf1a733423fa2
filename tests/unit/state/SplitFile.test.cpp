#include "state/SplitFile.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "state/CheckpointStore.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

constexpr int kRanks = 3;

NamedTensors whole_tensors() {
  return {{"codes", at::arange(1000).to(at::kByte)},
          {"matrix", at::randn({7, 11}, at::kDouble)},
          {"half", at::randn({50}).to(at::kHalf)},
          {"small", at::randn({2})},
          {"step", at::full({}, 7.0)},
          {"none", at::randn({0, 3})}};
}

/// What a rank has of a file whose tensors but `step` are split into parts of ranks.
CheckpointPart part_of(const NamedTensors& whole, int rank) {
  CheckpointPart part{kOptimizerFile, whole, {}, true};
  for (NamedTensor& entry : part.tensors) {
    if (entry.name == "step") continue;
    const std::int64_t size = entry.tensor.numel(), each = (size + kRanks - 1) / kRanks;
    const std::int64_t first = std::min(size, rank * each), count = std::min(size, first + each) - first;
    part.pieces.push_back({entry.name, first, entry.tensor.flatten().narrow(0, first, count)});
    entry.tensor = shape_of(entry.tensor);
  }
  return part;
}

CheckpointParts parts_of(const NamedTensors& whole, int rank) {
  const CheckpointParts all{part_of(whole, rank), {kModelFile, {{"w", at::full({2}, 1.5)}}}};
  return rank == 0 ? all : pieces_alone(all);
}

TEST(SplitFile, IsTheFileOfWholeTensors) {
  const ScratchFolder scratch;
  const NamedTensors whole = whole_tensors();
  save_tensors(scratch / "whole", whole);

  make_split_file(scratch / "", part_of(whole, 0));
  ByteRanges all;
  for (int rank = kRanks - 1; rank >= 0; --rank) {
    const ByteRanges ranges = write_split_file(scratch / "", part_of(whole, rank), rank == 0).ranges;
    all.insert(all.end(), ranges.begin(), ranges.end());
  }

  const std::string path = scratch / kOptimizerFile;
  EXPECT_EQ(read_file(path), read_file(scratch / "whole"));
  EXPECT_TRUE(cover(all, fs::file_size(path)));
}

TEST(SplitFile, OtherRanksHaveTheirPiecesAlone) {
  const CheckpointParts own = parts_of(whole_tensors(), 1);

  ASSERT_EQ(own.size(), 1U) << "no pieces of the model";
  EXPECT_TRUE(is_split(own[0]));
  for (const NamedTensor& entry : own[0].tensors)
    EXPECT_TRUE(entry.tensor.is_meta()) << entry.name;
  EXPECT_EQ(own[0].pieces.size(), 5U);
}

TEST(SplitFile, RefusesPiecesThatAreNotOfTheTensor) {
  const ScratchFolder scratch;
  const NamedTensors whole{{"w", at::randn({4})}};
  CheckpointPart part{"file", {{"w", shape_of(whole[0].tensor)}}, {}, true};
  make_split_file(scratch / "", part);
  const auto write = [&](std::int64_t first, const at::Tensor& values) {
    part.pieces = {{"w", first, values}};
    write_split_file(scratch / "", part, true);
  };

  EXPECT_NO_THROW(write(2, at::randn({2})));
  EXPECT_THROW(write(3, at::randn({2})), std::logic_error);
  EXPECT_THROW(write(0, at::randn({2}, at::kDouble)), std::logic_error);
}

/// A checkpoint that kRanks write, one after the other.
class SplitCheckpoint : public testing::Test {
 protected:
  void write(const NamedTensors& whole, const std::vector<int>& ranks = {0, 1, 2}) {
    const CheckpointParts root = parts_of(whole, 0);
    const auto pending = store_.begin(5, root);
    WrittenFiles written;
    for (const int rank : ranks)
      for (const auto& [file, ranges] :
           CheckpointStore::write_pieces(pending->folder(), parts_of(whole, rank), rank == 0))
        written[file].insert(written[file].end(), ranges.begin(), ranges.end());
    store_.complete(*pending, {5, 40, 8, "a: 1\n"}, root, written, std::nullopt, [] { return std::string(); });
  }
  /// Whether nothing of it is left.
  bool is_gone() const {
    for (const auto& entry : fs::directory_iterator(scratch_ / "run/checkpoints"))
      if (entry.path().filename() != ".multicard") return false;
    return true;
  }

  const ScratchFolder scratch_;
  const CheckpointStore store_{scratch_ / "run", 2};
  const std::string folder_ = scratch_ / "run/checkpoints/step_00000005";
};

TEST_F(SplitCheckpoint, IsVerifiedInTheRangesThatRanksHaveWritten) {
  const NamedTensors whole = whole_tensors();
  write(whole);

  EXPECT_NO_THROW(CheckpointStore::verify(folder_));
  EXPECT_EQ(CheckpointStore::read_state(folder_).step, 5);
  const std::string path = folder_ + "/" + kOptimizerFile;
  EXPECT_TRUE(at::equal(TensorFile(path).load("matrix"), whole[1].tensor));

  std::string bytes = read_file(path);
  bytes[bytes.size() / 2] ^= 1;
  write_file(path, bytes);
  int num_finders = 0;
  for (int rank = 0; rank < 4; ++rank)
    try {
      CheckpointStore::verify(folder_, rank, 4);
    } catch (const Error&) {
      ++num_finders;
    }
  EXPECT_EQ(num_finders, 1) << "each part is read by one rank";
  try {
    CheckpointStore::verify(folder_);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("optimizer.safetensors has changed"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("ranges"), std::string::npos) << error.what();
  }
  write_file(path, bytes.substr(1));
  EXPECT_THROW(CheckpointStore::verify(folder_), Error);
}

TEST_F(SplitCheckpoint, IsNotCompleteWithoutThePiecesOfARank) {
  EXPECT_THROW(write(whole_tensors(), {0, 2}), std::logic_error);

  EXPECT_TRUE(is_gone());
}

TEST_F(SplitCheckpoint, IsNotWrittenWithValuesThatAreNotFinite) {
  NamedTensors whole = whole_tensors();
  whole[1].tensor[6][10] = std::numeric_limits<double>::quiet_NaN();

  EXPECT_THROW(write(whole), NumericalError);

  EXPECT_TRUE(is_gone());
}

}  // namespace
}  // namespace multicard
