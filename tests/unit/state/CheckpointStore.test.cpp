#include "state/CheckpointStore.hpp"

#include <cmath>
#include <fstream>
#include <limits>

#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/Bytes.hpp"
#include "io/OwnFiles.hpp"
#include "io/Sha256.hpp"
#include "state/CheckpointParts.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

CheckpointParts parts(double model, double optimizer = 0, at::ScalarType type = at::kFloat) {
  return {{kModelFile, {{"w", at::full({2, 3}, model, type)}}},
          {kOptimizerFile, {{"w", at::full({2, 3}, optimizer, type)}}}};
}

TrainerState state_at(std::int64_t step) {
  return {step, step * 8, 8, "a: 1\n"};
}

void write_at(const CheckpointStore& store, std::int64_t step, std::optional<double> best = std::nullopt) {
  store.write(state_at(step), parts(static_cast<double>(step)), best);
}

/// The message that `body` ends with.
template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const DataError& error) {
    return error.what();
  } catch (const Error& error) {
    return error.code() == ExitCode::data ? error.what() : "another code";
  }
  return "no error";
}

TEST(CheckpointStore, KeepsTheNewestCompleteOnes) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  EXPECT_EQ(store.newest(), std::nullopt);

  for (const std::int64_t step : {10, 20, 30})
    store.write({step, step * 8, 8, "a: 1\n", {{"loss_scale", 65536.0}, {"third", 1.0 / 3}}}, parts(1, 2));

  ASSERT_TRUE(store.newest());
  const TrainerState state = CheckpointStore::read_state(*store.newest());
  EXPECT_EQ(state.step, 30);
  EXPECT_EQ(state.samples_seen, 240);
  EXPECT_EQ(state.global_batch, 8);
  EXPECT_EQ(state.deck, "a: 1\n");
  EXPECT_EQ(state.extra, (std::map<std::string, double>{{"loss_scale", 65536.0}, {"third", 1.0 / 3}}));
  EXPECT_NO_THROW(CheckpointStore::verify(*store.newest()));
  EXPECT_EQ(TensorFile(*store.newest() + "/" + kOptimizerFile).load("w")[1][2].item<float>(), 2.0f);
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/step_00000020/COMPLETE"));
  EXPECT_FALSE(fs::exists(scratch / "run/checkpoints/step_00000010"));
  EXPECT_TRUE(store.owns(*store.newest()));
  EXPECT_FALSE(CheckpointStore(scratch / "other", 2).owns(*store.newest()));
}

class CheckpointOrigins : public ::testing::Test {
 protected:
  static std::string step(const std::string& output, int number) {
    return fmt::format("{}/checkpoints/step_{:08}", output, number);
  }
  /// A checkpoint of a run that was told to begin from `named`.
  static void write_from(const CheckpointStore& store, std::int64_t step, const std::string& named) {
    TrainerState state = state_at(step);
    state.origin = CheckpointStore::origin_of(named);
    store.write(state, parts(static_cast<double>(step)));
  }

  const ScratchFolder scratch_;
  const std::string run_ = scratch_ / "run", other_ = scratch_ / "other";
  const CheckpointStore store_{run_, 9};
};

TEST_F(CheckpointOrigins, FindTheNewestThatBeganFromTheNamedOne) {
  write_at(CheckpointStore(other_, 9), 10);
  write_at(store_, 20);
  EXPECT_EQ(store_.newest_from(step(other_, 10)), std::nullopt) << "it started from scratch";
  write_from(store_, 30, step(other_, 10));
  write_from(store_, 40, step(other_, 10));

  EXPECT_EQ(store_.newest_from(step(other_, 10)), step(run_, 40));
  EXPECT_EQ(store_.newest_from(step(run_, 20)), std::nullopt);
  EXPECT_EQ(store_.newest_from(step(run_, 30)), std::nullopt) << "who names it wants to go back there";
  EXPECT_FALSE(CheckpointStore::read_state(step(run_, 20)).origin);
}

