//===- Expected.h - A value or a one-line error, without LLVM ------------------===//
//
// The plain C++ parts (formats, tokenizer, generation, packer) report errors by
// value: no exception leaves a library. A message is one line that names the
// file, the entity and the numbers; it carries no prefix ("error: ") and no
// trailing newline. RAPT_RETURN_IF_ERROR and RAPT_ASSIGN_OR_RETURN give a failure
// to the caller, withContext adds to its message.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace rapt {

/// A failure, told in one line for the person who gave the input.
struct [[nodiscard]] Error {
  std::string message;
};

/// Either a T or an Error. Test with `if (!result)`, then read `result.error()`.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : storage(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : storage(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() { return *std::get_if<0>(&storage); }
  const T &operator*() const { return *std::get_if<0>(&storage); }
  T *operator->() { return std::get_if<0>(&storage); }
  const T *operator->() const { return std::get_if<0>(&storage); }
  const Error &error() const & { return *std::get_if<1>(&storage); }
  Error error() && { return std::move(*std::get_if<1>(&storage)); }

private:
  std::variant<T, Error> storage;
};

/// Success, or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}
  explicit operator bool() const { return !failure; }
  const Error &error() const & { return *failure; }
  Error error() && { return *std::move(failure); }

private:
  std::optional<Error> failure;
};

/// Puts what a failure is about before its message: "CONTEXT: MESSAGE".
template <typename Result> Result withContext(const std::string &context, Result result) {
  if (result)
    return result;
  return Error{context + ": " + result.error().message};
}

/// The failure in `result` as a function returns it: an Error, or an Outcome (rapt.hpp) as it is.
template <typename Result>
  requires requires(Result result) { result.error(); } || requires(Result result) { result.message; }
auto failureOf(Result &&result) {
  if constexpr (requires { result.error(); })
    return std::forward<Result>(result).error();
  else
    return std::forward<Result>(result);
}

} // namespace rapt

/// Returns from the function with the error of a Status, an Expected or an Outcome, if there is one. The expression is
/// evaluated once. The function may return any type that the error converts to.
///
///   RAPT_RETURN_IF_ERROR(file->read(offset, bytes));
#define RAPT_RETURN_IF_ERROR(...) RAPT_RETURN_FAILURE(RAPT_JOIN(raptResult, __LINE__), (__VA_ARGS__))

/// Returns from the function with the error of an Expected, or moves its value into `declaration`, which is a new
/// variable or one that exists. A type with a comma is written as `auto`. The macro is several statements, so an `if`
/// around it needs braces.
///
///   RAPT_ASSIGN_OR_RETURN(std::string text, readFile(path));
#define RAPT_ASSIGN_OR_RETURN(declaration, ...)                                                                        \
  RAPT_ASSIGN_VALUE(RAPT_JOIN(raptResult, __LINE__), declaration, (__VA_ARGS__))

#define RAPT_RETURN_FAILURE(result, expression)                                                                        \
  do {                                                                                                                 \
    if (auto &&result = expression; !result)                                                                           \
      return rapt::failureOf(std::forward<decltype(result)>(result));                                                  \
  } while (false)
#define RAPT_ASSIGN_VALUE(result, declaration, expression)                                                             \
  auto result = expression;                                                                                            \
  if (!result)                                                                                                         \
    return rapt::failureOf(std::move(result));                                                                         \
  declaration = std::move(*result)
#define RAPT_JOIN(a, b) RAPT_JOIN_EXPANDED(a, b)
#define RAPT_JOIN_EXPANDED(a, b) a##b
