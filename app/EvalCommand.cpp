#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Commands.hpp"
#include "Runs.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "comm/Agreement.hpp"
#include "evaluation/EvaluatedModel.hpp"
#include "evaluation/EvaluationFile.hpp"

namespace multicard {

namespace {

void print_scores(const EvaluationResult& result) {
  nlohmann::ordered_json json;
  for (const auto& [name, score] : result.scores)
    std::visit([&, &key = name](auto value) { json[key] = value; }, score);
  print(json_text(json) + "\n");
}

}  // namespace

ExitCode eval_command(const EvalArguments& arguments, const Communicator& world) {
  // Whatever can be refused is refused before the first shard is read: the file for the scores, for example.
  const EvaluationSubject subject = find_evaluation_subject({arguments.source, arguments.overrides}, world);
  const RunOptions options = agreed(world, [&] { return evaluation_options(subject); });
  const std::string results = arguments.output.empty() ? evaluation_file(options) : arguments.output;
  require_evaluation(results, world);
  log_heading("eval", arguments.source);
  if (options.profile.enabled)
    log_warning("profile.enabled and profile.trace have no effect here: profiles are of training steps.");
  log_info(fmt::format("{:<10}{} ({})", "weights", subject.weights.empty() ? options.model.path : subject.weights,
                       subject.origin));
  const EvaluationResult result = options.is_language() ? evaluate_language_model(subject, options, world)
                                                        : evaluate_image_model(subject, options, results, world);
  const OtherEvaluation other = arguments.output.empty() ? OtherEvaluation::keep : OtherEvaluation::replace;
  write_evaluation(results, other, full_provenance(world, arguments.command_line), result.summary, world);
  for (const std::string& line : result.lines)
    log_info(line);
  log_results(results);
  if (arguments.json && world.is_root()) print_scores(result);
  return ExitCode::complete;
}

}  // namespace multicard
