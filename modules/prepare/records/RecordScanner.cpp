#include "prepare/records/RecordScanner.hpp"

#include <fmt/format.h>

#include "base/Utf8.hpp"

namespace multicard {

namespace {

bool is_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

}  // namespace

// Records are found by brackets and strings alone; whether they are JSON is found when they are parsed. The scanner
// holds no bytes: files may be larger than memory.
void RecordScanner::take(std::string_view piece) {
  for (const char byte : piece) {
    switch (state_) {
      case State::start:
        // A byte order mark is no content; elsewhere its bytes would be.
        if (is_space(byte) || (offset_ < 3 && byte == kByteOrderMark[static_cast<std::size_t>(offset_)])) break;
        state_ = byte == '[' ? State::array : State::line;
        if (state_ == State::line) take_line_byte(byte);
        break;
      case State::line:
        take_line_byte(byte);
        break;
      case State::array:
        take_array_byte(byte);
        break;
      case State::element:
        take_element_byte(byte);
        break;
      case State::after:
        if (!is_space(byte)) state_ = State::trailing;
        break;
      case State::trailing:
        break;
    }
    ++offset_;
    if (byte == '\n') ++line_;
  }
}

void RecordScanner::take_line_byte(char byte) {
  if (byte == '\n') {
    if (is_open_) end_record(last_visible_);
  } else if (!is_space(byte)) {
    if (!is_open_) begin_record();
    last_visible_ = offset_ + 1;
  }
}

void RecordScanner::take_array_byte(char byte) {
  if (is_space(byte)) return;
  if (byte == ']' && !needs_element_) {
    state_ = State::after;
    return;
  }
  // A comma too many makes a record without bytes, which no reader takes.
  begin_record();
  current_.element = static_cast<std::int64_t>(records_.size()) + 1;
  state_ = State::element;
  take_element_byte(byte);
}

// Brackets inside strings do not count, and a quote after a backslash does not end a string. All bytes of multi-byte
// UTF-8 characters are above 0x7f, and so are never one of these.
void RecordScanner::take_element_byte(char byte) {
  if (in_string_) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (byte == '\\') {
      is_escaped_ = true;
    } else if (byte == '"') {
      in_string_ = false;
    }
    return;
  }
  if (byte == '"') {
    in_string_ = true;
  } else if (byte == '{' || byte == '[') {
    ++depth_;
  } else if (depth_ > 0) {
    if (byte == '}' || byte == ']') --depth_;
  } else if (byte == ',' || byte == ']') {
    end_record(offset_);
    needs_element_ = byte == ',';
    state_ = needs_element_ ? State::array : State::after;
  }
}

void RecordScanner::begin_record() {
  current_ = {offset_, 0, line_, 0};
  is_open_ = true;
}

void RecordScanner::end_record(std::int64_t end) {
  current_.num_bytes = end - current_.offset;
  records_.push_back(current_);
  is_open_ = false;
}

std::string RecordScanner::finish() {
  if (state_ == State::trailing) return "there is data after the end of its JSON array";
  if (state_ == State::array) return "it is truncated: its JSON array does not end";
  if (state_ == State::element)
    return fmt::format("it is truncated: element {} of its JSON array (line {}) does not end", current_.element,
                       current_.line);
  if (is_open_) end_record(last_visible_);
  return {};
}

}  // namespace multicard
