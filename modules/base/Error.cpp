#include "base/Error.hpp"

#include <array>
#include <cerrno>
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

/// A limit of the system, and how it is raised. Libraries hand on its text, seldom its number.
struct SystemLimit {
  std::string text;
  const char* advice;
  bool is_of_environment;  ///< whatever the file or the deck that was being opened
};

// By the text, since HDF5, Arrow and std::filesystem pass on strerror's words in their messages, but not errno itself.
const SystemLimit* limit_in(const std::string& why) {
  static const std::array limits{
      SystemLimit{system_error_text(ENFILE), "Close programs that hold files open, or raise fs.file-max.", true},
      SystemLimit{system_error_text(EMFILE), "Raise the limit on open files: ulimit -n 4096, before the start.", true},
      SystemLimit{system_error_text(EFBIG), "Raise the limit on the size of files (ulimit -f).", false}};
  for (const SystemLimit& limit : limits)
    if (why.find(limit.text) != std::string::npos) return &limit;
  return nullptr;
}

ExitCode code_for(ExitCode code, const std::string& why) {
  const SystemLimit* limit = limit_in(why);
  const bool is_input = code == ExitCode::data || code == ExitCode::usage;
  return limit && limit->is_of_environment && is_input ? ExitCode::environment : code;
}

std::string suggestion_for(const std::string& suggestion, const std::string& why) {
  const SystemLimit* limit = limit_in(why);
  return limit ? limit->advice : suggestion;
}

}  // namespace

std::optional<ExitCode> exit_code_of(std::int64_t number) {
  // Numbers 0 to 6 are given without gaps; 75 is EX_TEMPFAIL of sysexits.h, which batch systems requeue.
  const bool is_failure = number >= 0 && number <= static_cast<int>(ExitCode::numerical);
  if (!is_failure && number != static_cast<int>(ExitCode::stopped)) return std::nullopt;
  return static_cast<ExitCode>(number);
}

Error::Error(ExitCode code, const std::string& problem, const std::string& why, const std::string& suggestion)
    : std::runtime_error(compose(shown(problem), shown(why), shown(suggestion_for(suggestion, why)))),
      code_(code_for(code, why)),
      problem_(shown(problem)),
      why_(shown(why)),
      suggestion_(shown(suggestion_for(suggestion, why))) {}

Error Error::on_all_ranks() const {
  Error copy = *this;
  copy.scope_ = Scope::all_ranks;
  return copy;
}

std::string system_error_text(int number) {
  return std::generic_category().message(number);
}

}  // namespace multicard
