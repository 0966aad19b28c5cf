//===- Parser.h - From a template's text to its tree -----------------------===//
#pragma once
#include "lib/Generation/Chat/Syntax.h"
#include "lib/Support/Expected.h"
#include <string_view>

namespace rapt::chat {

/// Parses the supported part of Jinja. Errors: a construct outside of it, by name, and what is no Jinja at all, both
/// with the line; nesting deeper than 100.
Expected<NodePtr> parseTemplate(std::string_view source);

} // namespace rapt::chat
