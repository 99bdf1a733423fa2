#include "results/EventRecords.hpp"

#include <array>
#include <bit>

namespace multicard::tensorboard {

namespace {

constexpr std::array<std::uint32_t, 256> kCrcOfByte = [] {
  // 0x1edc6f41 with its bits reversed, for a register that is shifted to the right.
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) ? kReversedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}();

/// The `num_bytes` lowest bytes of `value`, lowest first.
std::string little_endian(std::uint64_t value, int num_bytes) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i)
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

/// A protocol buffer message, field by field.
class Message {
 public:
  // Kinds of fields: 0 varint (seven bits a byte, lowest first, the top bit says that more follow), 1 eight bytes, 2 a
  // length and as many bytes, 5 four bytes. A negative int64 is a varint of ten bytes.
  Message& integer(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& real(int field, double value) {
    key(field, 1);
    bytes_ += little_endian(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  Message& real(int field, float value) {
    key(field, 5);
    bytes_ += little_endian(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, unsigned wire_type) { varint(static_cast<unsigned>(field) << 3 | wire_type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

// Fields of Event: wall_time 1, step 2, file_version 3, summary 5, session_log 7. Of Summary: value 1. Of
// Summary.Value: tag 1, simple_value 2, tensor 8, metadata 9. Of TensorProto: dtype 1, tensor_shape 2, string_val 8.
Message event(double time, std::int64_t step) {
  return Message().real(1, time).integer(2, static_cast<std::uint64_t>(step));
}

std::string summary_event(double time, std::int64_t step, const Message& value) {
  return event(time, step).message(5, Message().message(1, value)).bytes();
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kCrcOfByte[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  // The rotation and the constant are those of TFRecord (tensorflow/core/lib/hash/crc32c.h).
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

std::string record_of(std::string_view bytes) {
  const std::string length = little_endian(bytes.size(), 8);
  std::string record = length + little_endian(masked_crc32c(length), 4);
  record += bytes;
  return record + little_endian(masked_crc32c(bytes), 4);
}

std::string file_version_event(double time) {
  return Message().real(1, time).text(3, "brain.Event:2").bytes();
}

std::string start_event(double time, std::int64_t step) {
  constexpr std::uint64_t kStart = 1;  // SessionLog.SessionStatus
  return event(time, step).message(7, Message().integer(1, kStart)).bytes();
}

std::string scalar_event(double time, std::int64_t step, const std::string& tag, float value) {
  return summary_event(time, step, Message().text(1, tag).real(2, value));
}

std::string text_event(double time, std::int64_t step, const std::string& tag, const std::string& text) {
  constexpr std::uint64_t kString = 7;  // DataType.DT_STRING
  constexpr std::uint64_t kTensor = 2;  // DataClass.DATA_CLASS_TENSOR
  const Message one = Message().integer(1, 1);
  const Message tensor = Message().integer(1, kString).message(2, Message().message(2, one)).text(8, text);
  const Message metadata = Message().message(1, Message().text(1, "text")).integer(4, kTensor);
  return summary_event(time, step, Message().text(1, tag).message(8, tensor).message(9, metadata));
}

}  // namespace multicard::tensorboard
