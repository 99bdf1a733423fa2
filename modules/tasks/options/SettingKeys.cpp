#include "tasks/options/SettingKeys.hpp"

#include <string>

#include "tasks/options/RunOptions.hpp"

namespace multicard {

std::vector<SettingKey> known_setting_keys() {
  std::vector<SettingKey> keys;
  for (const DeckKey& key : run_keys())
    keys.push_back({std::string(key.path), std::string(key.label), std::string(text_of(key.effect))});
  return keys;
}

}  // namespace multicard
