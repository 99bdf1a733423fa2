#include "config/Deck.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/NearPath.hpp"
#include "base/RegularFile.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "config/Yaml.hpp"

namespace multicard {

namespace {

/// Keys of which a layer sets one in place of the other.
constexpr std::array<std::pair<const char*, const char*>, 2> kAlternatives{
    {{"run.steps", "run.epochs"}, {"run.batch_per_rank", "run.global_batch"}}};

constexpr const char* kWhereDecksAre =
    "Name a YAML file. 'multicard recipes ls' lists decks for common jobs, 'multicard recipes cp NAME' copies one.";

std::string deck_text(const std::string& path) {
  constexpr std::uint64_t kLongest = 4 << 20;
  if (const auto why = why_unreadable(path))
    throw UsageError(fmt::format("deck {} cannot be read", path), *why,
                     is_there(path) ? kWhereDecksAre : did_you_mean(path, kWhereDecksAre));
  RegularFile file(path);
  if (file.size() > kLongest)
    throw UsageError(fmt::format("deck {} cannot be read", path),
                     fmt::format("its {} bytes exceed the limit for a deck", file.size()), "Name a YAML file.");
  // As much as the limit allows, whatever the size says: the files of /proc say that they are empty.
  std::string text(kLongest, '\0');
  text.resize(file.read(text.data(), text.size()));
  return text;
}

/// Whether a map is the value of a key of a section: names with dots are no paths there.
bool is_map_of_names(const Value& value, const std::string& prefix) {
  return !prefix.empty() && std::any_of(value.keys.begin(), value.keys.end(),
                                        [](const std::string& key) { return key.find('.') != std::string::npos; });
}

void collect_leaves(const Value& map, const std::string& prefix, Deck::Assignments& out) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const std::string path = prefix + map.keys[i];
    if (map.items[i].is_map() && !is_map_of_names(map.items[i], prefix))
      collect_leaves(map.items[i], path + ".", out);
    else
      out.emplace_back(path, map.items[i]);
  }
}

/// The length of a task of a share in the other unit, where `path` is `tasks.N.steps` or `tasks.N.epochs`; else empty.
std::string other_length(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (!path.starts_with("tasks.") || dot == std::string::npos) return "";
  const std::string key = path.substr(dot + 1), task = path.substr(0, dot + 1);
  if (std::count(task.begin(), task.end(), '.') != 2) return "";
  if (key == "steps") return task + "epochs";
  return key == "epochs" ? task + "steps" : "";
}

bool sets(const Value& layer, const std::string& path) {
  const Value* value = layer.find_path(path);
  return value != nullptr && !value->is_null();
}

}  // namespace

Deck Deck::load(const std::string& path, const std::vector<std::string>& overrides) {
  Deck deck = parse(deck_text(path), path);
  deck.apply(parse_overrides(overrides));
  return deck;
}

Deck Deck::parse(const std::string& text, const std::string& name) {
  Deck deck;
  deck.name_ = name;
  Value root = parse_yaml(text, name);
  if (root.is_null()) return deck;
  if (!root.is_map()) throw UsageError(fmt::format("deck {} is not a map of keys to values", name));
  deck.root_ = std::move(root);
  return deck;
}

std::string Deck::to_yaml() const {
  return emit_yaml(root_);
}

std::string Deck::get_text(std::string_view path) const {
  const Value* value = root_.find_path(path);
  return value == nullptr ? "" : emit_inline(*value);
}

void Deck::set(const std::string& path, const std::string& yaml_text) {
  apply({{path, parse_yaml(yaml_text, fmt::format("value of {}", path))}});
}

void Deck::apply(const Assignments& layer) {
  // The layer as a tree, because it may set run.steps by its path or as a part of the map `run`. Of a pair, what
  // earlier layers left is removed only where this layer sets one of the two; where it sets both, both stay, and
  // reading the deck finds the contradiction.
  Value together = Value::map();
  for (const auto& [path, value] : layer) {
    if (!root_.set_path(path, value))
      throw UsageError(fmt::format("deck {}: {} cannot be set", name_, path),
                       "part of the path is a single value in the deck, or the list has no element with that number");
    together.set_path(path, value);
  }
  for (const auto& [one, other] : kAlternatives) {
    if (sets(together, one) && !sets(together, other)) root_.erase_path(other);
    if (sets(together, other) && !sets(together, one)) root_.erase_path(one);
  }
  for (const auto& entry : layer)
    if (const std::string other = other_length(entry.first);
        !other.empty() && !entry.second.is_null() && !sets(together, other))
      root_.erase_path(other);
}

void Deck::merge(const Value& section) {
  // Leaf by leaf, so that the keys of a section which the other deck does not name stay.
  Assignments leaves;
  collect_leaves(section, "", leaves);
  // A section with nothing in it says nothing; it does not empty the section that stands here.
  std::erase_if(leaves, [&](const auto& leaf) {
    const Value* here = root_.find_path(leaf.first);
    return leaf.second.is_null() && here != nullptr && here->is_map();
  });
  apply(leaves);
}

std::string Deck::resolve_path(const std::string& file) const {
  // A path joined to an absolute one is the latter.
  const std::filesystem::path expanded = expand_path(file);
  return (std::filesystem::path(name_).parent_path() / expanded).lexically_normal().string();
}

namespace {

/// A path that exists, or whose folder does; the path of an output need not exist.
bool is_path_here(const std::string& text) {
  const std::size_t slash = text.rfind('/');
  return !text.empty() && (is_there(text) || (slash != std::string::npos && is_folder(text.substr(0, slash))));
}

/// Whether YAML reads a line feed or another control character of an unquoted word as a space.
bool is_folded(const Value& value, const std::string& text) {
  return value.kind == Value::Kind::scalar && value.quoting == Value::Quoting::plain && value.text != text &&
         std::any_of(text.begin(), text.end(), [](unsigned char byte) { return byte < 0x20; });
}

/// What follows the `=`: YAML, unless that would change it (`[1].h5`, `a #b`) and it is a path.
Value override_value(const std::string& text, const std::string& name) {
  const bool is_path = is_path_here(text);
  try {
    Value value = parse_yaml(text, name);
    if (is_folded(value, text)) return Value::scalar(text, Value::Quoting::quoted);
    const bool is_no_value = value.is_null() && !text.starts_with('#');
    if (!is_path || is_no_value || value.text == text) return value;
  } catch (const UsageError&) {
    if (!is_path || !is_valid_utf8(text)) throw;
  }
  return Value::scalar(text, Value::Quoting::quoted);
}

}  // namespace

Deck::Assignments parse_overrides(const std::vector<std::string>& overrides) {
  Deck::Assignments assignments;
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    const std::string path = text.substr(0, equals);
    const auto parts = split(path, '.');
    const bool gap = std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
      return part.empty() || part.find_first_of(" \t") != std::string::npos;
    });
    if (equals == std::string::npos || gap)
      throw UsageError(fmt::format("override '{}' is not of the form key.path=value", text), "",
                       "Write for example run.epochs=2.");
    assignments.emplace_back(path, override_value(text.substr(equals + 1), fmt::format("override '{}'", text)));
  }
  return assignments;
}

}  // namespace multicard
