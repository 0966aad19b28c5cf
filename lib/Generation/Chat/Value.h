//===- Value.h - Values of the expressions of a chat template --------------===//
//
// Python's values as Jinja templates see them. Strings are code points, as Python
// counts them, and each carries a mark of who wrote it: what a user wrote must
// never be read as a special token, whatever a template does with it.
//
// A value cannot change once it is made, so that values hold each other without
// cycles; what can change (a namespace) belongs to the run.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/Chat/BigInteger.h"
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rapt::chat {

/// Code points; bit 31 is set in those that a user wrote.
using Text = std::u32string;
inline constexpr char32_t userMark = 0x80000000;
inline char32_t pointOf(char32_t marked) { return marked & ~userMark; }

class Run;
class Value;
class Dict;
struct Cycle;
struct Iterator;
struct Loop;
struct Macro;
struct MethodCall;
struct Routine;
struct SpacedRange;
struct View;
using List = std::vector<Value>;

enum class Kind {
  Undefined,
  None,
  Bool,
  Integer,
  Float,
  String,
  List,
  Tuple,
  Dict,
  Range,
  View,      ///< keys(), values() or items() of a dict
  Iterator,  ///< what a filter yields one by one, and once
  Namespace, ///< the one thing that can change by a statement
  Cycler,
  Joiner,
  Loop,
  Macro,
  Function, ///< of the environment
  Method    ///< a function of one value
};

class Value {
public:
  Value() = default; ///< Undefined, and nothing known of it.
  /// `why`: the message where it is used.
  static Value undefined(std::string why);
  static Value none() { return Value(Kind::None); }
  static Value of(bool value);
  static Value of(int64_t value);
  static Value of(const BigInteger &value);
  static Value of(double value);
  static Value of(Text value, bool isMarkup = false);
  static Value of(std::string_view value);
  static Value of(const char *value) { return of(std::string_view(value)); }
  static Value of(List value);
  static Value tuple(List value);
  /// A tuple whose two items are also its members "grouper" and "list".
  static Value group(Value grouper, Value list);
  static Value of(Dict value);
  static Value of(SpacedRange value);
  static Value of(View value);
  static Value of(Iterator value);
  static Value of(Cycle value);
  static Value joiner(Cycle value);
  static Value of(MethodCall value);
  static Value of(Loop loop);
  static Value of(Macro macro);
  /// A namespace, which the run owns.
  static Value of(Dict *members);
  static Value of(const Routine *function);
  /// Strings of `value` are the user's, but for what names its form, where `fromUser`.
  static Value of(const json::Value &value, bool fromUser, Run &run);

  Kind kind() const { return type; }
  bool is(Kind kind) const { return type == kind; }
  bool isWhole() const { return is(Kind::Bool) || is(Kind::Integer); }
  bool isNumber() const { return isWhole() || is(Kind::Float); }
  bool isList() const { return is(Kind::List) || is(Kind::Tuple); }
  bool isMarkup() const { return special && is(Kind::String); }
  bool isGroup() const { return special && is(Kind::Tuple); }

  /// A whole number: whether it fits into 64 bits, and then itself.
  bool isSmall() const { return !heap; }
  int64_t integer() const { return number; }
  BigInteger big() const { return heap ? *get<BigInteger>() : BigInteger(number); }
  /// Any number.
  double real() const { return is(Kind::Float) ? floating : heap ? big().real() : double(number); }
  const Text &text() const { return *get<Text>(); }
  const List &list() const { return *get<List>(); }
  const Dict &dict() const { return *get<Dict>(); }
  const SpacedRange &range() const { return *get<SpacedRange>(); }
  const View &view() const { return *get<View>(); }
  Iterator &iterator() const { return *const_cast<Iterator *>(get<Iterator>()); }
  Cycle &cycle() const { return *const_cast<Cycle *>(get<Cycle>()); }
  Loop &loop() const { return *const_cast<Loop *>(get<Loop>()); }
  const Macro &macro() const { return *get<Macro>(); }
  const MethodCall &method() const { return *get<MethodCall>(); }
  Dict &members() const { return *static_cast<Dict *>(const_cast<void *>(borrowed)); }
  const Routine &function() const { return *static_cast<const Routine *>(borrowed); }
  /// Python's message where an undefined value is used; empty where nothing is known.
  const std::string &why() const;
  /// Whether two values are one object.
  bool isSame(const Value &other) const;
  /// Values around the deepest one.
  int nesting() const { return levels; }

private:
  explicit Value(Kind kind) : type(kind) {}
  template <typename T> const T *get() const { return static_cast<const T *>(heap.get()); }
  template <typename T> static Value made(Kind kind, T object, size_t bytes, int levels = 0);

  Kind type = Kind::Undefined;
  bool special = false; // markup, or a group
  int levels = 0;
  union {
    int64_t number = 0; // also of a Bool
    double floating;
    const void *borrowed;
  };
  std::shared_ptr<const void> heap;
};

/// Members in the order of their making, found by hash where there are many.
class Dict {
public:
  using Entry = std::pair<Value, Value>;
  size_t size() const { return entries.size(); }
  bool empty() const { return entries.empty(); }
  auto begin() const { return entries.begin(); }
  auto end() const { return entries.end(); }
  /// Null where there is none, or where `key` is no key of a dict.
  const Value *find(Run &run, const Value &key) const;
  const Value *find(Run &run, std::string_view key) const { return find(run, Value::of(key)); }
  /// Fails where `key` is no key of a dict.
  void set(Run &run, Value key, Value value);
  int nesting() const { return levels; }

private:
  static constexpr size_t fewest = 8; // entries that have an index
  std::optional<size_t> place(Run &run, const Value &key, size_t hash) const;
  std::vector<Entry> entries;
  std::unordered_multimap<size_t, size_t> index;
  int levels = 0;
};

/// Arguments of a call, a filter or a test.
struct Arguments {
  List values;
  std::vector<std::pair<std::string, Value>> named;
};

/// range(begin, end, step), of `count` numbers.
struct SpacedRange {
  int64_t begin, end, step, count;
};

struct View {
  enum class Part { Keys, Values, Items };
  Value dict;
  Part part;
};

/// The items of an iterator are known at once, and the error that would end it.
struct Iterator {
  List items;
  std::optional<Error> failure = {};
  size_t next = 0;
};

/// A cycler of items, and a joiner, which gives an empty text first and then the one item.
struct Cycle {
  List items;
  size_t next = 0;
};

struct MethodCall {
  Value self;
  const Routine *routine;
};

/// Bytes of the values that live on this thread while a Ledger does.
class Ledger {
public:
  Ledger() : outer(std::exchange(current, this)) {}
  ~Ledger() { current = outer; }
  Ledger(const Ledger &) = delete;
  size_t bytes = 0;
  static thread_local Ledger *current;

private:
  Ledger *outer;
};

/// Python's type of a value, for messages.
const char *typeName(const Value &value);

} // namespace rapt::chat
