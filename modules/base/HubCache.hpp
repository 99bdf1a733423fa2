#pragma once
/// \file Models that Hugging Face's programs have fetched, by the names that they have on the hub.

#include <optional>
#include <string>

namespace multicard {

/// Whether a path looks like a name on the hub: "org/name", of letters, digits, '-', '_' and '.'.
bool is_hub_name(const std::string& path);

/// The path itself where something is there or where it is no name on the hub; else the folder with the newest state of
/// that model which Hugging Face's programs have fetched into their cache on this machine, if they have: $HF_HUB_CACHE,
/// else $HF_HOME/hub, else ~/.cache/huggingface/hub. Nothing is fetched.
std::string model_folder(const std::string& path);

/// The name on the hub of a folder in that cache; nothing for other folders.
std::optional<std::string> hub_name_of(const std::string& folder);

/// `otherwise`, and for a path that looks like a name on the hub and is not there how to fetch it.
std::string suggest_fetching(const std::string& path, const std::string& otherwise);

}  // namespace multicard
