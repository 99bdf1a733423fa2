#include "base/ErrorReport.hpp"

namespace multicard {

namespace {

std::string problem_and_why(const Error& error) {
  return error.why().empty() ? error.problem() : error.problem() + " (" + error.why() + ")";
}

}  // namespace

std::string error_report(const Error& error) {
  std::string text = problem_and_why(error);
  if (!error.suggestion().empty()) text += "\n  " + error.suggestion();
  return text;
}

std::string error_sentences(const Error& error) {
  std::string text = problem_and_why(error);
  if (!error.suggestion().empty()) text += ". " + error.suggestion();
  return text.ends_with('.') ? text : text + ".";
}

}  // namespace multicard
