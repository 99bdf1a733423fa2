#include "base/Error.hpp"

#include <system_error>

#include "base/Shown.hpp"

namespace multicard {

namespace {

std::string compose(const std::string& problem, const std::string& why, const std::string& suggestion) {
  std::string message = problem;
  if (!why.empty()) message += " (" + why + ")";
  if (!suggestion.empty()) message += (why.empty() ? ". " : " ") + suggestion;
  return message;
}

}  // namespace

std::optional<ExitCode> exit_code_of(std::int64_t number) {
  const bool is_failure = number >= 0 && number <= static_cast<int>(ExitCode::numerical);
  if (!is_failure && number != static_cast<int>(ExitCode::stopped)) return std::nullopt;
  return static_cast<ExitCode>(number);
}

Error::Error(ExitCode code, const std::string& problem, const std::string& why, const std::string& suggestion)
    : std::runtime_error(compose(shown(problem), shown(why), shown(suggestion))),
      code_(code),
      problem_(shown(problem)),
      why_(shown(why)),
      suggestion_(shown(suggestion)) {}

Error Error::on_all_ranks() const {
  Error copy = *this;
  copy.scope_ = Scope::all_ranks;
  return copy;
}

std::string system_error_text(int number) {
  return std::generic_category().message(number);
}

}  // namespace multicard