TEST_F(CheckpointOrigins, PassOverWhatCannotBeRead) {
  write_at(CheckpointStore(other_, 9), 10);
  write_from(store_, 30, step(other_, 10));
  write_from(store_, 40, step(other_, 10));
  write_file(step(run_, 40) + "/trainer.json", "{");

  EXPECT_EQ(store_.newest_from(step(other_, 10)), step(run_, 30));
}

TEST_F(CheckpointOrigins, OutliveTheNamedOne) {
  write_at(store_, 10);
  write_from(store_, 20, step(run_, 10));
  fs::remove_all(step(run_, 10));
  EXPECT_EQ(store_.newest_from(step(run_, 10) + "/"), step(run_, 20)) << "by its path";

  write_at(store_, 10);  // removes what is newer
  write_at(store_, 20);
  write_from(store_, 30, step(run_, 10));
  CheckpointStore(other_, 9).write(state_at(10), parts(-10));
  fs::remove_all(step(run_, 10));
  fs::rename(step(other_, 10), step(run_, 10));
  EXPECT_EQ(store_.newest_from(step(run_, 10)), std::nullopt) << "another checkpoint has its name";
}

TEST_F(CheckpointOrigins, StayWhenTheNamedOneIsSavedAgain) {
  write_at(store_, 10);
  write_from(store_, 10, step(run_, 10));  // as the best, by a deferred evaluation
  write_from(store_, 20, step(run_, 10));

  EXPECT_EQ(store_.newest_from(step(run_, 10)), step(run_, 20));
}

TEST(CheckpointStore, IgnoresWhatIsNotComplete) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);
  write_at(store, 20);
  fs::remove(scratch / "run/checkpoints/step_00000020/COMPLETE");

  EXPECT_EQ(*store.newest(), scratch / "run/checkpoints/step_00000010");
  const std::string message =
      message_of([&] { CheckpointStore::read_state(scratch / "run/checkpoints/step_00000020"); });
  EXPECT_NE(message.find("step_00000020 is not a complete checkpoint"), std::string::npos) << message;
  EXPECT_NE(message.find("step_00000010 resumes from the one before it"), std::string::npos) << message;
}

TEST(CheckpointStore, KeepsTheAdviceOfAnErrorWithTheOlderCheckpoint) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);
  write_at(store, 20);
  fs::rename(scratch / "run/checkpoints/step_00000020", scratch / "run/checkpoints/step_00000030");

  const std::string message =
      message_of([&] { CheckpointStore::read_state(scratch / "run/checkpoints/step_00000030"); });

  EXPECT_NE(message.find("Rename it to step_00000020, or move it out of the folder. run.resume="), std::string::npos);
  EXPECT_NE(message.find("step_00000010 resumes from the one before it"), std::string::npos) << message;
}

TEST(CheckpointStore, WritesNamesThatAreNotUtf8) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  TrainerState state = state_at(10);
  state.text["source"] = "a\xff.h5";
  state.origin = CheckpointOrigin{scratch / "b\xff", std::string(64, '0')};

  store.write(state, parts(1));

  EXPECT_EQ(CheckpointStore::read_state(*store.newest()).text.at("source"), "a\uFFFD.h5");
}

TEST(CheckpointStore, NoticesEveryChangedBitOfTrainerJson) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);
  const std::string checkpoint = scratch / "run/checkpoints/step_00000010", path = checkpoint + "/trainer.json";
  const std::string whole = read_file(path);
  ASSERT_NO_THROW(CheckpointStore::read_state(checkpoint));

  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    write_file(path, damaged);
    EXPECT_NE(
        message_of([&] { CheckpointStore::read_state(checkpoint); }).find("its SHA-256 is not the one in COMPLETE"),
        std::string::npos)
        << "byte " << at;
  }
}

TEST(CheckpointStore, ReadsCheckpointsOfVersionsWithoutACheckSum) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);
  const std::string checkpoint = scratch / "run/checkpoints/step_00000010", path = checkpoint + "/trainer.json";
  std::string text = read_file(path);
  text.replace(text.find("\"schema_version\": 2"), 19, "\"schema_version\": 1");
  write_file(path, text);
  write_file(checkpoint + "/COMPLETE", "");

  EXPECT_EQ(CheckpointStore::read_state(checkpoint).step, 10);
  EXPECT_NO_THROW(CheckpointStore::verify(checkpoint));

  text.replace(text.find("\"files\""), 7, "\"filed\"");
  write_file(path, text);
  EXPECT_NE(message_of([&] { CheckpointStore::verify(checkpoint); }).find("names none of the checkpoint's files"),
            std::string::npos);
}

