//===- Vocabulary.cpp ------------------------------------------------------===//
#include "lib/Tokenizer/Vocabulary.h"
#include <algorithm>
#include <functional>

namespace rapt {

std::optional<std::string_view> Vocabulary::token(int32_t id) const {
  if (id < 0 || size_t(id) >= entries.size() || !entries[id].present)
    return std::nullopt;
  return std::string_view(texts).substr(entries[id].offset, entries[id].length);
}

size_t Vocabulary::slotOf(std::string_view token) const {
  size_t mask = slots.size() - 1;
  size_t slot = std::hash<std::string_view>{}(token)&mask;
  while (slots[slot] >= 0 && *this->token(slots[slot]) != token)
    slot = (slot + 1) & mask;
  return slot;
}

std::optional<int32_t> Vocabulary::find(std::string_view token) const {
  if (slots.empty())
    return std::nullopt;
  int32_t id = slots[slotOf(token)];
  return id < 0 ? std::nullopt : std::optional(id);
}

std::vector<int32_t> Vocabulary::idsOf(const Vocabulary &own, int32_t otherwise) const {
  std::vector<int32_t> ids(size_t(own.size()), otherwise);
  for (int32_t number = 0; number < own.size(); ++number)
    if (std::optional<std::string_view> text = own.token(number))
      ids[size_t(number)] = find(*text).value_or(otherwise);
  return ids;
}

void Vocabulary::reserve(size_t tokens) {
  size_t capacity = std::max<size_t>(slots.size(), 64);
  while (capacity < (count + tokens) * 2)
    capacity *= 2;
  rehash(capacity);
}

void Vocabulary::rehash(size_t capacity) {
  slots.assign(capacity, -1);
  for (size_t id = 0; id < entries.size(); ++id)
    if (entries[id].present)
      slots[slotOf(*token(int32_t(id)))] = int32_t(id);
}

Status Vocabulary::add(std::string_view text, int64_t id, const std::string &where) {
  auto fail = [&](const std::string &what) {
    return Error{where + ": token '" + json::printable(text) + "' has id " + std::to_string(id) + ", " + what};
  };
  if (id < 0)
    return fail("which is negative");
  if (id >= idLimit)
    return fail("above the limit of " + std::to_string(idLimit - 1));
  if (auto taken = token(int32_t(id)))
    return *taken == text ? Status() : fail("which token '" + json::printable(*taken) + "' has too");
  if (auto other = find(text))
    return fail("and also id " + std::to_string(*other));
  if (size_t(id) >= entries.size())
    entries.resize(size_t(id) + 1);
  entries[size_t(id)] = {texts.size(), uint32_t(text.size()), true};
  texts.append(text);
  if (++count * 2 > slots.size())
    rehash(std::max<size_t>(slots.size() * 2, 64));
  else
    slots[slotOf(text)] = int32_t(id);
  return {};
}

Expected<Vocabulary> Vocabulary::fromJson(const json::Value &object, const std::string &where) {
  const json::Object *members = object.asObject();
  if (!members)
    return Error{where + ": is not an object of tokens and ids"};
  Vocabulary vocabulary;
  vocabulary.reserve(members->size());
  for (const auto &[token, value] : *members) {
    std::optional<int64_t> id = value.asInteger();
    if (!id)
      return Error{where + ": the id of token '" + json::printable(token) + "' is not an integer"};
    RAPT_RETURN_IF_ERROR(vocabulary.add(token, *id, where));
  }
  return vocabulary;
}

} // namespace rapt
