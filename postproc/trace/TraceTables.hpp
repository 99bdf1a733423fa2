#pragma once
/// \file The tables of profiles, for all outputs.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "postproc/page/Html.hpp"
#include "profile/Profile.hpp"

namespace multicard::post {

/// One table of all ranks. Ranks are in the order of the profiles, and rows in that of their table.
struct ProfileTable {
  std::string id;                              ///< name of its CSV file, key in JSON
  std::string heading;                         ///< "Calls of the CUDA runtime and driver"
  HtmlTable page;                              ///< at most kMostRowsOfAPage rows of each rank
  std::vector<std::vector<std::string>> text;  ///< the header and at most `most` rows of each rank
  std::string csv;                             ///< all rows
  nlohmann::ordered_json json;                 ///< all rows
};

inline constexpr std::size_t kMostRowsOfAPage = 100;

/// All tables. Those without a row are there too, so that programs find them.
/// \param most rows of each rank in `text`
std::vector<ProfileTable> profile_tables(const std::vector<Profile>& profiles, std::size_t most);

}  // namespace multicard::post