TEST(CheckpointStore, RefusesOneThatHasTheNameOfAnotherStep) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);
  fs::copy(scratch / "run/checkpoints/step_00000010", scratch / "run/checkpoints/step_00000099");
  fs::copy(scratch / "run/checkpoints/step_00000010", scratch / "the_best_so_far");

  const std::string message = message_of([&] { CheckpointStore::read_state(*store.newest()); });
  EXPECT_NE(message.find("step_00000099 is not named for its step (it is the checkpoint of step 10)"),
            std::string::npos)
      << message;
  EXPECT_EQ(CheckpointStore::read_state(scratch / "the_best_so_far").step, 10);
}

TEST(CheckpointStore, SaysWhatIsGivenInPlaceOfACheckpoint) {
  const ScratchFolder scratch;
  const auto complaint = [&](const std::string& name) {
    return message_of([&] { CheckpointStore::read_state(scratch / name); });
  };
  for (const char* name : {"adapter", "model", "other"})
    fs::create_directories(scratch / name);
  for (const char* name : {"adapter/adapter_config.json", "adapter/config.json", "model/config.json"})
    write_file(scratch / name, "{}");

  EXPECT_NE(complaint("nope").find("nope does not exist"), std::string::npos) << complaint("nope");
  EXPECT_NE(complaint("adapter").find("(it is a PEFT adapter) Score it with multicard eval DECK model.adapter="),
            std::string::npos)
      << complaint("adapter");
  EXPECT_NE(complaint("model").find("(it is a model folder) Score it with multicard eval DECK model.path="),
            std::string::npos)
      << complaint("model");
  EXPECT_NE(complaint("other").find("is not a complete checkpoint"), std::string::npos) << complaint("other");
}

TEST(CheckpointStore, NeverHoldsNonFiniteValues) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);

  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    EXPECT_THROW(store.write(state_at(20), parts(kInfinity, 0, type)), NumericalError);
    EXPECT_THROW(store.write(state_at(20), parts(1, -kInfinity, type)), NumericalError);
    EXPECT_THROW(store.write(state_at(20), parts(1, std::nan(""), type)), NumericalError);
  }
  EXPECT_THROW(store.write({20, 160, 8, "", {{"scale", kInfinity}}}, parts(1)), NumericalError);

  EXPECT_EQ(*store.newest(), scratch / "run/checkpoints/step_00000010");
  EXPECT_NO_THROW(store.write(state_at(20), parts(60000, -60000, at::kHalf)));
}

TEST(CheckpointStore, DropsAnAbandonedFuture) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  for (const std::int64_t step : {10, 20, 30})
    write_at(store, step);

  write_at(store, 25);  // gone on from step 20

  EXPECT_EQ(*store.newest(), scratch / "run/checkpoints/step_00000025");
}

TEST(CheckpointStore, ReplacesOneOfTheSameStep) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);
  store.write(state_at(10), parts(5));

  EXPECT_EQ(TensorFile(CheckpointStore::model_file(*store.newest())).load("w")[0][0].item<float>(), 5.0f);
  EXPECT_EQ(names_in(scratch / "run/checkpoints").size(), 1u);
}

