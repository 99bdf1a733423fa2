#include <algorithm>

#include <fmt/format.h>

#include "Installation.hpp"
#include "Recipes.hpp"
#include "RecipesLine.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "io/Bytes.hpp"

namespace multicard {

namespace {

std::filesystem::path shipped_inputs() {
  if (const auto folder = inputs_folder()) return *folder;
  throw EnvironmentError("the shipped decks were not found",
                         "they are neither next to the program nor in MULTICARD_ROOT",
                         "Set MULTICARD_ROOT to share/multicard of the installation, or to the source tree.");
}

std::string list(const std::string& about) {
  constexpr std::size_t kGap = 2;
  std::vector<Recipe> recipes = recipes_in(shipped_inputs());
  std::erase_if(recipes, [&](const Recipe& recipe) {
    return fmt::format("{} {} {}", recipe.name, command_for(recipe.kind), recipe.what).find(about) == std::string::npos;
  });
  if (recipes.empty())
    throw UsageError(fmt::format("no recipe is about '{}'", about), "", "multicard recipes ls lists all of them.");
  std::size_t names = 0, commands = 0;
  for (const Recipe& recipe : recipes) {
    names = std::max(names, recipe.name.size());
    commands = std::max(commands, command_for(recipe.kind).size());
  }
  std::string out;
  for (const Recipe& recipe : recipes) {
    const std::string line =
        fmt::format("{:<{}}  {:<{}}  {}", recipe.name, names, command_for(recipe.kind), commands, recipe.what);
    const auto columns = output_columns();
    out += (columns ? wrapped(line, *columns - 1, names + commands + 2 * kGap) : line) + "\n";
  }
  return out;
}

void copy(const RecipesArguments& arguments) {
  const std::vector<RecipeFile> files = copies_of(shipped_inputs(), arguments.name, arguments.destination);
  for (const RecipeFile& file : files)
    if (!std::filesystem::exists(file.to)) write_file(file.to.string(), file.text);
  for (const RecipeFile& file : files)
    print(file.to.string() + "\n");
  const Deck deck = Deck::parse(files.front().text, files.front().to.string());
  if (const auto kind = kind_of(deck))
    log_info(fmt::format("Its comments say what it needs. Start: {} {}", command_for(kind->kind), deck.name()));
}

}  // namespace

ExitCode recipes_command(const RecipesArguments& arguments, const Communicator& world) {
  agreed(world, [&] {
    if (!world.is_root()) return;
    if (arguments.name.empty())
      print(list(arguments.about));
    else
      copy(arguments);
  });
  return ExitCode::complete;
}

}  // namespace multicard
