//===- Messages.h - A conversation in a file --------------------------------------===//
//
// {"messages": [{"role": "system", "content": "..."}, {"role": "user", ...}, ...]}: the
// system's message, which may be missing, then those of the user, each with its answer.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"

namespace rapt::run {

/// Errors name the message and what it should be.
Expected<std::vector<Message>> parseMessages(std::string_view json);
Expected<std::vector<Message>> readMessages(const std::string &path);

/// Replaces the file at once, when all is written.
Status writeMessages(const std::string &path, const std::vector<Message> &messages);

} // namespace rapt::run
