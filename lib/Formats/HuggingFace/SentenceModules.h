//===- SentenceModules.h - How sentence-transformers pools a text -----*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Formats/HuggingFace/TokenizerFiles.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::huggingface {

/// The files beside a model's config.json, named as there.
struct ModuleFiles {
  std::string path;                   ///< of the directory; of the file where there is none, for messages
  const SideFiles *content = nullptr; ///< in place of a directory's files

  std::string pathOf(std::string_view name) const { return path + "/" + std::string(name); }
  bool has(std::string_view name) const;
  /// Fails where there is no such file, or no JSON in it.
  Expected<json::Value> read(std::string_view name) const;
};

/// The pooling of a transformer's last states into one vector for each text, and what follows it.
struct SentenceModules {
  /// activation(x times the transpose of `linear.weight` [out, in], plus `linear.bias` [out]).
  struct Dense {
    std::string folder; ///< a path component; of tensors the name's first part
    int64_t in = 0, out = 0;
    bool hasBias = true;
    std::string activation; ///< as config.json of a transformer names it; empty: none
  };

  enum class Pooling { Mean, First, Last, Max };
  bool isGiven = false; ///< there is a modules.json that pools
  Pooling pooling = Pooling::Mean;
  std::vector<Dense> dense; ///< behind the pooling
  bool normalizes = false;  ///< to length 1, at last
  bool lowersCase = false;  ///< texts, before the tokenizer
  /// Tokens at which sentence-transformers cuts a text, where the directory says so.
  std::optional<int64_t> mostTokens = {};
  std::string prompts;        ///< config_sentence_transformers.json's for the weight file, an object; empty: none
  bool includesPrompt = true; ///< the pooling counts the tokens of a prompt
  std::vector<std::string> notes = {}; ///< warnings
};

/// Reads modules.json beside a model, and the configurations of the modules that it names; the mean of states
/// of `width` columns where there is no such file. Prompts are those of config_sentence_transformers.json, facts about
/// texts those of sentence_bert_config.json. Errors: a module, a pooling or a key that is not supported, with what is,
/// and columns that do not fit. `model` is the reader of config.json, whose --ignore-config-key count here, too.
Expected<SentenceModules> readSentenceModules(const ConfigReader &model, const ModuleFiles &files, int64_t width);

/// Whether modules.json beside a model pools the transformer's states.
Expected<bool> poolsTexts(const ModuleFiles &files);

/// The folders of linear layers that modules.json names, whose tensors are in files of their own.
Expected<std::vector<std::string>> listDenseFolders(const ModuleFiles &files);

} // namespace rapt::huggingface
