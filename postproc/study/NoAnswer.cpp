#include "postproc/study/NoAnswer.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard::post {

namespace {

std::vector<const RunReport*> runs_of(const Study& study, const std::vector<std::size_t>& configurations) {
  std::vector<const RunReport*> runs;
  for (const std::size_t configuration : configurations)
    for (const Cell* cell : study.cells_of(configuration))
      for (const std::size_t run : cell->runs)
        runs.push_back(&study.runs[run]);
  return runs;
}

/// The most frequent problem, of equals the first by name, and of how many runs it is.
std::pair<std::string, std::size_t> main_problem(const std::vector<const RunReport*>& runs) {
  std::map<std::string, std::size_t> problems;
  for (const RunReport* run : runs)
    if (run->status == "failed") ++problems[problem_of(run->error)];
  const auto most = std::ranges::max_element(problems, {}, [](const auto& entry) { return entry.second; });
  return *most;
}

}  // namespace

std::string problem_of(const std::string& error) {
  std::string problem = error.substr(0, error.find(" ("));
  for (const char* spelling : {"-nan", "nan", "-inf", "inf"}) {
    const std::string ending = std::string(" is ") + spelling;
    if (problem.ends_with(ending))
      return problem.replace(problem.size() - ending.size(), ending.size(), " is not finite");
  }
  return problem.empty() ? "the results file does not say why" : problem;
}

Finding no_answer_finding(const Study& study, const std::vector<std::size_t>& configurations) {
  const std::vector<const RunReport*> runs = runs_of(study, configurations);
  const auto failed = static_cast<std::size_t>(
      std::ranges::count_if(runs, [](const RunReport* run) { return run->status == "failed"; }));
  std::int64_t steps = 0;
  for (const RunReport* run : runs)
    steps = std::max(steps, run->num_steps);
  Finding out{{}, {{"runs", runs.size()}, {"failed", failed}, {"steps", steps}}, "none"};
  if (failed > 0) {
    const auto [problem, number] = main_problem(runs);
    out.evidence.add({"with_this_error", number});
    const auto all = static_cast<long>(runs.size());
    if (all == 1)
      out.text = fmt::format("The run failed: {}.", problem);
    else if (number == runs.size())
      out.text = fmt::format("All {} failed: {}.", counted(all, "run"), problem);
    else
      out.text = fmt::format("None of {} was measured: {} ({} of them).", counted(all, "run"), problem, number);
    return out;
  }
  const std::string what = runs.size() == 1 ? "the run has" : "no run has more than";
  out.text = steps == 0 ? "Nothing was measured: there are no steps."
                        : fmt::format("Nothing was measured: {} {}, left out as warm-up (skip_steps).", what,
                                      counted(static_cast<long>(steps), "step"));
  return out;
}

}  // namespace multicard::post
