#pragma once
/// \file What TensorBoard's event files are made of: tensorflow.Event messages in the protocol buffer wire format
/// (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto), framed as TFRecords.

#include <cstdint>
#include <string>
#include <string_view>

namespace multicard::tensorboard {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
std::uint32_t crc32c(std::string_view bytes);
/// The checksum as TFRecords store it, so that a checksum of data that hold one is no special case.
std::uint32_t masked_crc32c(std::string_view bytes);

/// One TFRecord: length (uint64), its masked CRC, the bytes, their masked CRC; little-endian.
std::string record_of(std::string_view bytes);

/// \name Serialised events. `time`: seconds since 1970
/// @{
/// The first event of every file.
std::string file_version_event(double time);
/// A writer starts at `step`: what earlier files hold from there on no longer counts.
std::string start_event(double time, std::int64_t step);
std::string scalar_event(double time, std::int64_t step, const std::string& tag, float value);
/// Markdown for the text page.
std::string text_event(double time, std::int64_t step, const std::string& tag, const std::string& text);
/// @}

}  // namespace multicard::tensorboard
