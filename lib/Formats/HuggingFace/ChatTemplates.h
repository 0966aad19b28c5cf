//===- ChatTemplates.h - The chat templates of a directory that count ------------===//
//
// Chat templates are in several files, and one directory can have several: one
// called "default", "tool_use" for chats with tools, and others that a caller
// names. Readers behind find what counts in chat_template.jinja, or, of several,
// in tokenizer_config.json.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/HuggingFace/TokenizerFiles.h"

namespace rapt::huggingface {

/// Files of chat templates in `directory`, whether they count or not.
std::vector<std::string> listTemplateFiles(const std::string &directory);

/// Settles the templates as transformers 5 does. A tokenizer has those of additional_chat_templates/,
/// chat_template.jinja as the "default" that they lack, and only without all of these those of tokenizer_config.json. A
/// processor has those of processor_config.json, those of chat_template.json, or chat_template.jinja and beside it
/// those of the folder; it never chooses another than "default". Without a processor chat_template.json is the last of
/// all. Differences that processors pass over are reported in `notes`. Errors: a file that counts and cannot be read.
Status settleTemplates(const std::string &directory, SideFiles &files, std::vector<std::string> &notes);

} // namespace rapt::huggingface
