//===- Operators.h - Operators of expressions -------------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"

namespace rapt::chat {

/// `sign`: + - * / // % **
Value arithmetic(Run &run, std::string_view sign, const Value &left, const Value &right);
Value negated(Run &run, const Value &value);
/// Parts as one text, as '~' makes it.
Value concatenated(Run &run, const List &parts);
/// `sign`: == != < <= > >= in "not in"
bool compares(Run &run, std::string_view sign, const Value &left, const Value &right);
/// The text of a value beside markup: the text itself if it is markup, else escaped.
Text besideMarkup(Run &run, const Value &value);

} // namespace rapt::chat
