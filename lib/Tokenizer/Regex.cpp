//===- Regex.cpp -----------------------------------------------------------===//
#include "lib/Tokenizer/Regex.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <climits>
#include <iterator>
#include <mutex>
#include <oniguruma.h>

namespace rapt {

// Real tokenizer patterns go back a few times a match, or once a character on a long run. In a short text a search may
// go back kRetries times. A long text allows one match more for each byte, up to about 0.2 s, and lets the search walk
// over all of the text when nothing matches.
static constexpr unsigned long kRetries = 100'000, kRetriesPerByte = 64, kMostRetries = 10'000'000, kStepsPerByte = 4;
static constexpr size_t kShortText = 1024;
static constexpr unsigned kStackLimit = 4'000'000; // entries of about 40 bytes
static constexpr int kMostGroups = 31;
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
  static std::once_flag once; // by pthread_once, which ThreadSanitizer sees in static libraries too
  static int ready;
  std::call_once(once, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_set_match_stack_limit_size(kStackLimit);
    onig_set_retry_limit_in_match(kRetries);
    onig_set_retry_limit_in_search(kRetries);
    ready = onig_initialize(encodings, 1);
  });
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
  if (int groups = onig_number_of_captures(compiled->handle); groups > kMostGroups)
    return Error{"the regular expression '" + json::printable(pattern) + "' has " + std::to_string(groups) +
                 " capturing groups; the limit is " + std::to_string(kMostGroups)};
  Regex regex;
  regex.compiled = std::move(compiled);
  return regex;
}

const std::string &Regex::pattern() const { return compiled->source; }

namespace {
/// The state of one scan over a text: the region of the last match, and limits of its own where the text is long.
class Scan {
public:
  explicit Scan(size_t textSize) {
    region.allocated = int(std::size(begins));
    region.beg = begins;
    region.end = ends;
    if (textSize <= kShortText || !(limits = onig_new_match_param()))
      return;
    unsigned long retries = std::min(kMostRetries, kRetries + kRetriesPerByte * textSize);
    onig_initialize_match_param(limits);
    onig_set_retry_limit_in_match_of_match_param(limits, retries);
    onig_set_retry_limit_in_search_of_match_param(limits, retries + kStepsPerByte * textSize);
    onig_set_match_stack_limit_size_of_match_param(limits, kStackLimit);
  }
  ~Scan() {
    if (limits)
      onig_free_match_param(limits);
  }
  Scan(const Scan &) = delete;

  /// As onig_search: where the match begins, ONIG_MISMATCH, or an error code.
  int search(regex_t *regex, const OnigUChar *text, const OnigUChar *end, const OnigUChar *from) {
    return limits ? onig_search_with_param(regex, text, end, from, end, &region, ONIG_OPTION_NONE, limits)
                  : onig_search(regex, text, end, from, end, &region, ONIG_OPTION_NONE);
  }
  OnigRegion region = {};

private:
  int begins[kMostGroups + 1], ends[kMostGroups + 1]; // never resized: patterns with more groups were refused
  OnigMatchParam *limits = nullptr;
};
} // namespace

Status Regex::forEachMatch(std::string_view text, FunctionRef<Status(size_t, size_t)> visit) const {
  if (text.size() > INT_MAX)
    return Error{"a piece of " + std::to_string(text.size()) + " bytes is too long for a regular expression"};
  Scan scan(text.size());
  const OnigUChar *begin = bytes(text.data()), *end = begin + text.size();
  size_t offset = 0, lastEnd = size_t(-1);
  while (offset <= text.size()) {
    int found = scan.search(compiled->handle, begin, end, begin + offset);
    if (found == ONIG_MISMATCH)
      break;
    if (found < 0) {
      OnigUChar reason[ONIG_MAX_ERROR_MESSAGE_LEN];
      int length = onig_error_code_to_str(reason, found);
      return Error{"the regular expression '" + json::printable(compiled->source) + "' gave up at byte " +
                   std::to_string(offset) + " of " + std::to_string(text.size()) + ": " +
                   std::string(reinterpret_cast<const char *>(reason), size_t(length))};
    }
    size_t from = size_t(scan.region.beg[0]), to = size_t(scan.region.end[0]);
    // An empty match right behind the one before it is no match of its own (the rule of Hugging Face's iterator).
    if (from == to && to == lastEnd) {
      offset += offset < text.size() ? unicode::lengthOf(static_cast<unsigned char>(text[offset])) : 1;
      continue;
    }
    RAPT_RETURN_IF_ERROR(visit(from, to));
    offset = lastEnd = to;
  }
  return {};
}

} // namespace rapt
