//===- JsonFields.h - The members of one component in tokenizer.json -------===//
//
// Reads members with their defaults, remembers the first that has the wrong
// kind, and refuses members nobody asked for: one that is not understood could
// change the ids.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

class JsonFields {
public:
  /// `object` outlives this.
  JsonFields(const json::Value &object, std::string where);

  /// null and absent give the default.
  std::string string(std::string_view key, std::string_view otherwise);
  std::optional<std::string> optionalString(std::string_view key);
  bool boolean(std::string_view key, bool otherwise);
  std::optional<bool> optionalBoolean(std::string_view key);
  int64_t integer(std::string_view key, int64_t otherwise);
  /// The member as it is; null (the value) when absent.
  const json::Value &value(std::string_view key);

  /// The first wrong kind, or a member that was neither read nor is in `harmless`.
  Status finish(std::initializer_list<std::string_view> harmless) const;

private:
  const json::Value *read(std::string_view key);
  void fail(std::string_view key, std::string_view kind);

  const json::Value &object;
  std::string where;
  std::vector<std::string_view> known;
  std::string failure;
};

} // namespace rapt
