//===- Precedence.h - The file of a directory that counts -----------------------===//
//
// Several files of a directory can say the same thing. The one that transformers
// obeys is found here, once, when the directory is read: readers behind find each
// thing in one file. docs/generated/DirectoryKeys.md has the order of precedence.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Formats/HuggingFace/TokenizerFiles.h"

namespace rapt::huggingface {

/// Its settings of images and sound, and its chat template.
inline constexpr const char *processorSettings = "processor_config.json";

/// A side file that is a JSON object; nothing where there is none, or where it is no object, which its reader reports.
std::optional<json::Object> objectOf(const SideFiles &files, std::string_view name);

/// The classes that a type of models has where no file names one.
struct DefaultClasses {
  std::string_view tokenizer, processor; ///< may be empty
  std::string_view extractor = {};       ///< of sounds beside images
};

/// special_tokens_map.json comes before tokenizer_config.json, unless the latter has added_tokens_decoder. Where
/// tokenizer_config.json names no class, it is that of config.json, or the one of the model's type.
void settleTokenizer(DefaultClasses classes, ConfigReader &config, SideFiles &files);

/// do_lower_case of sentence-transformers: a tokenizer.json whose normalizer begins with Lowercase, unless it has one.
/// Errors: there is no tokenizer.json.
Expected<std::string> withLowerCase(const SideFiles &files);

/// Without generation_config.json, its keys in config.json are obeyed.
void settleGeneration(ConfigReader &config, SideFiles &files);

/// decoder_start_token_id of generation_config.json comes before that of config.json, whose value is `config`. A
/// difference is reported in `notes`.
json::Value withDecoderStart(const std::string &directory, json::Value config, std::vector<std::string> &notes);

/// processor_config.json's image_processor or feature_extractor, which transformers 5 writes, comes before
/// preprocessor_config.json. A processor of images without a class is of the class that the model's type has. Where the
/// type has a class for sounds besides, the feature_extractor becomes a side file of its own. Differences are reported
/// in `notes`. Errors: a file that cannot be read, an unfinished download.
Status settleProcessor(const std::string &directory, DefaultClasses classes, SideFiles &files,
                       std::vector<std::string> &notes);

/// Members of `file`, whose place is `path` and whose content is an object, that transformers obeys and nothing here
/// reads, and those that nobody knows, as one line each.
void reportKeys(const std::string &path, std::string_view file, const json::Value &content,
                std::vector<std::string> &notes);

/// Those of the tokenizer's files in `directory`, before they are settled.
void reportTokenizerKeys(const SideFiles &files, const std::string &directory, std::vector<std::string> &notes);

} // namespace rapt::huggingface
