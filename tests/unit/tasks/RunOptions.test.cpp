#include "tasks/options/RunOptions.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "base/Text.hpp"
#include "config/Section.hpp"
#include "support/expect_error.hpp"

namespace multicard {
namespace {

using test::message_of;

RunOptions options_of(const std::string& text) {
  return read_run_options(Deck::parse(text, "x.yaml"));
}

std::string complaint(const std::string& text) {
  return message_of<UsageError>([&] { options_of(text); });
}

TEST(RunOptions, HasTheDocumentedDefaults) {
  const RunOptions options = options_of("");
  EXPECT_EQ(options.model.name, "mobilenet_v2");
  EXPECT_EQ(options.model.classes, std::nullopt);
  EXPECT_EQ(options.model.dropout, std::nullopt);
  EXPECT_EQ(options.data.train, "data/fashion/train*.h5");
  EXPECT_EQ(options.data.test, "data/fashion/test*.h5");
  EXPECT_EQ(options.data.image_size, 100);
  EXPECT_EQ(options.data.workers, std::nullopt);
  EXPECT_EQ(options.optimizer.learning_rate, 0.05);
  EXPECT_EQ(options.optimizer.momentum, 0);
  EXPECT_EQ(options.optimizer.weight_decay, 0);
  EXPECT_EQ(options.schedule.name, ScheduleName::constant);
  EXPECT_EQ(options.schedule.warmup_steps, 0);
  EXPECT_EQ(options.run.epochs, 1);
  EXPECT_EQ(options.run.steps, std::nullopt);
  EXPECT_EQ(options.run.global_batch, 64);
  EXPECT_EQ(options.run.wall_limit, std::nullopt);
  EXPECT_EQ(options.run.timeout_s, 300);
  EXPECT_EQ(options.evaluate.every_epochs, 1);
  EXPECT_EQ(options.profile.skip_steps, 5);
}

TEST(RunOptions, ReadsAWholeDeck) {
  const RunOptions options = options_of(R"(
task: image
model: {name: mobilenet_v2, width: 0.25, classes: 10, dropout: 0, weights: w.safetensors, freeze_batch_norm: true}
data: {train: "a*.h5", test: "b*.h5", image_size: 32, pipeline: host, layout: nchw, pin_memory: false, workers: 3,
       prefetch: 4, shuffle: false, normalize: {mean: 0.5, std: 0.25}, limit: 1000, drop_last: true}
parallel: {strategy: ddp-ds, backend: mpi, bucket_mb: 2.5, overlap: false, sync_batch_norm: true, gradient_dtype: same}
precision: fp32
optimizer: {name: adamw, learning_rate: 1e-3, weight_decay: 0.01, betas: [0.8, 0.95], eps: 1e-6, clip_norm: 1}
schedule: {name: cosine, warmup_steps: 50, total_steps: 500, min_factor: 0.1}
run: {output: out, steps: 30, batch_per_rank: 16, micro_batch: 4, seed: 7, device: cpu, deterministic: true,
      log_every: 5, checkpoint_every: 10, keep_checkpoints: 1, resume: never, wall_limit: 0:30:00, timeout_s: 20}
evaluate: {every_steps: 10, every_epochs: 0, at_start: true, limit: 100}
profile: {enabled: false, skip_steps: 2, steps: 10, trace: false}
)");

  EXPECT_EQ(options.model.width, 0.25);
  EXPECT_EQ(options.model.classes, 10);
  EXPECT_EQ(options.model.dropout, 0.0);
  EXPECT_EQ(options.model.weights, "w.safetensors");
  EXPECT_TRUE(options.model.freeze_batch_norm);
  EXPECT_EQ(options.data.layout, ImageLayout::nchw);
  EXPECT_EQ(options.data.workers, 3);
  EXPECT_EQ(options.data.normalize.value().mean, std::vector<double>{0.5});
  EXPECT_EQ(options.data.normalize.value().std, std::vector<double>{0.25});
  EXPECT_EQ(options.data.limit, 1000);
  EXPECT_EQ(options.parallel.bucket_mb, 2.5);
  EXPECT_FALSE(options.parallel.overlap);
  EXPECT_EQ(options.optimizer.name, OptimizerName::adamw);
  EXPECT_EQ(options.optimizer.beta1, 0.8);
  EXPECT_EQ(options.optimizer.beta2, 0.95);
  EXPECT_EQ(options.optimizer.clip_norm, 1.0);
  EXPECT_EQ(options.schedule.total_steps, 500);
  EXPECT_EQ(options.run.steps, 30);
  EXPECT_EQ(options.run.batch_over(3), 48);
  EXPECT_EQ(options.run.micro_batch, 4);
  EXPECT_EQ(options.run.wall_limit, 1800.0);
  EXPECT_EQ(options.evaluate.every_steps, 10);
  EXPECT_TRUE(options.evaluate.at_start);
  EXPECT_EQ(options.profile.skip_steps, 2);
}

TEST(RunOptions, NamesAMistypedKeyInEverySection) {
  for (const char* section : {"model", "data", "parallel", "optimizer", "schedule", "run", "evaluate", "profile"}) {
    const std::string message = message_of<UnknownKeyError>([&] { options_of(std::string(section) + ": {qqqq: 1}"); });
    EXPECT_NE(message.find(std::string(section) + ".qqqq: unknown key"), std::string::npos) << message;
  }
  EXPECT_NE(complaint("optimiser: {name: sgd}").find("Did you mean optimizer?"), std::string::npos);
  EXPECT_NE(complaint("data: {normalize: {mean: 1, sdt: 1}}").find("Did you mean std?"), std::string::npos);
}

TEST(RunOptions, KnowsWhatOtherProgramsCallItsKeys) {
  const std::string text = "task: llm\nmodel: {path: m}\ndata: {train: t.h5}\n";
  EXPECT_NE(complaint(text + "method: {r: 8}").find("Did you mean rank?"), std::string::npos);
  EXPECT_NE(complaint("data: {channels_last: 1}").find("Did you mean layout?"), std::string::npos);
  EXPECT_NE(complaint("model: {rank: 1}").find("Did you mean method.rank (of task llm)?"), std::string::npos);
  EXPECT_NE(complaint(text + "method: {lora_alpha: 8}").find("Did you mean alpha?"), std::string::npos);
  EXPECT_NE(complaint(text + "method: {target_modules: a}").find("Did you mean targets?"), std::string::npos);
  EXPECT_NE(complaint("optimizer: {lr: 1}").find("Did you mean learning_rate?"), std::string::npos);
  EXPECT_NE(
      complaint(text + "run: {gradient_checkpointing: true}").find("Did you mean model.activation_checkpointing?"),
      std::string::npos);
  EXPECT_EQ(complaint("model: {lora_alpha: 8}").find("Did you mean method"), std::string::npos);  // of an image deck
  EXPECT_NE(complaint("precision: bfloat16").find("got 'bfloat16'. Did you mean bf16?"), std::string::npos);
}

TEST(RunOptions, RefusesValuesOutOfRange) {
  for (const char* bad : {"data: {image_size: 0}",
                          "data: {image_size: 4097}",
                          "optimizer: {learning_rate: 0}",
                          "optimizer: {learning_rate: -1}",
                          "optimizer: {momentum: 1}",
                          "optimizer: {momentum: -0.1}",
                          "optimizer: {betas: [0.9]}",
                          "optimizer: {betas: [0.9, 1.0]}",
                          "optimizer: {clip_norm: 0}",
                          "optimizer: {name: adam}",
                          "schedule: {min_factor: 1.5}",
                          "schedule: {warmup_steps: -1}",
                          "schedule: {name: step}",
                          "schedule: {step_size: 3}",
                          "run: {global_batch: 0}",
                          "run: {epochs: 0}",
                          "run: {steps: 0}",
                          "run: {seed: -1}",
                          "run: {device: gpu}",
                          "run: {timeout_s: 0}",
                          "run: {log_every: 0}",
                          "run: {output: ''}",
                          "model: {dropout: 1}",
                          "model: {width: 0}",
                          "model: {classes: 1}",
                          "data: {normalize: {mean: [0.1, 0.2, 0.3], std: 1}}",
                          "data: {normalize: {mean: 0, std: 0}}",
                          "data: {normalize: {mean: [0.1, 0.2], std: [0.1, 0.2]}}",
                          "data: {normalize: {mean: 123.7, std: 1}}",
                          "data: {normalize: {mean: 0.5, std: 58.4}}",
                          "evaluate: {limit: 0}"})
    EXPECT_THROW(options_of(bad), UsageError) << bad;
}

TEST(RunOptions, RefusesKeysThatContradictEachOther) {
  EXPECT_EQ(complaint("run: {steps: 3, epochs: 1}"),
            "deck x.yaml, run.steps: is set together with run.epochs (each replaces the other) "
            "Remove one, or set one of them to null.");
  EXPECT_NE(complaint("run: {batch_per_rank: 3, global_batch: 1}").find("run.global_batch"), std::string::npos);
  EXPECT_NE(complaint("optimizer: {name: adamw, momentum: 0.9}").find("belongs to sgd"), std::string::npos);
  EXPECT_NE(complaint("optimizer: {nesterov: true}").find("needs a momentum"), std::string::npos);
  EXPECT_EQ(options_of("run: {steps: 3, epochs: null}").run.steps, 3);
}

TEST(RunOptions, ReadsAugmentation) {
  const AugmentOptions augment =
      options_of("data: {augment: {horizontal_flip: 0.5, random_resized_crop: [0.3, 1]}}").data.augment;

  EXPECT_EQ(augment.horizontal_flip, 0.5);
  EXPECT_EQ(std::pair(augment.crop->scale_min, augment.crop->scale_max), std::pair(0.3, 1.0));
  EXPECT_EQ(std::pair(augment.crop->ratio_min, augment.crop->ratio_max), std::pair(3.0 / 4, 4.0 / 3));
  EXPECT_NE(complaint("data: {augment: {random_resized_crop: [1, 0.3]}}").find("two rising numbers"),
            std::string::npos);
  EXPECT_NE(complaint("data: {augment: {crop_ratio: [1, 2]}}").find("belongs to a crop"), std::string::npos);
}

TEST(RunOptions, RefusesKeysThatDoNotFitTogether) {
  EXPECT_NE(complaint("precision: fp64\nparallel: {gradient_dtype: bf16}").find("precision is fp64"),
            std::string::npos);
  EXPECT_NE(complaint("data: {train: mine.h5}\nrun: {keep_best: true}").find("data.test is not set"),
            std::string::npos);
  EXPECT_NE(complaint("run: {keep_best: true, keep_checkpoints: 0}").find("no checkpoint is written"),
            std::string::npos);
}

TEST(RunOptions, EvaluatesOnlyWhereThereAreTestShards) {
  const RunOptions options = options_of("data: {train: mine.h5}");

  EXPECT_EQ(options.data.test, std::nullopt);
  EXPECT_EQ(options.evaluate.every_epochs, 0);
  EXPECT_EQ(complaint("data: {train: mine.h5}\nevaluate: {at_start: true}"),
            "deck x.yaml, evaluate.at_start: there is nothing to evaluate on (data.test is not set) "
            "Name the test shards.");
}

const std::string kTextDeck = "task: llm\nmodel: {path: m}\ndata: {train: t.h5}\n";

TEST(RunOptions, SaysWhatThisVersionDoesNotHave) {
  EXPECT_EQ(complaint("run: {cuda_graph: true}"),
            "deck x.yaml, run.cuda_graph: true is not available in this version (available: auto, false)");
  EXPECT_EQ(complaint(kTextDeck + "method: {name: dora}"),
            "deck x.yaml, method.name: expected one of full | lora | qlora | dpo | lora-dpo | qlora-dpo | qat | "
            "lora-qat, got 'dora'. Did you mean lora?");
}

TEST(RunOptions, NamesTheTaskThatAKeyBelongsTo) {
  EXPECT_EQ(complaint("model: {adapter: dir}"),
            "deck x.yaml, model.adapter: belongs to task llm (this deck's is image)");
  EXPECT_EQ(complaint("method: {name: lora}"), "deck x.yaml, method: belongs to task llm (this deck's is image)");
  EXPECT_EQ(complaint(kTextDeck + "optimizer: {label_smoothing: 0.1}"),
            "deck x.yaml, optimizer.label_smoothing: belongs to task image (this deck's is llm)");
}

TEST(RunOptions, TakesNullsForAbsentWhicheverTaskHasTheKey) {
  const std::string needed[] = {"task", "model.path", "data.train"};
  for (const DeckKey& key : run_keys()) {
    const std::string path(key.path);
    if (std::count(path.begin(), path.end(), '.') > 1) continue;  // a section that is there needs what is in it
    Deck image = Deck::parse("", "x.yaml"), language = Deck::parse(kTextDeck, "x.yaml");
    image.set(path, "null");
    if (!path.starts_with("method.")) {  // a section is more than a null
      EXPECT_NO_THROW(read_run_options(image)) << path;
    }
    if (std::find(std::begin(needed), std::end(needed), path) != std::end(needed)) continue;
    language.set(path, "null");
    EXPECT_NO_THROW(read_run_options(language)) << path;
  }
  EXPECT_NO_THROW(options_of("method: null\nevaluate: {questions: null}\n"));
}

TEST(RunOptions, ReadsALanguageDeck) {
  const RunOptions options = options_of(
      "task: llm\nmodel: {path: m, dtype: fp32, activation_checkpointing: true}\n"
      "method: {rank: 8, alpha: 4, dropout: 0.1, rslora: true, targets: [q_proj, v_proj]}\n"
      "data: {train: t.h5, packing: true, max_length: 512, overlong: drop}\n");

  EXPECT_TRUE(options.is_language());
  EXPECT_EQ(options.model.path, "m");
  EXPECT_TRUE(options.model.activation_checkpointing);
  EXPECT_EQ(options.precision, Precision::fp32);  // of the frozen weights
  EXPECT_EQ(options.method.name, TuningMethod::lora);
  EXPECT_EQ(options.method.rank, 8);
  EXPECT_EQ(options.method.alpha, 4);
  EXPECT_EQ(options.method.dropout, 0.1);
  EXPECT_TRUE(options.method.rslora);
  EXPECT_EQ(options.method.targets, (std::vector<std::string>{"q_proj", "v_proj"}));
  EXPECT_TRUE(options.data.packing);
  EXPECT_EQ(options.data.max_length, 512);
  EXPECT_EQ(options.data.overlong, Overlong::drop);
  EXPECT_EQ(options_of(kTextDeck + "precision: fp32").precision, Precision::fp32);
  EXPECT_EQ(options_of(kTextDeck).precision, Precision::bf16);
}

TEST(RunOptions, QuantisesTheBaseOfQloraAlone) {
  const auto format_of = [](const std::string& method) {
    return options_of(kTextDeck + "method: " + method + "\n").method.weight_format();
  };

  EXPECT_FALSE(format_of("{name: lora}").is_quantised());
  EXPECT_TRUE(format_of("{name: qlora}").is_quantised());
  EXPECT_EQ(format_of("{name: qlora}").nested, DoubleQuantisation::on);
  EXPECT_EQ(format_of("{name: qlora, block_size: 64, double_quant: false}").nested, DoubleQuantisation::off);
  EXPECT_NE(complaint(kTextDeck + "method: {name: lora, double_quant: false}\n").find("belongs to qlora"),
            std::string::npos);
  EXPECT_NE(complaint(kTextDeck + "method: {name: qlora, block_size: 128}\n").find("method.block_size"),
            std::string::npos);
}

TEST(RunOptions, TrainsInBfloat16WhereThatMakesSense) {
  const std::string deck = "task: llm\nmodel: {path: m, trainable_dtype: bf16}\ndata: {train: t.h5, cache: ram}\n";

  EXPECT_EQ(options_of(deck).model.trainable_dtype, WeightDtype::bf16);
  EXPECT_EQ(options_of(deck).data.reading.keep, KeepRows::in_memory);
  EXPECT_EQ(options_of(kTextDeck).model.trainable_dtype, WeightDtype::fp32);
  EXPECT_EQ(complaint(deck + "precision: fp16"),
            "deck x.yaml, model.trainable_dtype: bf16 is for precision bf16, tf32 and fp32 (precision is fp16) "
            "Set it to fp32.");
  EXPECT_NE(complaint(deck + "parallel: {gradient_dtype: fp16}").find("fp16 is for float32 gradients"),
            std::string::npos);
  EXPECT_NE(complaint(deck + "run: {ema_decay: 0.9}").find("an average in bfloat16 would not change"),
            std::string::npos);
  EXPECT_EQ(options_of(deck + "parallel: {gradient_dtype: bf16}").parallel.gradient_dtype, CommDtype::bf16);
}

TEST(RunOptions, RefusesLanguageDecksThatContradictThemselves) {
  EXPECT_EQ(complaint("task: llm\ndata: {train: t.h5}"), "deck x.yaml, model.path: is missing");
  EXPECT_EQ(complaint("task: llm\nmodel: {path: m}"), "deck x.yaml, data.train: is missing");
  EXPECT_EQ(complaint("task: llm\nmodel: {path: m}\ndata: {train: t.h5, packing: true}"),
            "deck x.yaml, data.packing: needs data.max_length (a pack holds at most that many tokens) "
            "Set it, e.g. to 2048.");
  EXPECT_EQ(complaint(kTextDeck + "method: {name: full, rank: 4}"),
            "deck x.yaml, method.rank: belongs to adapters (method.name is full) "
            "Remove it, or replace the whole section with method={name: full}.");
  EXPECT_EQ(complaint("task: llm\nmodel: {path: m, adapter: a}\ndata: {train: t.h5}\nmethod: {name: full}"),
            "deck x.yaml, method.name: full tuning does not start from an adapter (model.adapter is set) "
            "Merge it first, or use lora.");
  const std::string packed = "task: llm\nmodel: {path: m}\ndata: {train: t.h5, packing: true, max_length: 9}\n";
  EXPECT_NE(complaint(packed + "method: {name: dpo}").find("data.packing: is for sequences"), std::string::npos);
}

TEST(RunOptions, ReadsWhatALanguageModelIsAsked) {
  const EvaluateOptions evaluate =
      options_of(kTextDeck +
                 "evaluate: {at_start: true, questions: {file: q.jsonl, limit: 50}, prompts: [a b, 'c: d']}")
          .evaluate;

  EXPECT_TRUE(evaluate.at_start);  // without data.test: there are questions
  EXPECT_EQ(evaluate.questions.value().file, "q.jsonl");
  EXPECT_EQ(evaluate.questions.value().limit, 50);
  EXPECT_EQ(evaluate.questions.value().max_new, 256);
  EXPECT_EQ(evaluate.prompts, (std::vector<std::string>{"a b", "c: d"}));
  EXPECT_EQ(evaluate.max_new, 64);
  EXPECT_FALSE(options_of(kTextDeck + "evaluate: {questions: {file: q, limit: null}}").evaluate.questions->limit);
  EXPECT_FALSE(options_of(kTextDeck).evaluate.questions);
}

TEST(RunOptions, RefusesWhatCannotBeAsked) {
  EXPECT_EQ(complaint(kTextDeck + "evaluate: {questions: {limit: 3}}"),
            "deck x.yaml, evaluate.questions.file: is missing");
  EXPECT_NE(complaint(kTextDeck + "evaluate: {questions: {file: q, most: 3}}").find("evaluate.questions.most"),
            std::string::npos);
  EXPECT_EQ(complaint(kTextDeck + "evaluate: {prompts: [a, '']}"),
            "deck x.yaml, evaluate.prompts: holds an empty text (there is nothing to answer)");
  EXPECT_NE(complaint(kTextDeck + "evaluate: {prompts: [a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a]}")
                .find("expected at most 20 texts, got 21"),
            std::string::npos);
  for (const char* key : {"questions: {file: q}", "prompts: [a]", "max_new: 3"})
    EXPECT_NE(complaint("evaluate: {" + std::string(key) + "}").find("belongs to task llm"), std::string::npos) << key;
}

TEST(RunOptions, AcceptsTheHarmlessValuesOfSuchKeys) {
  EXPECT_NO_THROW(options_of("profile: {enabled: false}\nparallel: {shard: none}\n"));
}

/// The paths of all values of `map`.
void collect_paths(const Value& map, const std::string& prefix, std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const std::string path = prefix + map.keys[i];
    if (map.items[i].is_map())
      collect_paths(map.items[i], path + ".", paths);
    else
      paths.push_back(path);
  }
}

TEST(RunOptions, HasARowForEveryKeyThatDecksHave) {
  for (const auto& [text, task] : {std::pair(std::string(), KeyTasks::image), std::pair(kTextDeck, KeyTasks::llm)}) {
    std::vector<std::string> paths;
    collect_paths(with_defaults(Deck::parse(text, "x.yaml")).root(), "", paths);

    ASSERT_GT(paths.size(), 40u);
    for (const std::string& path : paths) {
      const DeckKey* key = find_key(run_keys(), path);
      ASSERT_NE(key, nullptr) << path;
      EXPECT_TRUE(key->belongs_to(task)) << path;
    }
  }
}

TEST(RunOptions, WritesDecksInTheOrderOfTheDocuments) {
  const std::vector<std::string> sections = with_defaults(Deck::parse("", "x.yaml")).root().keys;

  EXPECT_EQ(sections, (std::vector<std::string>{"task", "precision", "model", "data", "parallel", "optimizer",
                                                "schedule", "run", "evaluate", "profile"}));
}

TEST(RunOptions, DescribesEveryRowAsItIsRead) {
  std::map<std::string_view, DescribedKey> described;
  for (const DescribedKey& one : describe_run_keys())
    EXPECT_TRUE(described.emplace(one.key.path, one).second) << one.key.path << " stands twice";

  EXPECT_EQ(described.size(), run_keys().size());
  EXPECT_EQ(described.at("model.width").reading.type, "number, 0.05 ≤ x ≤ 10");
  EXPECT_EQ(described.at("model.width").reading.fallback, "`1`");
  EXPECT_EQ(described.at("parallel.strategy").reading.type, "`dp`, `ddp`, `ddp-ds`");
  EXPECT_EQ(described.at("model.path").reading.fallback, "required");
  EXPECT_EQ(described.at("data.normalize.std").reading.fallback, "from the shards");
}

TEST(RunOptions, AcceptsEveryValueThatIsAvailable) {
  for (const DeckKey& key : run_keys())
    for (const std::string& value : split(key.notes.available, ' '))
      if (!value.empty()) {
        Deck deck = Deck::parse(key.tasks == KeyTasks::llm || key.path == "parallel.shard" ? kTextDeck : "", "x.yaml");
        deck.set(std::string(key.path), value);
        EXPECT_NO_THROW(read_run_options(deck)) << key.path << " " << value;
      }
}

TEST(RunOptions, WritesADeckWithItsDefaultsThatReadsBackTheSame) {
  const Deck deck = Deck::parse("optimizer: {momentum: 0.9}\nrun: {steps: 3}\n", "x.yaml");

  const Deck whole = with_defaults(deck);
  const Deck again = with_defaults(Deck::parse(whole.to_yaml(), "x.yaml"));

  EXPECT_EQ(whole.root(), again.root());
  EXPECT_EQ(whole.get_text("optimizer.momentum"), "0.9");
  EXPECT_EQ(whole.get_text("optimizer.learning_rate"), "0.05");
  EXPECT_EQ(whole.get_text("data.workers"), "auto");
  EXPECT_EQ(whole.get_text("run.steps"), "3");
  EXPECT_EQ(whole.get_text("run.epochs"), "");
}

}  // namespace
}  // namespace multicard
