//===- TokenizerConfig.h - Files beside a tokenizer.json ------------------------------===//
#pragma once
#include "lib/Formats/GGUF/TokenTable.h"

namespace rapt::gguf {

/// tokenizer_config.json: the tokens' roles, and the chat templates by their names. `tokens` may be null. Errors: a
/// template that is named, but missing, or not UTF-8; too many of them.
Expected<std::string> writeTokenizerConfig(const Metadata &metadata, const TokenTable *tokens);

/// generation_config.json. Errors: a number of another kind.
Expected<std::string> writeGenerationConfig(const Metadata &metadata, const TokenTable *tokens,
                                            std::vector<std::string> &notes);

} // namespace rapt::gguf
