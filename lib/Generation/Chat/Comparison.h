//===- Comparison.h - Python's ==, < and hash() ----------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include <optional>

namespace rapt::chat {

bool equal(Run &run, const Value &a, const Value &b);
/// a < b. Fails for values that have no order.
bool less(Run &run, const Value &a, const Value &b, std::string_view sign = "<");
/// Equal values have equal ones; nothing for what a dict takes for no key.
std::optional<size_t> hashOf(Run &run, const Value &value);
/// Python's truth.
bool isTrue(const Value &value);
/// len(value), nothing where Python has none.
std::optional<int64_t> lengthOf(Run &run, const Value &value);

} // namespace rapt::chat
