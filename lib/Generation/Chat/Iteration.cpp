//===- Iteration.cpp -------------------------------------------------------===//
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Frame.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>

namespace rapt::chat {

static List itemsOfView(Run &run, const View &view) {
  List items;
  for (const auto &[key, member] : view.dict.dict())
    if (!run.spend(1))
      break;
    else
      items.push_back(view.part == View::Part::Keys     ? key
                      : view.part == View::Part::Values ? member
                                                        : Value::tuple({key, member}));
  return items;
}

static List rest(Run &run, Iterator &iterator) {
  size_t begin = std::min(std::exchange(iterator.next, iterator.items.size()), iterator.items.size());
  if (iterator.failure)
    run.restore(*iterator.failure);
  return {iterator.items.begin() + ptrdiff_t(begin), iterator.items.end()};
}

std::optional<List> itemsOf(Run &run, const Value &value) {
  List items;
  switch (value.kind()) {
  case Kind::Undefined:
    break;
  case Kind::List:
  case Kind::Tuple:
    items = value.list();
    break;
  case Kind::Dict:
    items = itemsOfView(run, {value, View::Part::Keys});
    break;
  case Kind::View:
    items = itemsOfView(run, value.view());
    break;
  case Kind::String:
    for (char32_t character : value.text())
      if (!run.spend(1))
        break;
      else
        items.push_back(Value::of(Text(1, character)));
    break;
  case Kind::Range:
    for (int64_t i = 0; i < value.range().count; ++i)
      items.push_back(Value::of(value.range().begin + i * value.range().step));
    break;
  case Kind::Iterator:
    items = rest(run, value.iterator());
    break;
  case Kind::Loop: // as Python's iterator of it, which goes on with the loop itself
    run.fail("a loop inside of itself over its own variable is not supported");
    break;
  default:
    run.fail(std::string(typeName(value)) + " is not iterable");
  }
  return run.spend(items.size()) ? std::optional(std::move(items)) : std::nullopt;
}

bool isIterable(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::String:
  case Kind::List:
  case Kind::Tuple:
  case Kind::Dict:
  case Kind::Range:
  case Kind::View:
  case Kind::Iterator:
  case Kind::Loop:
    return true;
  default:
    return false;
  }
}

bool contains(Run &run, const Value &container, const Value &item) {
  if (container.is(Kind::String)) {
    if (!item.is(Kind::String))
      return run.fail("'in' a string needs a string, not " + std::string(typeName(item))), false;
    return run.spendText(container.text().size()) && findText(container.text(), item.text()) != Text::npos;
  }
  bool isKeys = container.is(Kind::View) && container.view().part == View::Part::Keys;
  if (container.is(Kind::Dict) || isKeys) {
    if (!hashOf(run, item))
      return run.fail(std::string(typeName(item)) + " is no key of a dict, since it can change"), false;
    return (isKeys ? container.view().dict : container).dict().find(run, item);
  }
  if (container.is(Kind::Iterator)) { // which is left behind the item
    Iterator &iterator = container.iterator();
    while (iterator.next < iterator.items.size() && run.spend(1))
      if (equal(run, iterator.items[iterator.next++], item))
        return true;
    if (iterator.failure)
      run.restore(*iterator.failure);
    return false;
  }
  std::optional<List> items = itemsOf(run, container);
  return items && std::any_of(items->begin(), items->end(),
                              [&](const Value &one) { return one.isSame(item) || equal(run, one, item); });
}

Value yielding(Run &run, Iterator iterator) {
  iterator.failure = run.takeFailure();
  return run.failed() ? Value() : Value::of(std::move(iterator));
}

const Dict *membersOf(Run &run, const Value &value, std::string_view who) {
  if (value.is(Kind::Dict))
    return &value.dict();
  if (value.is(Kind::Undefined) && !value.why().empty())
    run.fail(value.why());
  else
    run.fail("'" + std::string(who) + "' needs a dict, not " + typeName(value));
  return nullptr;
}

Value pairsOf(Run &run, const Value &dict) {
  if (!membersOf(run, dict, "items"))
    return {};
  return run.list(itemsOfView(run, {dict, View::Part::Items}));
}

} // namespace rapt::chat
