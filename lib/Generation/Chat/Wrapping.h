//===- Wrapping.h - Python's textwrap.wrap ----------------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"

namespace rapt::chat {

/// The lines that the words of `line` fill, of at most `width` characters where words can be broken.
std::vector<Text> wrapped(const Text &line, size_t width, bool breaksLongWords, bool breaksAtHyphens);

} // namespace rapt::chat
