//===- Access.h - Members and items of values -------------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"

namespace rapt::chat {

/// object.name, as Jinja finds it: a method or attribute, else an item of this key, else undefined.
Value attributeOf(Run &run, const Value &object, const Value &name);
/// object[key]: an item, else an attribute of this name, else undefined.
Value itemOf(Run &run, const Value &object, const Value &key);
/// The attribute alone, undefined where there is none.
Value ownAttributeOf(Run &run, const Value &object, const Value &name);
/// object[begin:end:step], None where left out.
Value sliceOf(Run &run, const Value &object, const Value &begin, const Value &end, const Value &step);
/// The argument "attribute" of a filter: items with dots between them, or a number. None: the value itself.
/// `otherwise` takes the place of each that is undefined, if it is not None.
Value memberByPath(Run &run, const Value &object, const Value &path, const Value &otherwise = Value::none());

} // namespace rapt::chat
