#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "SyntheticStudy.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;  ///< standard output alone
};

/// Runs the program that was built with these arguments, which the shell reads.
Outcome run(const std::string& arguments) {
  const char* build = std::getenv("MULTICARD_BUILD");
  const std::string command = std::string(build ? build : ".") + "/bin/multicard-post " + arguments + " 2>/dev/null";
  Outcome outcome;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), got);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

class Program : public testing::Test {
 protected:
  void SetUp() override { test::write_run(file_, {}); }

  test::ScratchFolder folder_;
  std::string file_ = folder_ / "in/results.h5";
};

TEST_F(Program, WritesBesideTheFirstFileAndNamesTheReport) {
  const Outcome outcome = run(file_);

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("report  " + (folder_ / "in/report.html")), std::string::npos) << outcome.output;
  for (const char* name : {"report.html", "runs.csv", "summary.json", "phases.svg"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / ("in/" + std::string(name)))) << name;
}

TEST_F(Program, WritesWhereItIsTold) {
  EXPECT_EQ(run(file_ + " -o " + (folder_ / "out")).exit_code, 0);

  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/report.html"));
}

TEST_F(Program, TheReportOfAnEvaluationLeavesThatOfTheRunAlone) {
  test::write_language_evaluation(folder_ / "in/eval.h5");

  const Outcome outcome = run(folder_ / "in/eval.h5");

  EXPECT_NE(outcome.output.find("report  " + (folder_ / "in/eval_report/report.html")), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/summary.json"));
}

TEST_F(Program, PrintsCsvOrJsonAloneAndWritesNothing) {
  const Outcome csv = run("--csv " + file_);
  const Outcome json = run(file_ + " --json");

  EXPECT_EQ(csv.output.substr(0, 9), "file,run,");
  EXPECT_EQ(nlohmann::json::parse(json.output)["format"], "multicard-summary");
  EXPECT_EQ(run("--csv=cells " + file_).output.substr(0, 20), "study,configuration,");
  EXPECT_EQ(run(file_ + " " + file_ + " --csv").output, csv.output);  // a run counts once
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/report.html"));
}

TEST_F(Program, TellsByItsExitCodeWhatIsWrong) {
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_EQ(run("--no-such-option " + file_).exit_code, 2);
  EXPECT_EQ(run("--csv --json " + file_).exit_code, 2);
  EXPECT_EQ(run("--csv=nonsense " + file_).exit_code, 2);
  EXPECT_EQ(run("--heat precision " + file_).exit_code, 2);
  EXPECT_EQ(run("--heat precision,ranks " + file_).exit_code, 2);
  EXPECT_EQ(run(folder_ / "missing.h5").exit_code, 4);
  EXPECT_EQ(run(test::source_path("LICENSE").string()).exit_code, 4);
  EXPECT_EQ(run("--help").exit_code, 0);
  EXPECT_EQ(run("--version").output.substr(0, 15), "multicard-post ");
}

TEST_F(Program, NeedsNoGnuplotToReport) {
  // An empty PATH for the program alone: the shell has found it by its path.
  const std::string build = std::getenv("MULTICARD_BUILD");
  const std::string command = "PATH= " + build + "/bin/multicard-post " + file_ + " >/dev/null 2>&1";

  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "in/report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/phases.svg"));
}

}  // namespace
}  // namespace multicard::post
