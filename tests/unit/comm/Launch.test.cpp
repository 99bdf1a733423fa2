#include "comm/Launch.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace multicard {
namespace {

using Environment = std::map<std::string, std::string>;

Variable reader_of(const Environment& environment) {
  return [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
}

/// What a world of one rank says under these variables; empty where it continues.
std::string refusal(const Environment& environment) {
  const auto error = why_started_apart(read_launch(reader_of(environment)), "Open MPI v4");
  if (!error) return "";
  EXPECT_EQ(error->code(), ExitCode::environment);
  return error->what();
}

TEST(Launch, RefusesOneOfSeveralProcessesOfAnotherLauncher) {
  const std::map<std::string, Environment> launchers{
      {"MPICH", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", "6"}, {"MPI_LOCALNRANKS", "2"}}},
      {"Intel MPI", {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"I_MPI_PIN", "1"}}},
      {"MVAPICH", {{"MV2_COMM_WORLD_SIZE", "2"}, {"MV2_COMM_WORLD_RANK", "0"}}},
      {"Cray PALS", {{"PALS_RANKID", "1"}}},
      {"MPICH or", {{"PMI_RANK", "1"}}},
      {"MPICH or Intel", {{"PMI_SIZE", "8"}, {"MPI_LOCALNRANKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}}}};
  for (const auto& [name, environment] : launchers) {
    const std::string said = refusal(environment);

    EXPECT_NE(said.find(name), std::string::npos) << said;
    EXPECT_NE(said.find("Start with Open MPI's mpirun"), std::string::npos) << said;
  }
}

TEST(Launch, SaysHowSrunHandsTasksToMpi) {
  const std::string pmi2 = refusal({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_SIZE", "4"}, {"PMI_RANK", "0"}});

  EXPECT_NE(pmi2.find("Slurm step of 4 tasks"), std::string::npos) << pmi2;
  EXPECT_NE(pmi2.find("srun --mpi=pmix"), std::string::npos) << pmi2;
}

TEST(Launch, LetsOneRankOfItsOwnMpirunContinueInsideAnotherLauncher) {
  const Environment own{{"OMPI_COMM_WORLD_SIZE", "1"}};
  for (Environment outer : {Environment{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}},
                            Environment{{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {"MPI_LOCALNRANKS", "2"}},
                            Environment{{"MV2_COMM_WORLD_SIZE", "8"}}}) {
    EXPECT_NE(refusal(outer), "");

    outer.insert(own.begin(), own.end());

    EXPECT_EQ(refusal(outer), "");
  }
}

TEST(Launch, LetsAProcessContinueThatWasStartedAlone) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}, {"MPI_LOCALNRANKS", "1"}, {"MPI_LOCALRANKID", "0"}}), "");
  EXPECT_EQ(refusal({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), "");
}

TEST(Launch, KnowsWhetherMpiCanConnectTheProcesses) {
  const auto offers = [](const Environment& environment) {
    return read_launch(reader_of(environment)).offers_connection;
  };

  EXPECT_FALSE(offers({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_MPI_TYPE", "none"}}));
  EXPECT_TRUE(offers({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "0"}}));
  EXPECT_TRUE(offers({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_FD", "5"}}));
}

TEST(Launch, RefusesTheMpirunOfAnotherOpenMpi) {
  EXPECT_NE(refusal({{"OMPI_COMM_WORLD_SIZE", "2"}}).find("does not fit Open MPI v4"), std::string::npos);
}

}  // namespace
}  // namespace multicard
