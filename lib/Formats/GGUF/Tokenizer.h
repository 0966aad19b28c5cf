//===- Tokenizer.h - The tokenizer of a GGUF file as files of a directory ------------===//
//
// A GGUF file has a tokenizer's tokens, but of its rules only names. They are written out here as a Hugging Face
// directory has them, so that what comes behind reads one kind of tokenizer.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/GGUF/Metadata.h"
#include "lib/Formats/HuggingFace/TokenizerFiles.h"

namespace rapt::gguf {

/// tokenizer.json, tokenizer_config.json with the chat templates, and generation_config.json. A whole tokenizer.json in
/// the metadata is preferred to what it is made of otherwise. A file without a tokenizer gives the last two alone.
/// `notes` gets a line for what had to be guessed. Errors: a kind of tokenizer, or a rule for words, that is not known,
/// which say what to do, and whatever contradicts itself (see TokenTable, TokenizerParts); with file and key.
Expected<huggingface::SideFiles> tokenizerFiles(const Metadata &metadata, std::vector<std::string> &notes);

/// generation_config.json alone, for a model whose tokenizer comes from elsewhere: the tokens that end a text, by their
/// ids and by the texts that chat models end with, and defaults of sampling.
Expected<std::string> generationFile(const Metadata &metadata, std::vector<std::string> &notes);

} // namespace rapt::gguf
