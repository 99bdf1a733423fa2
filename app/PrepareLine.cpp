#include "PrepareLine.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "Commands.hpp"
#include "OptionWords.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"

namespace multicard {

namespace {

void add_prepare_text(CLI::App& prepare, Command& command) {
  auto options = std::make_shared<TextPrepareOptions>();
  CLI::App* text =
      prepare.add_subcommand("text", "Token shards from instructions, conversations, texts or preferences");
  const auto type = std::make_shared<std::string>(), loss = std::make_shared<std::string>();
  text->add_option("--type", *type, "What the records are")
      ->type_name(one_of(texts_of<DatasetType>(kDatasetTypeWords)))
      ->required();
  text->add_option("--in", options->inputs,
                   "JSON arrays, JSON lines or tables (.csv, .tsv); text also takes plain files; .gz or plain")
      ->required();
  text->add_option("--map", options->map,
                   "Names in the data: FIELD=THEIRS, message:FIELD=THEIRS or role:ROLE=THEIRS, e.g. instruction=prompt")
      ->allow_extra_args(false);
  text->add_option("--tokenizer", options->tokenizer, "Model folder, or a tokenizer.json or tiktoken file");
  text->add_option("--template", options->prompt_template,
                   "alpaca, llama3, chatml, mistral, plain, ...; default: the tokenizer folder's "
                   "chat template, else alpaca")
      ->type_name("NAME");
  text->add_option("--date", options->date, "Date that the chat template writes, YYYY-MM-DD (default: 2024-07-26)");
  text->add_option("-o,--output", options->output, "Prefix of the shards: PREFIX-00000-of-0000K.h5")->required();
  text->add_option("--shards", options->num_shards, "Number of shards")->capture_default_str();
  text->add_option("--max-length", options->max_length,
                   "Maximum tokens per sequence: longer ones are truncated, plain texts are split");
  text->add_option("--loss", *loss, "completion (default): train on answers; all: on prompts too")
      ->type_name(one_of(texts_of<LossOn>(kLossOnWords)));
  text->add_option("--split", options->split,
                   "Put this fraction, chosen by a seed, into PREFIX-test-*, the rest into PREFIX-train-*");
  text->add_flag("--skip-bad", options->skip_bad, "Skip records that cannot be read, count and list them");
  text->callback([&command, options, type, loss] {
    command.run = [options, type, loss](const Communicator& world) {
      // Words are read when the command runs: all ranks then refuse them together, with the nearest word.
      agreed(world, [&] {
        options->type = dataset_type(*type);
        if (!loss->empty()) options->loss = loss_on(*loss);
      });
      return prepare_text_command(*options, world);
    };
  });
}

}  // namespace

void add_prepare(CLI::App& app, Command& command) {
  CLI::App* prepare = app.add_subcommand("prepare", "Write input shards, all ranks together");
  prepare->require_subcommand(1);
  auto options = std::make_shared<PrepareOptions>();
  CLI::App* images = prepare->add_subcommand(
      "images", "Image shards from IDX, class folders, CIFAR binaries, Parquet or synthetic images");
  const auto format = std::make_shared<std::string>();
  images->add_option("--format", *format, "Format of the images")
      ->type_name(one_of(texts_of<ImageFormat>(kImageFormatWords)))
      ->required();
  images->add_option("--images", options->images,
                     "idx: image file (.gz or plain); cifar, parquet: a file or a glob of them");
  images->add_option("--labels", options->labels, "idx: label file (.gz or plain)");
  images->add_option("--dir", options->dir, "folder: one sub-folder per class; cifar: the folder of *.bin");
  images->add_option("--columns", options->columns, "parquet: the columns of images and of labels, IMAGE,LABEL")
      ->delimiter(',');
  images->add_option("-o,--output", options->output, "Prefix of the shards: PREFIX-00000-of-0000K.h5")->required();
  images->add_option("--shards", options->num_shards, "Number of shards")->capture_default_str();
  images->add_option("--size", options->size, "Resize to SIZE x SIZE (antialiased); synthetic: which size to generate");
  images->add_option("--limit", options->limit, "Only the first N images; synthetic: how many images to generate");
  images->add_option("--classes", options->classes,
                     "Number of classes (labels are checked); synthetic: how many classes to generate");
  images->add_option("--class-names", options->class_names, "Names of the classes, in label order")->delimiter(',');
  images->add_option("--split", options->split,
                     "Put this fraction, chosen by a seed, into PREFIX-test-*, the rest into PREFIX-train-*");
  images->add_flag("--skip-bad", options->skip_bad, "Skip unreadable images, count and list them");
  images->callback([&command, options, format] {
    command.run = [options, format](const Communicator& world) {
      agreed(world, [&] { options->format = image_format(*format); });
      return prepare_images_command(*options, world);
    };
  });
  add_prepare_text(*prepare, command);
}

}  // namespace multicard
