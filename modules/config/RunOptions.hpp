#pragma once
/// \file What a run deck says, as plain values (docs/decks.md). Paths are expanded.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/Deck.hpp"

namespace multicard {

struct ModelOptions {
  std::string name = "mobilenet_v2";
  double width = 1.0;                  ///< multiplies the channels of every layer
  std::optional<int> classes;          ///< none: as many as the shards name
  std::optional<double> dropout;       ///< none: the model's own
  std::optional<std::string> weights;  ///< safetensors file or checkpoint folder to start from
  std::vector<std::string> freeze;     ///< patterns of parameter names that are not trained
  bool freeze_batch_norm = false;      ///< running statistics normalise and stay as they are
  // Language models have these instead.
  std::string path;                       ///< Hugging Face folder
  std::string dtype = "bf16";             ///< of frozen weights: fp64 | fp32 | bf16 | fp16
  std::string trainable_dtype = "fp32";   ///< of what is trained: fp32 (with fp64 that) | bf16
  bool random_weights = false;            ///< initialise the weights randomly from run.seed instead of reading them
  std::optional<std::string> adapter;     ///< PEFT folder to start from; it sets rank, alpha and targets
  bool activation_checkpointing = false;  ///< compute the inside of each layer again in backward
};

/// How a language model is tuned. What is empty is set by model.adapter.
struct MethodOptions {
  std::string name = "lora";         ///< full | lora
  std::optional<int> rank;           ///< of the adapters
  std::optional<double> alpha;       ///< scales the adapters: by alpha / rank
  double dropout = 0;                ///< on the adapters' input
  std::optional<bool> rslora;        ///< scale by alpha / sqrt(rank)
  std::vector<std::string> targets;  ///< in PEFT's meaning
};

/// Random changes of training images.
struct AugmentKeys {
  double horizontal_flip = 0;                              ///< probability of a mirrored image
  std::optional<std::pair<double, double>> crop_area;      ///< random resized crop: least and largest part of the area
  std::pair<double, double> crop_ratio{3.0 / 4, 4.0 / 3};  ///< least and largest width / height of a crop
};

/// Per channel, of pixel / 255.
struct NormalizeOptions {
  std::vector<double> mean, std;
};

struct DataOptions {
  std::string train = "data/fashion/train*.h5";  ///< shards: a path or a glob
  std::optional<std::string> test;               ///< shards to evaluate on; none: no evaluation
  int image_size = 100;                          ///< height and width that images are resized to
  std::string pipeline = "host";                 ///< where images are resized and normalised: host | device
  std::string layout = "nhwc";                   ///< memory format of activations: nhwc | nchw
  bool pin_memory = true;                        ///< stage batches for a GPU in page-locked memory
  std::optional<int> workers;                    ///< threads that prepare batches; none: chosen by the program
  int prefetch = 2;                              ///< batches prepared ahead
  std::string cache = "none";                    ///< none | ram: keep what was read in host memory
  std::string read = "hdf5";                     ///< hdf5 | pread: who reads the shards
  AugmentKeys augment;                           ///< of training images
  bool shuffle = true;                           ///< false: shard order in every epoch
  std::optional<NormalizeOptions> normalize;     ///< none: mean and std stored in the shards
  std::optional<std::int64_t> limit;             ///< use the first samples only
  bool drop_last = false;                        ///< drop the short last batch of an epoch
  // Text has these instead of what is about pixels.
  bool packing = false;                    ///< put several sequences into one row
  std::optional<std::int64_t> max_length;  ///< most tokens of a row; none: the longest sequence
  std::string overlong = "cut";            ///< sequences above max_length: cut | drop | error
};

struct ParallelOptions {
  std::string strategy = "ddp-ds";      ///< dp | ddp | ddp-ds
  std::string backend = "auto";         ///< auto | mpi | nccl
  std::optional<double> bucket_mb;      ///< size of a gradient bucket in MB (1e6 bytes); none: chosen by the program
  bool overlap = true;                  ///< reduce gradients while backward runs
  bool sync_batch_norm = false;         ///< BatchNorm statistics over all ranks
  std::string gradient_dtype = "same";  ///< communication dtype of gradients: same | bf16 | fp16
  bool share_gpu = false;               ///< let several ranks use one GPU
};

struct OptimizerOptions {
  std::string name = "sgd";         ///< sgd | adamw
  double learning_rate = 0.05;      ///< peak; the schedule multiplies it
  double momentum = 0;              ///< sgd
  double weight_decay = 0;          ///< added to the gradient (sgd), decoupled (adamw)
  double beta1 = 0.9;               ///< adamw
  double beta2 = 0.999;             ///< adamw
  double eps = 1e-8;                ///< adamw
  bool nesterov = false;            ///< sgd
  double label_smoothing = 0;       ///< part of each target spread evenly over all classes
  bool decay_norms = true;          ///< false: no weight decay for normalisation layers and biases
  std::optional<double> clip_norm;  ///< largest L2 norm of the whole gradient; none: no clipping
};

struct ScheduleOptions {
  std::string name = "constant";            ///< constant | linear | cosine | step
  std::int64_t warmup_steps = 0;            ///< linear from 0 at step 0
  std::optional<std::int64_t> total_steps;  ///< where linear and cosine end; none: the steps of the run
  double min_factor = 0;                    ///< the schedule never falls below this part of the learning rate
  std::int64_t step_size = 0;               ///< step: steps between two decays
  double gamma = 0.1;                       ///< step: factor of each decay
};

struct RunSettings {
  std::string output = "results/fashion";      ///< folder of results, checkpoints and records
  std::int64_t epochs = 1;                     ///< passes over the training data; unused when steps is set
  std::optional<std::int64_t> steps;           ///< updates, instead of epochs
  std::int64_t global_batch = 64;              ///< rows of an update over all ranks; unused when batch_per_rank is set
  std::optional<std::int64_t> batch_per_rank;  ///< rows of an update on each rank (weak scaling)
  std::optional<std::int64_t> micro_batch;     ///< rows a rank computes at once; none: all of its rows
  std::int64_t seed = 1;
  std::string device = "auto";          ///< auto | cpu | cuda
  bool deterministic = false;           ///< repeatable bit for bit on the same ranks, slower
  std::int64_t log_every = 20;          ///< steps between progress lines
  std::int64_t checkpoint_every = 200;  ///< steps between checkpoints; 0: only at the end
  int keep_checkpoints = 2;             ///< newest checkpoints kept; 0: none is written at all
  std::string resume = "auto";          ///< auto | never | path of a checkpoint
  std::optional<double> wall_limit;     ///< seconds since launch after which the run stops and can be resumed
  double timeout_s = 300;               ///< seconds a collective may take
  bool keep_best = false;               ///< the checkpoint with the best evaluation stays
  bool tensorboard = false;             ///< write TensorBoard event files
  bool json_lines = false;              ///< write metrics.jsonl
  std::string cuda_graph = "auto";      ///< auto | false: steps are not replayed as CUDA graphs
  double ema_decay = 0;                 ///< of the moving average of weights; 0: none is kept

