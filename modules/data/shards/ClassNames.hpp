#pragma once
/// \file What identifies the classes and labels of an image set.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace multicard {

/// Names of the texts that identify the images of a checkpoint's training (DataSource::identity_texts).
inline constexpr const char* kClassesText = "classes";
inline constexpr const char* kLabelsText = "labels_sha256";

/// Names of classes (UTF-8) in label order as one text, a JSON list, and back.
/// @{
std::string text_of_classes(const std::vector<std::string>& names);
std::vector<std::string> classes_of_text(const std::string& text);
/// @}

/// SHA-256 of the labels as little-endian int32, in the order of the rows.
std::string digest_of_labels(std::span<const std::int32_t> labels);

/// Gives `labels`, which are places in `found`, the places that their names have in `wanted`. `files` names the set.
/// \throws DataError, as all ranks do, for a name that occurs and that `wanted` has not exactly once
void map_labels(std::span<std::int32_t> labels, const std::vector<std::string>& found,
                const std::vector<std::string>& wanted, const std::string& files);

}  // namespace multicard
