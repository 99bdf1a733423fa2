#pragma once
/// \file The tables of profiles, for all outputs.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "postproc/page/Columns.hpp"
#include "postproc/page/Html.hpp"
#include "profile/Profile.hpp"

namespace multicard::post {

/// One table of all ranks. Ranks are in the order of the profiles, and rows in that of their table. Outputs that are
/// not asked for are empty.
struct ProfileTable {
  std::string id;                              ///< name of its CSV file, key in JSON
  std::string heading;                         ///< "Calls of the CUDA runtime and driver"
  HtmlTable page;                              ///< at most kMostRowsOfAPage rows of each rank
  std::vector<std::vector<std::string>> text;  ///< the header and at most TableWishes::most rows of each rank
  std::string csv;                             ///< all rows
  nlohmann::ordered_json json;                 ///< all rows
};

/// The rank of what is added up over all: its tables have no column of ranks.
inline constexpr std::int64_t kAllRanks = -1;
inline constexpr std::size_t kMostRowsOfAPage = 100;

/// What tables are made for: of many ranks each output is large.
struct TableWishes {
  Outputs outputs = 0;
  std::size_t most = 0;   ///< rows of each rank in `text`
  std::string only = {};  ///< this table; empty: all
};

/// All tables. Those without a row are there too, so that programs find them.
std::vector<ProfileTable> profile_tables(const std::vector<const Profile*>& profiles, const TableWishes& wishes);

}  // namespace multicard::post