TEST(CheckpointStore, KeepsTheBest) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 1);
  EXPECT_FALSE(store.best());
  write_at(store, 10, 0.5);
  write_at(store, 20);
  write_at(store, 30);
  ASSERT_TRUE(store.best());
  EXPECT_EQ(store.best()->step, 10);
  EXPECT_EQ(store.best()->score, 0.5);
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/step_00000010/COMPLETE"));
  EXPECT_FALSE(fs::exists(scratch / "run/checkpoints/step_00000020"));

  write_at(store, 40, 0.75);
  write_at(store, 50);
  EXPECT_EQ(store.best()->step, 40);
  EXPECT_FALSE(fs::exists(scratch / "run/checkpoints/step_00000010"));

  // A process was killed before it could write BEST.
  fs::copy(scratch / "run/checkpoints/BEST", scratch / "before");
  write_at(store, 60, 0.8);
  fs::rename(scratch / "before", scratch / "run/checkpoints/BEST");
  ASSERT_TRUE(store.best());
  EXPECT_EQ(store.best()->step, 60);
  EXPECT_EQ(store.best()->score, 0.8);
  write_at(store, 70);
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/step_00000060/COMPLETE"));
  EXPECT_NE(read_file(scratch / "run/checkpoints/BEST").find("60"), std::string::npos);

  write_at(store, 35);  // gone on from before the best
  EXPECT_FALSE(store.best());
}

TEST(CheckpointStore, LeavesTheOlderOnesWhenItCannotWrite) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 1);
  write_at(store, 10);

  EXPECT_THROW(store.write(state_at(20), parts(1), std::nullopt, []() -> std::string { throw DataError("full"); }),
               DataError);

  EXPECT_EQ(*store.newest(), scratch / "run/checkpoints/step_00000010");
  EXPECT_EQ(names_in(scratch / "run/checkpoints").size(), 1u);
}

TEST(CheckpointStore, TidiesUpAfterAKilledWrite) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 1);
  fs::create_directories(scratch / "run/checkpoints/.step_00000007");
  write_file(scratch / "run/checkpoints/.step_00000007/COMPLETE", "");
  EXPECT_FALSE(store.newest());

  write_at(store, 10);

  EXPECT_EQ(names_in(scratch / "run/checkpoints").size(), 1u);
}

TEST(CheckpointStore, NamesWhatIsWrongWithADamagedOne) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);
  const std::string newest = *store.newest();
  const auto damage = [&](const std::string& file, const std::string& bytes, bool fix_sum = false) {
    const std::string before = read_file(newest + "/" + file);
    std::ofstream(newest + "/" + file) << bytes;
    const std::string sum = read_file(newest + "/COMPLETE");
    if (fix_sum) write_file(newest + "/COMPLETE", sha256(bytes) + "\n");
    std::string message = message_of([&] {
      CheckpointStore::read_state(newest);
      CheckpointStore::verify(newest);
    });
    std::ofstream(newest + "/" + file) << before;
    write_file(newest + "/COMPLETE", sum);
    return message;
  };

  EXPECT_NE(damage("trainer.json", "{\"step\": ").find("step_00000010 has a damaged trainer.json"), std::string::npos);
  EXPECT_NE(
      damage("trainer.json", R"({"format": "other", "schema_version": 1})", true).find("not a multicard checkpoint"),
      std::string::npos);
  EXPECT_NE(damage("trainer.json", R"({"format": "multicard-checkpoint", "schema_version": 9})", true).find("newer"),
            std::string::npos);
  std::string state = read_file(newest + "/trainer.json");
  state.replace(state.find("a: 1"), 4, "a: [");
  EXPECT_NE(damage("trainer.json", state).find("step_00000010 has a damaged trainer.json"), std::string::npos);
  std::string model = read_file(CheckpointStore::model_file(newest));
  EXPECT_NE(
      damage(kModelFile, model.substr(0, model.size() - 4)).find("model.safetensors has changed since it was written"),
      std::string::npos);
  model.back() = static_cast<char>(model.back() ^ 1);
  EXPECT_NE(damage(kModelFile, model).find("its SHA-256 differs"), std::string::npos);
  EXPECT_EQ(damage(kModelFile, read_file(CheckpointStore::model_file(newest))), "no error");
}

TEST(CheckpointStore, NamesTheCheckpointWhereTheOutputFolderIsGiven) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  write_at(store, 10);

  const std::string message = message_of([&] { CheckpointStore::read_state(scratch / "run"); });

  EXPECT_NE(message.find("checkpoints/step_00000010"), std::string::npos) << message;
}

}  // namespace
}  // namespace multicard
