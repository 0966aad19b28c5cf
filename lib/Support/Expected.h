//===- Expected.h - A value or a one-line error, without LLVM ------------------===//
//
// The plain C++ parts (formats, tokenizer, generation, packer) report errors by
// value: no exception leaves a library. A message is one line that names the
// file, the entity and the numbers; it carries no prefix ("error: ") and no
// trailing newline.
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
  const Error &error() const { return *std::get_if<1>(&storage); }

private:
  std::variant<T, Error> storage;
};

/// Success, or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}
  explicit operator bool() const { return !failure; }
  const Error &error() const { return *failure; }

private:
  std::optional<Error> failure;
};

} // namespace rapt
