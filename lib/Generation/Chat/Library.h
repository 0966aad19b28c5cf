//===- Library.h - The filters, tests, methods and functions of templates ---===//
//
// Each is one row of a table: its name, its parameters and what does it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/Chat/Run.h"
#include <span>
#include <string_view>

namespace rapt::chat {

struct Call;

struct Routine {
  std::string_view name;
  /// Names with blanks between them, of what stands behind the input of a filter or test, or in the brackets of a
  /// call; "name?" may be left out, "/name" has no name in a call. "*": whatever is given.
  std::string_view parameters;
  Value (*apply)(Call &call);
  /// Whether a method of str makes markup of markup, and then escapes what it is given.
  enum class OnMarkup { Plain, Keeps, KeepsAndEscapes } onMarkup = OnMarkup::Plain;
};

using Table = std::span<const Routine>;
const Routine *find(Table table, std::string_view name);

/// One use of a routine; its arguments stand in the order of the parameters.
struct Call {
  Run &run;
  const Routine &routine;
  const Value &self; ///< The input of a filter or test, the object of a method.
  const Arguments &given;
  std::vector<const Value *> bound = {}; ///< null where left out

  bool has(size_t parameter) const { return parameter < bound.size() && bound[parameter]; }
  /// Undefined where it was left out.
  const Value &operator[](size_t parameter) const;
  bool isNone(size_t parameter) const { return !has(parameter) || bound[parameter]->is(Kind::None); }
  bool flag(size_t parameter, bool otherwise = false) const;
  /// Fail where the argument is of another type.
  int64_t integer(size_t parameter, int64_t otherwise);
  const Text *text(size_t parameter);
  /// Fails: "'name' `problem`".
  Value fail(const std::string &problem);
};

/// Binds the arguments and applies the routine.
Value apply(Run &run, const Routine &routine, const Value &self, const Arguments &given);

/// By name; null where there is none.
const Routine *findFilter(std::string_view name);
const Routine *findTest(std::string_view name);
const Routine *findGlobal(std::string_view name);
Table globals();
/// The method that a value of this kind has.
const Routine *findMethod(const Value &object, std::string_view name);

/// How the error of a template's own raise_exception begins, behind its line.
inline constexpr const char *refusedByTemplate = "the template refuses these messages: ";

/// "the filter 'x' is none of Jinja's", or that it is not supported; `kind`: filter, test, method, function.
std::string unknownMessage(std::string_view kind, std::string_view name);

Value applyFilter(Run &run, std::string_view name, const Value &input, const Arguments &given);
/// A method of str, of the text that a value is shown as; markup stays that.
Value applyTextMethod(Run &run, std::string_view name, const Value &value, List arguments = {});
bool applyTest(Run &run, std::string_view name, const Value &input, const Arguments &given);

// The tables, by theme.
Table textFilters();
Table markupFilters();
Table listFilters();
Table choosingFilters();
Table numberFilters();
Table tests();
Table textMethods();
Table characterMethods();

} // namespace rapt::chat
