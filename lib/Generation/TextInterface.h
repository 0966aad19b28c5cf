//===- TextInterface.h - Parts that the C functions of rapt_text.h share ----===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Tokenizer/Tokenizer.h"
#include "rapt/rapt_text.h"
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

struct rapt_token_rules; // rapt_rules.h

struct rapt_tokenizer {
  std::shared_ptr<const rapt::Tokenizer> tokenizer;
};

namespace rapt {
struct TokenRules;
}

namespace rapt::text {

/// A status and the line that explains it.
struct Outcome {
  rapt_status status = RAPT_OK;
  std::string message = {};
  explicit operator bool() const { return status == RAPT_OK; }
};

/// Copies `text` into the caller's memory, cut at a character where it is short.
void writeMessage(std::string_view text, char *message, size_t messageSize);

/// Runs `body`, which returns an Outcome, behind the border that no exception crosses.
template <typename Body> rapt_status guarded(char *message, size_t messageSize, Body &&body) noexcept {
  try {
    Outcome outcome = body();
    writeMessage(outcome.message, message, messageSize);
    return outcome.status;
  } catch (const std::bad_alloc &) {
    writeMessage("out of memory", message, messageSize);
    return RAPT_NOMEM;
  } catch (const std::length_error &) {
    writeMessage("out of memory", message, messageSize);
    return RAPT_NOMEM;
  } catch (...) {
    writeMessage("an unexpected exception inside Rapt", message, messageSize);
    return RAPT_BUG;
  }
}

/// The options of a call as the tokenizer takes them.
Outcome readOptions(const rapt_encode_options *options, EncodeOptions &settings);

/// The rules of a call, checked.
Outcome readRules(const rapt_token_rules *given, TokenRules &rules);

inline Outcome invalid(std::string message) { return {RAPT_INVALID, std::move(message)}; }

/// No struct of any version is larger: a size beyond it was never set.
inline constexpr size_t mostStructBytes = 4096;

/// Copies a struct of the caller's, which may be of an older or newer version: members it lacks are zero, members this
/// version does not know must be. `given` may be null where everything has a default.
template <typename Struct> Outcome readStruct(const Struct *given, size_t leastSize, const char *name, Struct &result) {
  result = {};
  if (!given)
    return {};
  if (given->size < leastSize || given->size > mostStructBytes || given->size % sizeof(size_t))
    return invalid(std::string(name) + ".size is " + std::to_string(given->size) + ", but at least " +
                   std::to_string(leastSize) + " is needed; set it to sizeof");
  const char *bytes = reinterpret_cast<const char *>(given);
  for (size_t offset = sizeof(Struct); offset < given->size; ++offset)
    if (bytes[offset] != 0)
      return {RAPT_UNSUPPORTED, std::string(name) + " has members that this version of the library does not know"};
  std::memcpy(&result, given, given->size < sizeof(Struct) ? given->size : sizeof(Struct));
  return {};
}

/// Writes `count` elements under the rule of rapt_text.h for results of unknown length.
template <typename Element>
Outcome give(const Element *elements, size_t count, Element *result, size_t capacity, size_t *length,
             const char *what) {
  *length = count;
  if (!result && capacity == 0)
    return {};
  if (!result)
    return invalid(std::string("there is no memory for the ") + what);
  if (capacity < count)
    return {RAPT_FULL, "the result has " + std::to_string(count) + " " + what + ", but the buffer holds " +
                           std::to_string(capacity)};
  if (count > 0)
    std::memcpy(result, elements, count * sizeof(Element));
  return {};
}

} // namespace rapt::text
