#pragma once
/// \file Errors that reach the user, and the exit codes of the program (docs/exit_codes.md).

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace multicard {

/// What the process returns. The numbers are a contract with the scripts that start multicard.
enum class ExitCode : int {
  complete = 0,
  defect = 1,         ///< unexpected exception
  usage = 2,          ///< command line or deck
  environment = 3,    ///< MPI, GPU, library, world size, out of memory
  data = 4,           ///< missing, corrupt, wrong format, disk full
  communication = 5,  ///< a collective exceeded run.timeout_s
  numerical = 6,      ///< non-finite loss
  stopped = 75        ///< stopped early with a complete checkpoint: requeue me
};

/// The exit code of that number, which a file may have said; nullopt when there is none.
std::optional<ExitCode> exit_code_of(std::int64_t number);

/// Who found the error. An error that all ranks found is printed once and the job ends in order; one that a single rank
/// found is printed by that rank, which then takes the whole job down.
enum class Scope { one_rank, all_ranks };

/// An error with the message grammar `PROBLEM (WHY) SUGGESTION`; why and suggestion may be empty. Where `why` holds the
/// system's text for a limit (open files, the size of files) the suggestion is how to raise it, wherever it was met,
/// and what looks like wrong data or a wrong deck for lack of open files is an environment error.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& problem, const std::string& why = {}, const std::string& suggestion = {});

  ExitCode code() const { return code_; }
  const std::string& problem() const { return problem_; }
  const std::string& why() const { return why_; }
  const std::string& suggestion() const { return suggestion_; }

  Scope scope() const { return scope_; }
  /// Marks the error as found by all ranks together (see comm/Agreement.hpp).
  Error on_all_ranks() const;

 private:
  ExitCode code_;
  std::string problem_, why_, suggestion_;
  Scope scope_ = Scope::one_rank;
};

/// \name One type per exit code, so that a throw reads as a sentence
/// @{
struct UsageError : Error {
  explicit UsageError(const std::string& problem, const std::string& why = {}, const std::string& suggestion = {})
      : Error(ExitCode::usage, problem, why, suggestion) {}
};
struct EnvironmentError : Error {
  explicit EnvironmentError(const std::string& problem, const std::string& why = {}, const std::string& suggestion = {})
      : Error(ExitCode::environment, problem, why, suggestion) {}
};
struct DataError : Error {
  explicit DataError(const std::string& problem, const std::string& why = {}, const std::string& suggestion = {})
      : Error(ExitCode::data, problem, why, suggestion) {}
};
struct CommunicationError : Error {
  explicit CommunicationError(const std::string& problem, const std::string& why = {},
                              const std::string& suggestion = {})
      : Error(ExitCode::communication, problem, why, suggestion) {}
};
struct NumericalError : Error {
  explicit NumericalError(const std::string& problem, const std::string& why = {}, const std::string& suggestion = {})
      : Error(ExitCode::numerical, problem, why, suggestion) {}
};
/// @}

/// The text of errno value `number`, e.g. "No space left on device".
std::string system_error_text(int number);

}  // namespace multicard
