#pragma once
/// \file Where what is installed with the program is.

#include <filesystem>
#include <optional>

namespace multicard {

/// The folder with the shipped decks: share/multicard/inputs of the installation that the program is in, or inputs of
/// its source tree or bundle; else that of MULTICARD_ROOT. None: it was moved away from them.
std::optional<std::filesystem::path> inputs_folder();

}  // namespace multicard
