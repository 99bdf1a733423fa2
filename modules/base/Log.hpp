#pragma once
/// \file Messages to standard error. Uniform code paths speak through rank 0; a path that one rank takes alone says so.

#include <string>

namespace multicard {

enum class LogLevel { debug, info, warning, error, off };

/// Sets who this process is. Before the call it counts as rank 0 of 1. The level comes from MULTICARD_LOG
/// (debug | info | warning | error | off), default info.
void set_log_identity(int rank, int size, const std::string& host);
void set_log_level(LogLevel level);

/// \name Rank 0 only: for code that all ranks run alike
/// @{
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_error(const std::string& message);
/// @}

/// Any rank; with more than one rank the line starts with `rank R on HOST: `.
void log_local_error(const std::string& message);

}  // namespace multicard
