#pragma once
/// \file Traces that tests write.

#include <fstream>
#include <string>

#include "support/test_world.hpp"

namespace multicard::test {

/// A file with this text.
class TraceFile {
 public:
  explicit TraceFile(const std::string& text, const std::string& name = "trace.json") : path_(folder_ / name) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  /// A trace with these events.
  static std::string of(const std::string& events) {
    return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]}";
  }
  const std::string& path() const { return path_; }

 private:
  ScratchFolder folder_;
  std::string path_;
};

}  // namespace multicard::test
