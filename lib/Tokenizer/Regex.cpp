//===- Regex.cpp -----------------------------------------------------------===//
#include "lib/Tokenizer/Regex.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Unicode.h"
#include <oniguruma.h>

namespace rapt {

// A match of real tokenizer patterns never retries; ten million steps is about 0.2 s.
static constexpr unsigned long kRetryLimit = 10'000'000;
static constexpr unsigned kStackLimit = 4'000'000; // entries of about 40 bytes
static constexpr size_t kPatternLimit = size_t(64) << 10;

struct Regex::Compiled {
  regex_t *handle = nullptr;
  std::string source;
  ~Compiled() {
    if (handle)
      onig_free(handle);
  }
};

static const OnigUChar *bytes(const char *text) { return reinterpret_cast<const OnigUChar *>(text); }

Expected<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kPatternLimit)
    return Error{"a regular expression of " + std::to_string(pattern.size()) + " bytes; the limit is " +
                 std::to_string(kPatternLimit)};
  static const int ready = [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    return onig_initialize(encodings, 1);
  }();
  if (ready != ONIG_NORMAL)
    return Error{"the regular expression library does not start (code " + std::to_string(ready) + ")"};
  auto compiled = std::make_shared<Compiled>();
  compiled->source = pattern;
  OnigErrorInfo info = {};
  int code = onig_new(&compiled->handle, bytes(pattern.data()), bytes(pattern.data() + pattern.size()),
                      ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
  if (code != ONIG_NORMAL) {
    OnigUChar reason[ONIG_MAX_ERROR_MESSAGE_LEN];
    int length = onig_error_code_to_str(reason, code, &info);
    return Error{"the regular expression '" + json::printable(pattern) +
                 "' is refused: " + json::printable({reinterpret_cast<const char *>(reason), size_t(length)})};
  }
  Regex regex;
  regex.compiled = std::move(compiled);
  return regex;
}

const std::string &Regex::pattern() const { return compiled->source; }

namespace {
/// What one scan over a text needs: the region of the last match and the limits.
struct Scan {
  OnigRegion *region = onig_region_new();
  OnigMatchParam *limits = onig_new_match_param();
  ~Scan() {
    if (region)
      onig_region_free(region, 1);
    if (limits)
      onig_free_match_param(limits);
  }
};
} // namespace

Status Regex::forEachMatch(std::string_view text, FunctionRef<Status(size_t, size_t)> visit) const {
  Scan scan;
  if (!scan.region || !scan.limits)
    return Error{"out of memory in the regular expression matcher"};
  onig_initialize_match_param(scan.limits);
  onig_set_retry_limit_in_match_of_match_param(scan.limits, kRetryLimit);
  onig_set_retry_limit_in_search_of_match_param(scan.limits, kRetryLimit);
  onig_set_match_stack_limit_size_of_match_param(scan.limits, kStackLimit);
  const OnigUChar *begin = bytes(text.data()), *end = begin + text.size();
  size_t offset = 0, lastEnd = size_t(-1);
  while (offset <= text.size()) {
    int found = onig_search_with_param(compiled->handle, begin, end, begin + offset, end, scan.region, ONIG_OPTION_NONE,
                                       scan.limits);
    if (found == ONIG_MISMATCH)
      break;
    if (found < 0) {
      OnigUChar reason[ONIG_MAX_ERROR_MESSAGE_LEN];
      int length = onig_error_code_to_str(reason, found);
      return Error{"the regular expression '" + json::printable(compiled->source) + "' gave up at byte " +
                   std::to_string(offset) + " of " + std::to_string(text.size()) + ": " +
                   std::string(reinterpret_cast<const char *>(reason), size_t(length))};
    }
    size_t from = size_t(scan.region->beg[0]), to = size_t(scan.region->end[0]);
    // An empty match right behind the one before it is no match of its own (the rule of Hugging Face's iterator).
    if (from == to && to == lastEnd) {
      offset += offset < text.size() ? unicode::lengthOf(static_cast<unsigned char>(text[offset])) : 1;
      continue;
    }
    if (Status status = visit(from, to); !status)
      return status;
    offset = lastEnd = to;
  }
  return {};
}

} // namespace rapt
