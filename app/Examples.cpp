#include "Examples.hpp"

#include <array>
#include <utility>

namespace multicard {

namespace {

constexpr std::array kExamples{
    std::pair{"run",
              "$ multicard run inputs/image/tiny.yaml\n"
              "$ mpirun -n 2 multicard run inputs/image/tiny.yaml run.epochs=2\n"
              "$ mpirun -n 2 multicard run inputs/llm/lora.yaml --dry-run\n"
              "$ multicard run inputs/llm/llama3_8b_1gpu.yaml --what-fits --memory 80GB"},
    std::pair{"sweep",
              "$ mpirun -n 2 multicard sweep inputs/image/tiny_scaling.yaml\n"
              "$ mpirun -n 4 multicard sweep inputs/image/study/scaling.yaml --quick"},
    std::pair{"share", "$ mpirun -n 2 multicard share inputs/share/tiny.yaml"},
    std::pair{"plan",
              "$ multicard plan inputs/plan/example.yaml\n"
              "$ multicard plan inputs/plan/example.yaml objective=fairness --json\n"
              "$ multicard plan inputs/plan/example.yaml --svg plan.svg"},
    std::pair{"prepare", "$ multicard prepare images --format synthetic --limit 512 -o data/tiny/train"},
    std::pair{"prepare images",
              "$ multicard prepare images --format folder --dir photos -o data/photos --split 0.1\n"
              "$ multicard prepare images --format synthetic --limit 512 -o data/tiny/train"},
    std::pair{"prepare text",
              "$ multicard prepare text --type alpaca --tokenizer models/llama-3.2-1b --in data.json "
              "-o data/instruct --split 0.1"},
    std::pair{"eval",
              "$ multicard eval inputs/image/tiny.yaml --json\n"
              "$ mpirun -n 2 multicard eval results/tiny/checkpoints/step_00000400"},
    std::pair{"export",
              "$ multicard export results/lora/checkpoints/step_00000400 adapters/lora\n"
              "$ multicard export results/lora/checkpoints/step_00000400 models/tuned --merge original"},
    std::pair{"generate",
              "$ multicard generate models/llama-3.2-1b 'What is MPI?' --greedy\n"
              "$ multicard generate models/llama-3.2-1b --prompts questions.jsonl --adapter adapters/lora"},
    std::pair{"tokenize", "$ echo '\"a text\"' | multicard tokenize models/llama-3.2-1b"},
    std::pair{"watch",
              "$ multicard watch results/tiny\n"
              "$ multicard watch results/tiny results/lora --once --json"},
    std::pair{"info", "$ mpirun -n 2 multicard info --selftest"},
    std::pair{"recipes", "$ multicard recipes ls"},
    std::pair{"recipes ls", "$ multicard recipes ls\n$ multicard recipes ls sweep"},
    std::pair{"recipes cp", "$ multicard recipes cp image/tiny\n$ multicard recipes cp llm/lora decks/mine.yaml"},
};

}  // namespace

std::string examples_of(const std::string& path) {
  for (const auto& [name, examples] : kExamples)
    if (path == name) return examples;
  return {};
}

}  // namespace multicard
