//===- ModelConfig.h - Classes, labels and stages of a config ---*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include <algorithm>
#include <cctype>
#include <span>

namespace rapt::importing {

/// A class of a config's `architectures` and the task it stands for.
template <typename Head> struct HeadName {
  std::string_view architecture;
  Head head;
};

/// Whether a class is meant: transformers chooses it by the model's type, and older code of others spells some with
/// other capitals (MPTForCausalLM).
inline bool isClass(std::string_view given, std::string_view known) {
  return std::ranges::equal(given, known,
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// The head that `architectures`, or an adapter, names; `fallback` where the config names none. Records an error that
/// lists what is supported.
template <typename Head>
Head readHead(huggingface::ModelDescription &model, std::span<const HeadName<Head>> names, Head fallback) {
  for (const std::string &architecture : model.architectures())
    for (const HeadName<Head> &name : names)
      if (isClass(architecture, name.architecture))
        return name.head;
  const std::string &ofAdapter = model.adapterHead();
  for (const HeadName<Head> &name : names)
    if (!ofAdapter.empty() && name.architecture.ends_with(ofAdapter))
      return name.head;
  if (model.architectures().empty() && ofAdapter.empty())
    return fallback;
  std::string known;
  for (const HeadName<Head> &name : names)
    known += (known.empty() ? "" : ", ") + std::string(name.architecture);
  const std::string what = ofAdapter.empty() ? "architectures is " + model.architectures().front()
                                             : "the head of an adapter is that of a class ..." + ofAdapter;
  model.config().fail(what + ", which is not supported; supported are " + known);
  return fallback;
}

/// Classes of a classification head: the size of `id2label`, else `num_labels`, else 2, as in Hugging Face. Records an
/// error when the two disagree.
int64_t readLabelCount(huggingface::ConfigReader &config);

/// Whether the tensor `table`, the embedding, is the output head, too, where tie_word_embeddings is true. A tensor
/// `head` whose values differ from the table's is the head nevertheless, and a warning says so: transformers loads such
/// checkpoints so since version 5, which writes tie_word_embeddings true into every config of the t5 family. Reads both
/// tensors up to the first difference; a failing read is an error. ParameterSet::resolve asks for all families.
Expected<bool> isHeadTied(huggingface::ModelDescription &model, const std::string &head, const std::string &table);

/// Stages that a model may have.
inline constexpr int64_t mostStages = 8;

/// A list with one integer in [least, most] for each stage; `fallback` where the config has none. Records an error
/// where the list is wrong, and gives `least` for each of `stages` then.
std::vector<int64_t> readStages(huggingface::ConfigReader &config, const char *key, size_t stages, int64_t least,
                                int64_t most, const std::vector<int64_t> &fallback);

/// The number of stages that a list of the config has; `fallback` where it has none.
size_t countStages(huggingface::ConfigReader &config, const char *key, size_t fallback);

} // namespace rapt::importing
