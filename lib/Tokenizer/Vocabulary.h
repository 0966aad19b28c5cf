//===- Vocabulary.h - Tokens and their ids ---------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// Two-way map between token texts and ids. Ids may have holes.
class Vocabulary {
public:
  /// Ids at or above this are taken for damage: the largest published vocabularies have about a million entries.
  static constexpr int64_t idLimit = int64_t(1) << 24;

  /// From an object {"token": id, ...}. Errors: an id that is no integer, negative, above idLimit or used twice.
  static Expected<Vocabulary> fromJson(const json::Value &object, const std::string &where);

  /// Reserves memory for `tokens` more.
  void reserve(size_t tokens);
  /// Adds one token. Errors: the id is out of range or taken by another token, or the token has another id.
  Status add(std::string_view token, int64_t id, const std::string &where);

  std::optional<int32_t> find(std::string_view token) const;
  /// Where a model numbers its tokens by one of its own, the id here of each of them; of one that is not here,
  /// `otherwise`.
  std::vector<int32_t> idsOf(const Vocabulary &own, int32_t otherwise) const;
  /// The text of `id`, or nothing for an id without a token.
  std::optional<std::string_view> token(int32_t id) const;
  /// One more than the largest id.
  int32_t size() const { return static_cast<int32_t>(entries.size()); }

private:
  struct Entry {
    uint64_t offset = 0;
    uint32_t length = 0;
    bool present = false;
  };
  void rehash(size_t capacity);
  size_t slotOf(std::string_view token) const;

  std::string texts; // all tokens, one behind the other
  std::vector<Entry> entries;
  std::vector<int32_t> slots; // open addressing; -1 = free
  size_t count = 0;
};

} // namespace rapt
