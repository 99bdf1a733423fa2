#include "Recipes.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

std::string text_of_file(const fs::path& path) {
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw DataError(fmt::format("{} cannot be read", path.string()), "", "Install multicard again.");
  return text;
}

/// The first sentence of the comment at the top, which may go over several lines.
std::string first_sentence(const std::string& deck) {
  std::istringstream lines(deck);
  std::string line, text;
  while (std::getline(lines, line) && line.starts_with("# ") && !line.starts_with("#   ")) {
    text += (text.empty() ? "" : " ") + line.substr(2);
    std::size_t end = text.find(". ");
    while (end != std::string::npos && text[end - 1] == '.')  // of "1, 2, ... GPUs"
      end = text.find(". ", end + 1);
    if (end != std::string::npos) return text.substr(0, end + 1);
    if (text.ends_with('.')) break;
  }
  return text;
}

std::vector<fs::path> decks_below(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
    if (entry.is_regular_file() && entry.path().extension() == ".yaml") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string name_of(const fs::path& inputs, const fs::path& deck) {
  return deck.lexically_relative(inputs).replace_extension().generic_string();
}

/// What `deck` refers to by a path of its own folder: from the text, whose comments and layout a copy keeps.
std::vector<std::string> references_in(const std::string& deck) {
  static const std::regex pattern(R"((?:^|[{ ])(?:base|deck|table): ([^,}\s]+))");
  std::vector<std::string> found;
  std::istringstream lines(deck);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), pattern), end; at != end; ++at)
      found.push_back((*at)[1]);
  }
  return found;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Paths of the source tree that a deck's comments and values name: those of files that are installed become theirs.
std::string with_installed_paths(const std::string& text, const fs::path& root) {
  static const std::regex pattern(R"((^|[^\w/.])((?:inputs|scripts|tests)/[\w/.-]*\w))");
  std::string out;
  auto last = text.begin();
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    std::error_code ignored;
    const fs::path there = root / (*at)[2].str();
    out.append(last, (*at)[2].first);
    out += fs::exists(there, ignored) ? there.string() : (*at)[2].str();
    last = (*at)[2].second;
  }
  return out.append(last, text.end());
}

/// Collects a deck and what it refers to.
class Copies {
 public:
  Copies(fs::path inputs, fs::path folder) : inputs_(std::move(inputs)), folder_(std::move(folder)) {}

  void add(const fs::path& from, const fs::path& to) {
    const std::size_t index = files_.size();
    files_.push_back({from, to, text_of_file(from)});
    if (from.extension() != ".yaml") return;
    std::string text = files_[index].text;
    for (const std::string& reference : references_in(text)) {
      const fs::path target = (from.parent_path() / reference).lexically_normal();
      replace_all(text, ": " + reference, ": " + copy_of(target).filename().string());
    }
    files_[index].text = text;
  }

  std::vector<RecipeFile> take() {
    for (RecipeFile& file : files_) {
      if (file.from.extension() != ".yaml") continue;
      for (const RecipeFile& other : files_)
        replace_all(file.text, "inputs/" + other.from.lexically_relative(inputs_).generic_string(), other.to.string());
      file.text = with_installed_paths(file.text, inputs_.parent_path());
    }
    return std::move(files_);
  }

 private:
  /// Where the copy of `target` is, which is added if there is none yet. Two decks may have one file name.
  fs::path copy_of(const fs::path& target) {
    for (const RecipeFile& file : files_)
      if (file.from == target) return file.to;
    const auto is_taken = [&](const fs::path& path) {
      return std::any_of(files_.begin(), files_.end(), [&](const RecipeFile& file) { return file.to == path; });
    };
    fs::path to = folder_ / target.filename();
    if (is_taken(to))
      to = folder_ / fmt::format("{}_{}", target.parent_path().filename().string(), target.filename().string());
    add(target, to);
    return to;
  }

  fs::path inputs_, folder_;
  std::vector<RecipeFile> files_;
};

/// A copy must neither replace a file nor be one of something else.
void require_free(const std::vector<RecipeFile>& files) {
  for (const RecipeFile& file : files) {
    if (!fs::exists(file.to)) continue;
    const bool is_asked_for = &file == &files.front();
    if (!is_asked_for && text_of_file(file.to) == file.text) continue;  // of another recipe, and unchanged
    throw UsageError(
        fmt::format("{} exists", file.to.string()),
        is_asked_for ? "it would be replaced" : fmt::format("{} needs it", files.front().from.filename().string()),
        "Name another file or folder: multicard recipes cp NAME DEST");
  }
}

}  // namespace

std::string command_for(DeckKind kind) {
  switch (kind) {
    case DeckKind::run:
      return "multicard run";
    case DeckKind::sweep:
      return "multicard sweep";
    case DeckKind::share:
      return "multicard share";
    case DeckKind::plan:
      return "multicard plan";
  }
  return {};
}

std::vector<Recipe> recipes_in(const fs::path& inputs) {
  std::vector<Recipe> recipes;
  for (const fs::path& path : decks_below(inputs)) {
    const std::string name = name_of(inputs, path);
    if (name.starts_with("tests/")) continue;
    try {
      const std::string text = text_of_file(path);
      if (const auto found = kind_of(Deck::parse(text, path.string())))
        recipes.push_back({name, found->kind, first_sentence(text)});
    } catch (const Error& error) {
      // No deck, such as a task that arrives at a share, or one that is still being written there.
      log_warning(error.what());
    }
  }
  return recipes;
}

namespace {

/// Whether this deck is a recipe, without a look at the others.
bool is_recipe(const fs::path& inputs, const std::string& name) {
  const fs::path path = (inputs / name).concat(".yaml").lexically_normal();
  if (name.starts_with("tests/") || name_of(inputs, path) != name || name.starts_with("../")) return false;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  try {
    return kind_of(Deck::parse(text_of_file(path), path.string())).has_value();
  } catch (const Error&) {
    return false;  // the list of all says why
  }
}

[[noreturn]] void refuse_name(const fs::path& inputs, const std::string& name) {
  std::vector<std::string> names, same;
  for (const Recipe& recipe : recipes_in(inputs))
    names.push_back(recipe.name);
  // "tiny" alone may be of images or of a share.
  std::copy_if(names.begin(), names.end(), std::back_inserter(same),
               [&](const std::string& other) { return other.ends_with("/" + name); });
  const std::optional<std::string> near = same.empty() ? nearest(name, names) : same.front();
  throw UsageError(
      fmt::format("there is no recipe '{}'", name),
      same.size() > 1 ? fmt::format("there are {}", join(same, " and ")) : "",
      near ? fmt::format("Did you mean multicard recipes cp {}?", *near) : "multicard recipes ls lists them.");
}

}  // namespace

std::vector<RecipeFile> copies_of(const fs::path& inputs, const std::string& name, const fs::path& to) {
  if (!is_recipe(inputs, name)) refuse_name(inputs, name);
  std::error_code ignored;
  const bool is_folder = fs::is_directory(to, ignored) || to.filename().empty();
  const fs::path from = (inputs / name).concat(".yaml"), file = is_folder ? to / from.filename() : to;
  Copies copies(inputs, file.parent_path());
  copies.add(from, file);
  std::vector<RecipeFile> files = copies.take();
  require_free(files);
  return files;
}

}  // namespace multicard
