#pragma once
/// \file Messages to standard error. Uniform code paths speak through rank 0; a path that one rank takes alone says so.

#include <optional>
#include <string>

namespace multicard {

enum class LogLevel { debug, info, warning, error, off };

/// Sets who this process is. Before the call it counts as rank 0 of 1. The level comes from MULTICARD_LOG
/// (debug | info | warning | error | off), default info.
void set_log_identity(int rank, int size, const std::string& host);
void set_log_level(LogLevel level);

/// For its lifetime this thread counts as another rank, where it works for some ranks of the job whose first is not
/// rank 0. The innermost counts.
class LogRank {
 public:
  /// A rank that never speaks alone.
  static constexpr int kSilent = -1;

  explicit LogRank(int rank);
  ~LogRank();
  LogRank(const LogRank&) = delete;
  LogRank& operator=(const LogRank&) = delete;

 private:
  std::optional<int> before_;
};

/// \name Rank 0 only: for code that all ranks run alike
/// @{
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_error(const std::string& message);
/// A line that belongs to an error, as it is.
void log_error_line(const std::string& message);
/// @}

/// Any rank; with more than one rank the line starts with `rank R on HOST: `.
void log_local_error(const std::string& message);

/// \name The line that is being rewritten (LiveLine)
/// Messages that come while it is open erase it first: they neither continue it nor leave half of it.
/// @{
/// Writes `text` over what stands in the line, and leaves it open.
void write_open_line(const std::string& text);
/// Ends it, where it is open: it stays.
void end_open_line();
void erase_open_line();
/// @}

}  // namespace multicard
