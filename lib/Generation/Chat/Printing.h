//===- Printing.h - str(), repr() and json.dumps() -------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include <optional>

namespace rapt::chat {

/// str(value). Fails where that is too long.
Text shown(Run &run, const Value &value);
/// repr(value).
Text representation(Run &run, const Value &value);
/// pprint.pformat(value).
Text prettyPrinted(Run &run, const Value &value);
std::string shownReal(double number);

/// The arguments of json.dumps; without an indent all is one line.
struct JsonStyle {
  std::optional<Text> indent = {};
  Text itemSeparator = U", ", keySeparator = U": ";
  bool ascii = false, sortKeys = false;
};
/// json.dumps(value). Fails for what JSON lacks.
Text writeJson(Run &run, const Value &value, const JsonStyle &style);

} // namespace rapt::chat
