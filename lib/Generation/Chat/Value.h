//===- Value.h - Values of the expressions of a chat template --------------===//
//
// Python's values as Jinja templates see them. Strings are code points, as Python
// counts them, and each carries a mark of who wrote it: what a user wrote must
// never be read as a special token, whatever a template does with it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Json.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rapt::chat {

/// Code points; bit 31 is set in those that a user wrote.
using Text = std::u32string;
inline constexpr char32_t userMark = 0x80000000;
inline char32_t pointOf(char32_t marked) { return marked & ~userMark; }

Text textOf(std::string_view utf8, bool fromUser = false);
/// UTF-8 without the marks.
std::string bytesOf(const Text &text);
bool sameText(const Text &a, const Text &b);
/// Position of `part` in `text` from `begin` on, npos where there is none.
size_t findText(const Text &text, const Text &part, size_t begin = 0);
/// As Python's str.isspace, for one code point.
bool isSpace(char32_t marked);

struct Macro;
class Value;
using List = std::vector<Value>;
/// Members in the order of their making.
using Dict = std::vector<std::pair<std::string, Value>>;

enum class Kind { Undefined, None, Bool, Integer, Float, String, List, Dict, Namespace, Macro, Function };

class Value {
public:
  Value() = default; ///< Undefined; `named` tells what was.
  static Value undefined(std::string name);
  static Value none() { return Value(Kind::None); }
  static Value of(bool value);
  static Value of(int64_t value);
  static Value of(double value);
  static Value of(Text value);
  static Value of(std::string_view value) { return of(textOf(value)); }
  static Value of(const char *value) { return of(textOf(value)); }
  static Value of(List value);
  static Value tuple(List value); ///< A list that prints as a tuple, and equals no list.
  static Value of(Dict value, Kind kind = Kind::Dict);
  static Value of(const Macro *macro);
  static Value function(std::string name);
  /// Strings of `value` are the user's, but for those of members named "role", where `fromUser`.
  static Value of(const json::Value &value, bool fromUser);

  Kind kind() const { return type; }
  bool is(Kind kind) const { return type == kind; }
  bool isNumber() const { return is(Kind::Bool) || is(Kind::Integer) || is(Kind::Float); }
  bool isMapping() const { return is(Kind::Dict) || is(Kind::Namespace); }
  /// Python's truth.
  bool truth() const;
  int64_t integer() const { return number; }
  double real() const { return is(Kind::Float) ? floating : double(number); }
  const Text &text() const { return *static_cast<const Text *>(heap.get()); }
  const List &list() const { return *static_cast<const List *>(heap.get()); }
  bool isTuple() const { return tupled; }
  const Dict &dict() const { return *static_cast<const Dict *>(heap.get()); }
  /// A namespace is the one thing that can change, and all who hold it see that.
  Dict &members() const { return *static_cast<Dict *>(heap.get()); }
  const Macro *macro() const { return callee; }
  /// Lists and dicts around the deepest value; a namespace, which could hold itself, counts as namespaceNesting.
  int nesting() const { return levels; }
  static constexpr int namespaceNesting = 1000;
  const std::string &name() const { return *static_cast<const std::string *>(heap.get()); }
  const Value *find(std::string_view key) const;

private:
  explicit Value(Kind kind) : type(kind) {}
  Kind type = Kind::Undefined;
  bool tupled = false;
  int levels = 0;
  union {
    int64_t number = 0; // also of a Bool
    double floating;
    const Macro *callee;
  };
  std::shared_ptr<void> heap;
};

/// Python's type of a value, for messages.
const char *typeName(const Value &value);
/// str(value); an undefined value is empty.
Text shown(const Value &value);
/// repr(value).
Text representation(const Value &value);
/// The arguments of json.dumps; without an indent all is one line.
struct JsonStyle {
  std::optional<int64_t> indent = {};
  Text itemSeparator = U", ", keySeparator = U": ";
  bool ascii = false, sortKeys = false;
};
/// json.dumps(value). False for a value that JSON lacks.
bool writeJson(const Value &value, const JsonStyle &style, Text &out, int64_t depth = 0);
bool equal(const Value &a, const Value &b);
/// Methods of Python's dict: Jinja finds them before members of the same name, and hides those that change the dict.
enum class DictMethod { None, Reading, Changing };
DictMethod dictMethod(std::string_view name);
/// a < b for numbers, strings and lists; `comparable` becomes false for other pairs.
bool less(const Value &a, const Value &b, bool &comparable);

} // namespace rapt::chat
