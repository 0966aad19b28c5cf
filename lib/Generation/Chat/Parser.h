//===- Parser.h - From a template's text to its tree -----------------------===//
#pragma once
#include "lib/Generation/Chat/Syntax.h"
#include "lib/Support/Expected.h"
#include <string_view>

namespace rapt::chat {

/// Parses a template, with the scopes of its names. Errors, with the line: what is no Jinja; nesting deeper than 100.
Expected<Syntax> parseTemplate(std::string_view source);

} // namespace rapt::chat
