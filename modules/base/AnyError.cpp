#include "base/AnyError.hpp"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Shown.hpp"

namespace multicard {

namespace {

std::string problem_of(const std::filesystem::filesystem_error& error) {
  if (error.path1().empty()) return "a file cannot be reached";
  const std::string first = error.path1().string();
  return error.path2().empty() ? fmt::format("{} cannot be reached", first)
                               : fmt::format("{} and {} cannot be reached", first, error.path2().string());
}

}  // namespace

Error as_error(const std::exception& error) {
  if (const auto* own = dynamic_cast<const Error*>(&error)) return *own;
  // Before std::system_error, which it derives from: a path that fails is the user's data, a thread or a lock that
  // fails is the machine's.
  if (const auto* files = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return DataError(problem_of(*files), files->code().message());
  if (dynamic_cast<const nlohmann::json::exception*>(&error))
    return DataError("a JSON file is damaged", reason_of(error));
  if (const auto* system = dynamic_cast<const std::system_error*>(&error))
    return EnvironmentError("the system refused a resource", system->code().message());
  constexpr const char* kLower = "Lower run.global_batch, data.prefetch, data.image_size or data.max_length.";
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return EnvironmentError("out of memory", "an allocation on the host failed", kLower);
  // A size that a file or an option gives, or a wrong one of the program.
  if (dynamic_cast<const std::length_error*>(&error))
    return EnvironmentError("out of memory", fmt::format("the allocation is too large: {}", error.what()),
                            fmt::format("{} If that changes nothing, this is a defect: report it.", kLower));
  return Error(ExitCode::defect, "unexpected error", error.what(), "This is a defect: report it.");
}

std::string reason_of(const std::exception& error) {
  const auto* json = dynamic_cast<const nlohmann::json::exception*>(&error);
  if (!json) return error.what();
  // The message of the library quotes what it read, so it may be long and is cut; the ids are its documented numbers.
  // "[json.exception.type_error.302] type must be string, but is number"
  constexpr int kAccessThrough = 304, kAccessByNumber = 306;  // at(), operator[] and value() of another type
  if (json->id >= kAccessThrough && json->id <= kAccessByNumber) return "a value is of another type than expected";
  constexpr std::size_t kLongestReason = 300;
  std::string_view text = error.what();
  if (const std::size_t end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
  if (text.starts_with("parse error at line ")) text.remove_prefix(std::string_view("parse error ").size());
  return shown(text, kLongestReason);
}

}  // namespace multicard
