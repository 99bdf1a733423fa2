#include "RecipesLine.hpp"

#include <memory>

namespace multicard {

void add_recipes(CLI::App& app, Command& command) {
  CLI::App* recipes = app.add_subcommand("recipes", "List the shipped decks, or copy one to start from");
  recipes->require_subcommand(1);
  auto arguments = std::make_shared<RecipesArguments>();
  const auto run = [&command, arguments] {
    command.run = [arguments](const Communicator& world) { return recipes_command(*arguments, world); };
  };
  CLI::App* ls = recipes->add_subcommand("ls", "A line for each deck: its name, its command, and what it does");
  ls->add_option("word", arguments->about, "Only those with this word in name, command or text");
  ls->callback(run);
  CLI::App* cp = recipes->add_subcommand("cp", "Copy a deck and the decks that it refers to");
  cp->add_option("name", arguments->name, "Name of the recipe, as ls shows it")->required();
  cp->add_option("dest", arguments->destination, "File or folder; nothing is replaced")->capture_default_str();
  cp->callback(run);
}

}  // namespace multicard
