#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "example_run.hpp"
#include "results/ResultsReader.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::example_provenance;
using test::example_record;
using test::example_summary;
using test::kNumSteps;
using test::ScratchFolder;
using test::world;

template <class Body>
std::string error_of(Body&& body, ExitCode code = ExitCode::data) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A finished file of one run of all ranks.
std::string write_example(const ScratchFolder& scratch) {
  const std::string path = scratch / "results.h5";
  write_results(path, world(), example_provenance(), example_summary(), example_record(world().rank()));
  return path;
}

TEST(Results, KeepEveryRanksRows) {
  const ScratchFolder scratch;
  const std::string path = write_example(scratch);

  const RunData run = ResultsFile::open(path).run("main");

  ASSERT_EQ(run.ranks, world().size());
  EXPECT_EQ(run.clock, "device");
  EXPECT_EQ(run.num_steps, static_cast<std::size_t>(kNumSteps));
  EXPECT_EQ(run.times.size(), kPhaseNames.size() + 2);
  for (int rank = 0; rank < world().size(); ++rank) {
    const auto row = static_cast<std::size_t>(rank);
    const RankRecord expected = example_record(rank);
    for (std::size_t step = 0; step < run.num_steps; ++step) {
      EXPECT_EQ(run.times.at("step").at(row, step), expected.steps[step].step);
      for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase)
        EXPECT_EQ(run.times.at(kPhaseNames[phase]).at(row, step), expected.steps[step].phases[phase]);
      EXPECT_EQ(run.times.at("host_data_wait").at(row, step), 0.5 * rank);
      EXPECT_EQ(run.counts.at("samples").at(row, step), expected.samples[step]);
      EXPECT_EQ(run.counts.at("tokens").at(row, step), expected.counts.at("tokens")[step]);
    }
    EXPECT_EQ(run.epochs.at("train").at(row, 1), 2.0 + rank);
    EXPECT_EQ(run.memory.at("host_peak_bytes").at(row), 5'000'000'000 + rank);
    EXPECT_EQ(run.memory.at("model/parameters").at(row), 40);
    EXPECT_EQ(run.transfers.at("host_to_device").at(row), 77 + rank);
    const CommunicationTotals& reduce = run.communication.at("all_reduce").at(row);
    EXPECT_EQ(reduce.calls, 3);
    EXPECT_EQ(reduce.payload_bytes, 1 << 20);
    EXPECT_EQ(reduce.bus_bytes, 1.5 * (1 << 20));
    EXPECT_EQ(reduce.seconds_total, 0.5);
    EXPECT_EQ(reduce.seconds_exposed, 0.125 * rank);
  }
}

TEST(Results, KeepWhatIsEqualOnAllRanks) {
  const ScratchFolder scratch;
  const RunSummary expected = example_summary();
  const std::string path = write_example(scratch);

  const RunSummary found = ResultsFile::open(path).run("main").summary;

  EXPECT_EQ(found.name, "main");
  EXPECT_EQ(found.status, "complete");
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.text, expected.text);
  EXPECT_EQ(found.reals, expected.reals);
  EXPECT_EQ(found.integers.at("global_batch"), 64);
  EXPECT_EQ(found.integers.at("ranks"), world().size());
  EXPECT_EQ(found.skip_steps, 2);
  ASSERT_EQ(found.metrics.size(), 2U);
  EXPECT_EQ(found.metrics.at("train_loss").values, expected.metrics.at("train_loss").values);
  EXPECT_EQ(found.metrics.at("train_loss").steps, expected.metrics.at("train_loss").steps);
  EXPECT_EQ(found.metrics.at("eval_loss").steps, (std::vector<std::int64_t>{6}));
  ASSERT_EQ(found.segments.size(), 1U);
  EXPECT_EQ(found.segments[0].first_step, 0);
  EXPECT_EQ(found.segments[0].ranks, world().size());
  const Table& kernels = found.tables.at("profile/kernels");
  EXPECT_EQ(kernels.text.at("name"), (std::vector<std::string>{"gemm", "größe"}));
  EXPECT_EQ(kernels.integers.at("calls"), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(kernels.reals.at("seconds"), (std::vector<double>{0.5, 0.25}));
}

