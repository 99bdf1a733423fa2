#include "base/Log.hpp"

#include <cstdlib>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace multicard {

namespace {

struct Identity {
  int rank = 0;
  int size = 1;
  std::string host;
};

Identity& identity() {
  static Identity instance;
  return instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("multicard", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%v");
    const char* level = std::getenv("MULTICARD_LOG");
    made.set_level(level ? spdlog::level::from_str(std::string(level) == "warning" ? "warn" : level)
                         : spdlog::level::info);
    made.flush_on(spdlog::level::debug);
    return made;
  }();
  return instance;
}

bool speaks() {
  return identity().rank == 0;
}

}  // namespace

void set_log_identity(int rank, int size, const std::string& host) {
  identity() = {rank, size, host};
}

void set_log_level(LogLevel level) {
  logger().set_level(to_spdlog(level));
}

void log_debug(const std::string& message) {
  if (speaks()) logger().debug(message);
}
void log_info(const std::string& message) {
  if (speaks()) logger().info(message);
}
void log_warning(const std::string& message) {
  if (speaks()) logger().warn("warning: " + message);
}
void log_error(const std::string& message) {
  if (speaks()) logger().error("multicard: " + message);
}

void log_local_error(const std::string& message) {
  const Identity& self = identity();
  if (self.size == 1)
    logger().error("multicard: " + message);
  else
    logger().error("rank {} on {}: {}", self.rank, self.host, message);
}

}  // namespace multicard
