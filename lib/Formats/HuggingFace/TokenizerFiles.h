//===- TokenizerFiles.h - Tokenizers of directories without tokenizer.json ------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rapt::huggingface {

/// Contents of files beside config.json, by name.
using SideFiles = std::map<std::string, std::string, std::less<>>;

/// Names that SentencePiece models have in directories.
std::span<const char *const> sentencePieceNames();

/// Makes the tokenizer.json that `files` lack: of SentencePiece models in `directory` for the classes that transformers
/// builds on them, of nothing for byt5. Marian's target with a vocabulary of its own gets target_tokenizer.json. A
/// tokenizer that cannot be made is reported in `notes`, and such a model takes and gives ids only. Errors: a file that
/// cannot be read, an unfinished download.
Status completeTokenizer(const std::string &directory, const std::string &modelType, SideFiles &files,
                         std::vector<std::string> &notes);

} // namespace rapt::huggingface
