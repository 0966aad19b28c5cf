//===- Iteration.h - The items of values -----------------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include <optional>

namespace rapt::chat {

/// The items of a loop over `value`, of which an iterator then has none left. Fails where Python could not loop.
std::optional<List> itemsOf(Run &run, const Value &value);
bool isIterable(const Value &value);
/// `item` in `container`.
bool contains(Run &run, const Value &container, const Value &item);
/// The pairs of a dict or a view of it.
Value pairsOf(Run &run, const Value &dict);
/// An iterator whose error, if the run has just failed, is met behind its items; undefined where a bound ended the run.
Value yielding(Run &run, Iterator iterator);
/// The members of a dict; fails with the name of what needs it.
const Dict *membersOf(Run &run, const Value &value, std::string_view who);

} // namespace rapt::chat
