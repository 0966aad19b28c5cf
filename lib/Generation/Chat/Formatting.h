//===- Formatting.h - Python's format(), str.format and % -------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"

namespace rapt::chat {

/// format(value, specification). Fails where Python refuses the two.
Text formatted(Run &run, const Value &value, const Text &specification);
/// `format` % values.
Value formatPercent(Run &run, const Value &format, const Value &values);
/// format.format(*positional, **named), of which `named` is a dict.
Value formatBraces(Run &run, const Value &format, const List &positional, const Value &named);
/// A number with so many digits behind its point.
std::string fixed(double number, int digits);

} // namespace rapt::chat
