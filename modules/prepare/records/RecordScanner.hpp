#pragma once
/// \file Finding the records of a text file without understanding them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// Where a record stands in its file, decompressed.
struct RecordPlace {
  std::int64_t offset = 0;
  std::int64_t num_bytes = 0;
  std::int64_t line = 0;     ///< of its beginning, counted from 1
  std::int64_t element = 0;  ///< of a JSON array, counted from 1; 0 in other files
};

/// Takes a file piece by piece. A file whose first character is `[` is a JSON array and its elements are the records,
/// in any other every line with something on it is one.
class RecordScanner {
 public:
  void take(std::string_view piece);
  /// After the last piece. Returns what is wrong with the file as a whole, empty if nothing.
  std::string finish();

  std::vector<RecordPlace> release() { return std::move(records_); }

 private:
  enum class State {
    start,    ///< nothing but white space so far
    line,     ///< a file of lines
    array,    ///< between elements of an array
    element,  ///< in one
    after,    ///< after the array
    trailing  ///< there is data after the array
  };

  void take_line_byte(char byte);
  void take_array_byte(char byte);
  void take_element_byte(char byte);
  void begin_record();
  void end_record(std::int64_t end);

  std::vector<RecordPlace> records_;
  State state_ = State::start;
  RecordPlace current_;
  bool is_open_ = false;           ///< a record has begun
  std::int64_t last_visible_ = 0;  ///< just after the last byte of the record that is not white space
  std::int64_t depth_ = 0;
  bool in_string_ = false, is_escaped_ = false;
  bool needs_element_ = false;  ///< a comma stands before
  std::int64_t offset_ = 0, line_ = 1;
};

}  // namespace multicard