TEST(Results, KeepTheirProvenance) {
  const ScratchFolder scratch;
  const ResultsFile file = ResultsFile::open(write_example(scratch));

  const Provenance found = file.provenance();

  EXPECT_EQ(std::get<std::string>(file.attributes().at("format")), "multicard-results");
  EXPECT_EQ(std::get<std::int64_t>(file.attributes().at("schema_version")), 1);
  EXPECT_EQ(std::get<std::string>(file.attributes().at("created_utc")).size(), 20U);
  EXPECT_FALSE(std::get<std::string>(file.attributes().at("version")).empty());
  EXPECT_EQ(found.command_line, example_provenance().command_line);
  EXPECT_EQ(found.hosts, example_provenance().hosts);
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_EQ(found.cpu, "a cpu");
  EXPECT_EQ(found.environment, example_provenance().environment);
}

TEST(Results, KeepWhatTheirKeysMean) {
  const ScratchFolder scratch;
  Provenance provenance = example_provenance();
  provenance.keys = {{"data.image_size", "image size", "work"}, {"run.seed", "seed", "bookkeeping"}};
  write_results(scratch / "keys.h5", world(), provenance, example_summary(), example_record(world().rank()));
  const std::string without = write_example(scratch);
  if (!world().is_root()) return;
  std::filesystem::copy_file(without, scratch / "torn.h5");
  Hdf5File torn = Hdf5File::open_update(scratch / "torn.h5");
  torn.create_group("/keys");
  torn.write_texts("/keys/key", {"run.seed"});
  torn.close();

  EXPECT_EQ(ResultsFile::open(scratch / "keys.h5").provenance().keys, provenance.keys);
  EXPECT_TRUE(ResultsFile::open(without).provenance().keys.empty());
  EXPECT_TRUE(contains(error_of([&] { ResultsFile::open(scratch / "torn.h5").provenance(); }),
                       "torn.h5: /keys is damaged (it has no label)"));
}

TEST(Results, AreLaidOutAsDocumented) {
  const ScratchFolder scratch;
  const Hdf5File file = Hdf5File::open_read(write_example(scratch));
  const Extents steps{static_cast<std::uint64_t>(world().size()), kNumSteps};
  const Extents ranks{steps[0]};
  const auto is = [&](const std::string& path, ElementType type, const Extents& dims) {
    const Hdf5Dataset dataset = file.open_dataset("/runs/main/" + path);
    EXPECT_EQ(dataset.type(), type) << path;
    EXPECT_EQ(dataset.dims(), dims) << path;
  };

  for (const char* column :
       {"step", "data_wait", "transfer", "forward", "backward", "reduce_wait", "update", "other"}) {
    is(std::string("steps/") + column, ElementType::float64, steps);
    const std::string dataset = std::string("/runs/main/steps/") + column;
    EXPECT_EQ(file.attribute<std::string>(dataset, "unit"), "s");
    EXPECT_EQ(file.attribute<std::string>(dataset, "clock"), "device");
  }
  is("steps/samples", ElementType::int64, steps);
  is("steps/tokens", ElementType::int64, steps);
  is("segments/first_step", ElementType::int64, {1});
  is("segments/ranks", ElementType::int64, {1});
  is("epochs/train", ElementType::float64, {steps[0], 2});
  is("metrics/train_loss", ElementType::float64, {kNumSteps});
  is("metrics/train_loss_step", ElementType::int64, {kNumSteps});
  is("memory/host_peak_bytes", ElementType::int64, ranks);
  is("memory/model/parameters", ElementType::int64, ranks);
  is("communication/all_reduce/calls", ElementType::int64, ranks);
  is("communication/all_reduce/payload_bytes", ElementType::int64, ranks);
  is("communication/all_reduce/bus_bytes", ElementType::float64, ranks);
  is("communication/all_reduce/seconds_total", ElementType::float64, ranks);
  is("communication/all_reduce/seconds_exposed", ElementType::float64, ranks);
  is("transfers/host_to_device", ElementType::int64, ranks);
  EXPECT_EQ(file.attribute<std::int64_t>("/runs/main/steps", "first_step"), 0);
  EXPECT_EQ(file.attribute<std::int64_t>("/runs/main/steps", "skip_steps"), 2);
  EXPECT_EQ(file.attribute<std::int64_t>("/runs/main", "ranks"), world().size());
  for (const char* name : {"status", "error", "deck", "task", "strategy"})
    EXPECT_TRUE(std::holds_alternative<std::string>(file.read_attribute("/runs/main", name))) << name;
  for (const char* name : {"cpu", "driver", "cuda", "nccl", "mpi", "hdf5", "torch", "kernel", "build_flags"})
    EXPECT_TRUE(std::holds_alternative<std::string>(file.read_attribute("/provenance", name))) << name;
  for (const char* name : {"hosts", "gpus"})
    EXPECT_TRUE(std::holds_alternative<std::vector<std::string>>(file.read_attribute("/provenance", name))) << name;
  EXPECT_EQ(file.read_texts("/provenance/environment"),
            (std::vector<std::string>{"OMP_NUM_THREADS=4", "SLURM_NOTE=a=b"}));
  for (const char* name : {"format", "created_utc", "version", "git", "command_line"})
    EXPECT_TRUE(std::holds_alternative<std::string>(file.read_attribute("/", name))) << name;
}

