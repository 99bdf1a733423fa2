// Values of sections that are maps and lists of maps.

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/Number.hpp"
#include "config/RangeText.hpp"
#include "config/Scalar.hpp"
#include "config/SectionRecord.hpp"

namespace multicard {

const Value* Section::Record::at(const std::string& path) const {
  if (path.empty()) return &deck.root();
  for (const std::string& list : lists) {
    if (!path.starts_with(list + ".")) continue;
    const Value* maps = deck.root().find_path(list);
    // Maps of a list only: a section inside one of them is not read as a Section.
    const auto number = parse_number<std::size_t>(path.substr(list.size() + 1));
    const bool is_there = maps != nullptr && number && *number >= 1 && *number <= maps->items.size();
    return is_there ? &maps->items[*number - 1] : nullptr;
  }
  return deck.root().find_path(path);
}

std::vector<Section> Section::sections(const std::string& key) {
  const Value* value = find(key);
  std::vector<Section> all;
  if (value == nullptr) return all;
  const auto is_map = [](const Value& item) { return item.is_map(); };
  if (value->kind != Value::Kind::list || !std::all_of(value->items.begin(), value->items.end(), is_map)) {
    wrong_type(key, "a list of sections of keys", *value);
    return all;
  }
  record_->lists.push_back(full(key));
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    all.push_back(Section(record_, fmt::format("{}.{}", full(key), i + 1)));
    record_->known[all.back().path_];
  }
  return all;
}

bool Section::is_list(const std::string& key) {
  const Value* value = find(key);
  return value != nullptr && value->kind == Value::Kind::list;
}

template <class T>
std::vector<std::pair<std::string, T>> Section::numbers_by_name(const std::string& key, T low, T high) {
  note(key, fmt::format("map of names to {}", range_note(Scalar<T>::type, low, high)), "none");
  const Value* map = find(key);
  std::vector<std::pair<std::string, T>> numbers;
  if (map == nullptr) return numbers;
  if (!map->is_map()) {
    wrong_type(key, "a map of names to numbers", *map);
    return numbers;
  }
  // Kept as one value: set_path() would take the dots of a name for a path.
  Value kept = Value::map();
  for (std::size_t i = 0; i < map->keys.size(); ++i) {
    const Value& item = map->items[i];
    const std::optional<T> number = item.kind == Value::Kind::scalar ? Scalar<T>::parse(item) : std::nullopt;
    const std::string name = fmt::format("{}.{}", key, map->keys[i]);
    if (!number) wrong_type(name, Scalar<T>::name, item);
    if (!number) continue;
    if (*number < low || *number > high)
      reject(name, fmt::format("expected {}, got {}", range_text(low, high), *number));
    kept.keys.push_back(map->keys[i]);
    kept.items.push_back(to_value(*number));
    numbers.emplace_back(map->keys[i], *number);
  }
  record_->resolved.set_path(full(key), kept);
  return numbers;
}

Deck Section::resolved() const {
  // Reading has put the elements of lists under their numbers, as set_path() makes maps on its way. They were read in
  // ascending order, so their order is that of the list.
  Value values = record_->resolved;
  for (const std::string& path : record_->lists)
    if (const Value* by_number = values.find_path(path)) {
      Value list = *by_number;
      list.kind = Value::Kind::list;
      list.keys.clear();
      values.set_path(path, list);
    }
  Deck deck = Deck::parse("", record_->deck.name());
  deck.merge(values);
  return deck;
}

template std::vector<std::pair<std::string, int>> Section::numbers_by_name(const std::string&, int, int);
template std::vector<std::pair<std::string, double>> Section::numbers_by_name(const std::string&, double, double);

}  // namespace multicard
