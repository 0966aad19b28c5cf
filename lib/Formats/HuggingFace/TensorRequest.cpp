//===- TensorRequest.cpp - Meeting requests from a checkpoint ---------------===//
#include "lib/Formats/HuggingFace/TensorRequest.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <optional>
#include <set>

using namespace rapt;
using namespace rapt::huggingface;

static constexpr size_t mostNamed = 200;

static const StoredTensor *findAny(const TensorTable &table, const TensorRequest &request) {
  if (const StoredTensor *tensor = table.find(request.name))
    return tensor;
  for (const std::string &name : request.alternatives)
    if (const StoredTensor *tensor = table.find(name))
      return tensor;
  return nullptr;
}

static std::string describeMissing(const TensorTable &table, const TensorRequest &request) {
  std::string text = table.shown(request.name);
  for (const std::string &name : request.alternatives)
    text += " (or " + table.shown(name) + ")";
  return text + " " + shownShape(request.shape);
}

/// "1 missing tensor: a, b"; the list is cut after mostNamed entries, its number is not.
static std::string describeList(const std::vector<std::string> &entries, const std::string &what) {
  std::string text = std::to_string(entries.size()) + " " + what + (entries.size() == 1 ? " tensor: " : " tensors: ");
  for (size_t i = 0; i < entries.size() && i < mostNamed; ++i)
    text += (i ? ", " : "") + entries[i];
  if (entries.size() > mostNamed)
    text += " and " + std::to_string(entries.size() - mostNamed) + " more";
  return text;
}

Expected<std::vector<ResolvedTensor>> huggingface::resolveTensors(const TensorTable &table,
                                                                  std::span<const TensorRequest> requests) {
  std::vector<ResolvedTensor> resolved;
  std::vector<std::string> missing, misshaped, untyped;
  std::set<std::string_view> absent; // several parts of one tensor are requested each
  for (const TensorRequest &request : requests) {
    const StoredTensor *tensor = findAny(table, request);
    if (!tensor) {
      if (absent.insert(request.name).second)
        missing.push_back(describeMissing(table, request));
      continue;
    }
    std::string where = table.shown(tensor->name) + " in " + shownPath(tensor->file->path());
    if (tensor->shape != request.shape)
      misshaped.push_back(where + " is " + shownShape(tensor->shape) + ", the configuration needs " +
                          shownShape(request.shape));
    if (!tensor->type())
      untyped.push_back(where + " is " + json::printable(tensor->dtype, 40) +
                        ", supported are F32, F16, BF16, F8_E4M3 and F8_E5M2");
    else
      resolved.push_back(
          {tensor->name, *tensor->type(), tensor->shape, tensor->blocks ? tensor->blocks->format : nullptr});
  }
  if (missing.empty() && misshaped.empty() && untyped.empty())
    return resolved;
  std::string message = shownPath(table.path()) + ":";
  const char *separator = " ";
  auto add = [&](const std::vector<std::string> &entries, const std::string &what) {
    if (!entries.empty())
      message += std::exchange(separator, "; ") + describeList(entries, what);
  };
  add(missing, "missing");
  add(misshaped, "wrongly shaped");
  add(untyped, "wrongly typed");
  return Error{message};
}

/// Whether `pattern`, in which `*` stands for any text, matches all of `name`.
static bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = pattern.npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

std::vector<std::string> huggingface::findExtraTensors(const TensorTable &table, std::span<const ResolvedTensor> used,
                                                       std::span<const std::string_view> ignored) {
  std::set<std::string_view> needed;
  for (const ResolvedTensor &tensor : used)
    needed.insert(tensor.name);
  std::vector<std::string> extra;
  for (const auto &[name, tensor] : table.tensors()) {
    bool known = needed.contains(name);
    for (std::string_view pattern : ignored)
      known = known || matches(pattern, name);
    if (!known)
      extra.push_back(name);
  }
  return extra;
}