  /// Rows of an update over `num_ranks` ranks.
  std::int64_t batch_over(int num_ranks) const { return batch_per_rank ? *batch_per_rank * num_ranks : global_batch; }
};

/// Nobody asks for longer answers.
inline constexpr std::int64_t kMostNewTokens = 1 << 20;

/// Questions with known answers that a language model is asked.
struct QuestionOptions {
  std::string file;                   ///< JSON lines with question and answer, as GSM8K has them
  std::optional<std::int64_t> limit;  ///< ask the first so many only
  std::int64_t max_new = 256;         ///< tokens of an answer at most
};

struct EvaluateOptions {
  std::int64_t every_epochs = 1;      ///< 0: not by epochs
  std::int64_t every_steps = 0;       ///< 0: not by steps
  bool at_start = false;              ///< also before the first step
  std::optional<std::int64_t> limit;  ///< evaluate the first samples only
  // Of language models, asked before the first step and at the end.
  std::optional<QuestionOptions> questions = std::nullopt;  ///< before the first step with at_start only
  std::vector<std::string> prompts = {};                    ///< whose answers are kept
  std::int64_t max_new = 64;                                ///< tokens of such an answer at most
};

/// A whole run.
struct RunOptions {
  std::string task = "image";  ///< image | llm
  ModelOptions model;
  MethodOptions method;  ///< llm
  DataOptions data;
  ParallelOptions parallel;
  std::string precision = "fp32";  ///< fp64 | fp32 | tf32 | fp16 | bf16; of text by default model.dtype
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  RunSettings run;
  EvaluateOptions evaluate;
  std::int64_t skip_steps = 5;  ///< profile.skip_steps: first steps that statistics leave out

  bool is_language() const { return task == "llm"; }
};

/// Reads and checks a whole deck. \throws UnknownKeyError for a key that no deck has, UsageError for a wrong value, for
/// values that contradict each other and for what this version does not offer.
RunOptions read_run_options(const Deck& deck);

/// The deck with every default written out. \throws as read_run_options.
Deck with_defaults(const Deck& deck);

}  // namespace multicard