TEST(Results, AppearOnlyWhenWhole) {
  const ScratchFolder scratch;
  const std::string path = write_example(scratch);
  write_example(scratch);  // replaces

  world().barrier();
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    EXPECT_EQ(entry.path().string(), path);
}

TEST(Results, CanBeReadWithH5dump) {
  const ScratchFolder scratch;
  const std::string path = write_example(scratch);
  if (!world().is_root()) return;

  FILE* pipe =
      popen(("HDF5_USE_FILE_LOCKING=TRUE h5dump -a /runs/main/deck -d /runs/main/steps/step " + path).c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  std::array<char, 4096> chunk;
  while (const std::size_t got = fread(chunk.data(), 1, chunk.size(), pipe))
    text.append(chunk.data(), got);

  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_TRUE(contains(text, "H5T_IEEE_F64LE"));
  EXPECT_TRUE(contains(text, "H5T_CSET_UTF8"));
  EXPECT_TRUE(contains(text, "task: image")) << text;
}

TEST(Results, FillTheRowsOfAbsentRanks) {
  const ScratchFolder scratch;
  // The run had two more ranks before it was resumed; rank 0 carries the record of the first of them.
  const int ranks = world().size() + 2;
  RankRows rows{{world().rank(), example_record(world().rank())}};
  if (world().is_root()) {
    rows[world().size()] = example_record(world().size());
    rows[world().size()].steps[4] = absent_step();
  }
  RunSummary summary = example_summary();
  summary.integers["ranks"] = ranks;
  summary.segments = {{.first_step = 0, .ranks = ranks}, {.first_step = 4, .ranks = world().size()}};

  write_results(scratch / "x.h5", world(), example_provenance(), summary, rows);

  const RunData run = ResultsFile::open(scratch / "x.h5").run("main");
  const auto carried = static_cast<std::size_t>(ranks) - 2, absent = static_cast<std::size_t>(ranks) - 1;
  EXPECT_EQ(run.ranks, ranks);
  EXPECT_EQ(run.times.at("forward").at(carried, 3), example_record(world().size()).steps[3].phases[2]);
  EXPECT_TRUE(std::isnan(run.times.at("forward").at(carried, 4)));
  EXPECT_TRUE(std::isnan(run.times.at("step").at(absent, 0)));
  EXPECT_TRUE(std::isnan(run.communication.at("all_reduce").at(absent).bus_bytes));
  EXPECT_EQ(run.counts.at("samples").at(absent, 0), 0);
  EXPECT_EQ(run.memory.at("host_peak_bytes").at(absent), 0);
  ASSERT_EQ(run.summary.segments.size(), 2U);
  EXPECT_EQ(run.summary.segments[1].first_step, 4);
  EXPECT_EQ(run.summary.segments[1].ranks, world().size());
}

TEST(Results, FillColumnsThatOnlySomeRanksHave) {
  const ScratchFolder scratch;
  RankRecord record = example_record(world().rank());
  if (world().rank() == world().size() - 1) {
    record.transfers["device_to_host"] = 5;
    record.epochs["train"].push_back(9);
  }

  write_results(scratch / "x.h5", world(), example_provenance(), example_summary(), record);

  const RunData run = ResultsFile::open(scratch / "x.h5").run("main");
  const auto last = static_cast<std::size_t>(world().size()) - 1;
  EXPECT_EQ(run.transfers.at("device_to_host").at(last), 5);
  EXPECT_EQ(run.epochs.at("train").at(last, 2), 9);
  if (last > 0) {
    EXPECT_EQ(run.transfers.at("device_to_host").at(0), 0);
    EXPECT_EQ(run.epochs.at("train").at(0, 1), 2.0);
    EXPECT_TRUE(std::isnan(run.epochs.at("train").at(0, 2)));
  }
}

TEST(Results, RefuseRecordsThatDoNotFitTogether) {
  const ScratchFolder scratch;
  const auto write = [&](auto&& change, bool is_changed) {
    RankRecord record = example_record(world().rank());
    if (is_changed) change(record);
    return error_of([&] { write_results(scratch / "x.h5", world(), example_provenance(), example_summary(), record); },
                    ExitCode::communication);
  };
  const bool is_last = world().rank() == world().size() - 1;
  const auto drop_step = [](RankRecord& record) {
    record.steps.pop_back();
    record.samples.pop_back();
    record.counts.clear();
    record.extra_times.clear();
  };

  EXPECT_TRUE(
      contains(write([](RankRecord& record) { record.samples.pop_back(); }, is_last), "5 values of steps/samples"));
  if (world().size() > 1) {
    EXPECT_TRUE(contains(write(drop_step, is_last), "different numbers of steps"));
    EXPECT_TRUE(contains(write([](RankRecord& record) { record.clock = "host"; }, is_last), "different clocks"));
    EXPECT_TRUE(contains(write([](RankRecord& record) { record.first_step = 3; }, is_last), "first steps"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(Results, MayHaveNoSteps) {
  const ScratchFolder scratch;
  RunSummary summary = example_summary();
  summary.status = "stopped";

  write_results(scratch / "none.h5", world(), example_provenance(), summary, RankRecord{});
  write_results(scratch / "empty.h5", world(), example_provenance(), summary, RankRows{});

  EXPECT_EQ(ResultsFile::open(scratch / "none.h5").run("main").num_steps, 0U);
  EXPECT_EQ(ResultsFile::open(scratch / "none.h5").run("main").ranks, world().size());
  const RunData empty = ResultsFile::open(scratch / "empty.h5").run("main");
  EXPECT_TRUE(empty.times.empty());
  EXPECT_EQ(empty.summary.status, "stopped");
}

TEST(Results, OfASweepAreAssembledFromItsVariants) {
  const ScratchFolder scratch;
  for (const char* run : {"0001", "0000"})
    write_results(scratch / (std::string("part-") + run + ".h5"), world(), example_provenance(), example_summary(run),
                  example_record(world().rank()));
  RunSummary failed;
  failed.name = "0002";
  failed.status = "failed";
  failed.error = "out of memory";
  failed.text["deck"] = "task: image\n";
  failed.integers["ranks"] = 4;
  const std::vector<std::string> parts{scratch / "part-0001.h5", scratch / "part-0000.h5"};
  if (!world().is_root()) return;

  assemble_results(scratch / "results.h5", parts, example_provenance(), {failed});

  const ResultsFile file = ResultsFile::open(scratch / "results.h5");
  const std::vector<RunData> runs = file.runs();
  ASSERT_EQ(file.run_names(), (std::vector<std::string>{"0000", "0001", "0002"}));
  EXPECT_EQ(runs[1].times.at("update").values, ResultsFile::open(parts[0]).run("0001").times.at("update").values);
  EXPECT_EQ(runs[1].summary.metrics.at("train_loss").values, example_summary().metrics.at("train_loss").values);
  EXPECT_EQ(runs[1].clock, "device");
  EXPECT_EQ(runs[2].summary.status, "failed");
  EXPECT_EQ(runs[2].summary.error, "out of memory");
  EXPECT_EQ(runs[2].summary.text.at("deck"), "task: image\n");
  EXPECT_EQ(runs[2].ranks, 4);
  EXPECT_TRUE(runs[2].times.empty());
  EXPECT_EQ(file.provenance().cpu, "a cpu");
  EXPECT_TRUE(contains(error_of([&] {
                         assemble_results(scratch / "two.h5", {parts[0], parts[0]}, {});
                       }),
                       "two runs are named 0001"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "two.h5"));
}

TEST(Results, ThatAreForeignDamagedOrNewerAreRefusedByName) {
  const ScratchFolder scratch;
  const std::string path = write_example(scratch);
  if (!world().is_root()) return;
  Hdf5File other = Hdf5File::create(scratch / "images.h5");
  other.write_attribute("/", "format", "multicard-images");
  other.close();
  Hdf5File::create(scratch / "empty.h5").close();
  const auto copy = [&](const std::string& name) {
    std::filesystem::copy_file(path, scratch / name);
    return scratch / name;
  };
  Hdf5File newer = Hdf5File::open_update(copy("newer.h5"));
  newer.write_attribute("/", "schema_version", 99);
  newer.close();
  Hdf5File damaged = Hdf5File::open_update(copy("damaged.h5"));
  damaged.write_attribute("/runs/main", "ranks", 9);
  damaged.close();
  std::filesystem::resize_file(copy("cut.h5"), std::filesystem::file_size(path) / 2);

  const auto open = [&](const std::string& name) {
    return error_of([&] { ResultsFile::open(scratch / name).runs(); });
  };
  EXPECT_TRUE(contains(open("images.h5"), "images.h5 is not a results file of multicard"));
  EXPECT_TRUE(contains(open("empty.h5"), "empty.h5 is not a results file of multicard"));
  EXPECT_TRUE(contains(open("newer.h5"), "newer.h5 was written by a newer multicard (its schema_version is 99"));
  EXPECT_TRUE(contains(open("damaged.h5"), "damaged.h5: /runs/main/steps/")) << open("damaged.h5");
  EXPECT_TRUE(contains(open("cut.h5"), "cut.h5: ")) << open("cut.h5");
  EXPECT_TRUE(contains(open("none.h5"), "none.h5 cannot be read (No such file or directory)"));
  EXPECT_TRUE(contains(error_of([&] { ResultsFile::open(path).run("0003"); }), "has no run 0003 (it has main)"));
}

TEST(Provenance, SaysWhatTheHostKnows) {
  const Provenance found = collect_provenance(world(), "multicard info");

  EXPECT_EQ(found.hosts.size(), static_cast<std::size_t>(world().size()));
  EXPECT_FALSE(found.cpu.empty());
  EXPECT_TRUE(contains(found.mpi, "MPI"));
  EXPECT_EQ(found.hdf5, hdf5_version());
  EXPECT_TRUE(found.environment.contains("OMP_NUM_THREADS"));
}

}  // namespace
}  // namespace multicard
