//===- ModelFiles.cpp - The files that a model directory is made of ---------===//
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Formats/HuggingFace/ChatTemplates.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Formats/HuggingFace/TokenizerFiles.h"
#include <algorithm>
#include <dirent.h>
#include <string_view>

namespace rapt::huggingface {

static constexpr const char *sideFiles[] = {"tokenizer.json",
                                            "tokenizer_config.json",
                                            "special_tokens_map.json",
                                            "added_tokens.json",
                                            "vocab.json",
                                            "merges.txt",
                                            "vocab.txt",
                                            "generation_config.json",
                                            "chat_template.jinja",
                                            "preprocessor_config.json",
                                            "target_tokenizer.json",
                                            "target_tokenizer_config.json"};

bool isSafeName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

std::span<const char *const> sideFileNames() { return sideFiles; }

/// All names in a directory, sorted.
static std::vector<std::string> listNames(const std::string &directory) {
  std::vector<std::string> names;
  if (DIR *folder = opendir(directory.c_str())) {
    while (const dirent *entry = readdir(folder))
      names.emplace_back(entry->d_name);
    closedir(folder);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> listWeightFiles(const std::string &directory) {
  std::vector<std::string> names = listNames(directory);
  std::erase_if(names, [](const std::string &name) {
    static constexpr std::string_view suffixes[] = {".safetensors", ".bin",     ".pt",   ".pth",  ".ckpt",      ".pkl",
                                                    ".h5",          ".msgpack", ".gguf", ".onnx", ".incomplete"};
    return std::none_of(std::begin(suffixes), std::end(suffixes), [&](auto suffix) { return name.ends_with(suffix); });
  });
  return names;
}

std::vector<std::string> listModelFiles(const std::string &directory) {
  std::vector<std::string> paths = listTemplateFiles(directory);
  for (const char *name : {"config.json", "modules.json", "adapter_config.json", "model.safetensors.index.json",
                           processorSettings, "sentence_bert_config.json", "config_sentence_transformers.json"})
    paths.push_back(directory + "/" + name);
  for (const char *name : sentencePieceNames())
    paths.push_back(directory + "/" + name);
  for (const char *name : sideFiles)
    paths.push_back(directory + "/" + name);
  for (const std::string &name : listWeightFiles(directory))
    paths.push_back(directory + "/" + name);
  // Modules of a sentence transformer have folders of their own.
  for (const std::string &name : listNames(directory))
    if (name != "." && name != "..")
      for (const char *file : {"config.json", "model.safetensors"})
        paths.push_back(directory + "/" + name + "/" + file);
  std::erase_if(paths, [](const std::string &path) { return !entryExists(path); });
  return paths;
}

} // namespace rapt::huggingface
