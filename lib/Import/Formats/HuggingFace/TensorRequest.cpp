//===- TensorRequest.cpp - Meeting requests from a checkpoint ---------------===//
#include "lib/Import/Formats/HuggingFace/TensorRequest.h"
#include "lib/Import/Formats/HuggingFace/MicroscalingFloats.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <array>
#include <optional>
#include <set>

using namespace rapt;
using namespace rapt::huggingface;

static constexpr size_t mostNamed = 200;

static std::string quoted(std::string_view name) { return "\"" + json::printable(name) + "\""; }

static const StoredTensor *findAny(const TensorTable &table, const TensorRequest &request) {
  if (const StoredTensor *tensor = table.find(request.name))
    return tensor;
  for (const std::string &name : request.alternatives)
    if (const StoredTensor *tensor = table.find(name))
      return tensor;
  return nullptr;
}

static std::string describeMissing(const TensorRequest &request) {
  std::string text = quoted(request.name);
  for (const std::string &name : request.alternatives)
    text += " (or " + quoted(name) + ")";
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
        missing.push_back(describeMissing(request));
      continue;
    }
    std::string where = quoted(tensor->name) + " in " + shownPath(tensor->file->path());
    if (tensor->shape != request.shape)
      misshaped.push_back(where + " is " + shownShape(tensor->shape) + ", the configuration needs " +
                          shownShape(request.shape));
    if (!tensor->type())
      untyped.push_back(where + " is " + json::printable(tensor->dtype, 40) + ", supported are F32, F16 and BF16");
    else
      resolved.push_back({tensor->name, *tensor->type(), tensor->shape});
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

namespace {

class SafeTensorsReader : public artifact::TensorReader {
public:
  explicit SafeTensorsReader(const TensorTable &table) {
    for (const auto &[name, tensor] : table.tensors())
      if (tensor.type())
        tensors.emplace(name, Entry{{*tensor.type(), tensor.shape}, {tensor.file, tensor.offset, tensor.bytes}, {}});
    for (const auto &[name, tensor] : table.tensors())
      if (const StoredTensor *scales = tensor.scales.get())
        tensors.at(name).scales = Range{scales->file, scales->offset, scales->bytes};
  }

  const artifact::TensorInfo *find(std::string_view name) const override {
    auto at = tensors.find(name);
    return at == tensors.end() ? nullptr : &at->second.info;
  }

  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    auto at = tensors.find(name);
    if (at == tensors.end())
      return Error{"tensor " + quoted(name) + " is not in the checkpoint"};
    const Entry &entry = at->second;
    return entry.scales ? readScaled(name, entry, byteOffset, out) : readRange(name, entry.data, byteOffset, out);
  }

private:
  /// Bytes of a file.
  struct Range {
    std::shared_ptr<const InputFile> file;
    uint64_t offset, bytes;
  };
  struct Entry {
    artifact::TensorInfo info;
    Range data;
    std::optional<Range> scales; ///< of MXFP4
  };

  static Status readRange(std::string_view name, const Range &range, uint64_t byteOffset, std::span<std::byte> out) {
    // Packing reads hundreds of thousands of pieces of rows: no text is made for one that succeeds.
    auto where = [&] { return shownPath(range.file->path()) + ": tensor " + quoted(name) + ": "; };
    if (byteOffset > range.bytes || out.size() > range.bytes - byteOffset)
      return Error{where() + "bytes " + std::to_string(byteOffset) + " to " + std::to_string(byteOffset + out.size()) +
                   " asked for, it has " + std::to_string(range.bytes)};
    uint64_t begin = range.offset + byteOffset;
    Expected<size_t> got = range.file->readSome(begin, out);
    if (!got)
      return got.error();
    if (*got != out.size())
      return Error{where() + "needs the file's bytes " + std::to_string(begin) + " to " +
                   std::to_string(begin + out.size()) + ", the file now ends at byte " +
                   std::to_string(range.file->sizeNow()) + " (it had " + std::to_string(range.file->size()) +
                   " bytes when opened)"};
    return {};
  }

  /// Values of MXFP4 as bf16, some blocks at a time.
  static Status readScaled(std::string_view name, const Entry &entry, uint64_t byteOffset, std::span<std::byte> out) {
    constexpr uint64_t size = sizeof(uint16_t), most = 4096;
    std::array<std::byte, most / 2 + 1> codes;
    std::array<std::byte, most / microscalingBlock + 1> scales;
    while (!out.empty()) {
      const uint64_t first = byteOffset / size, count = std::min<uint64_t>(out.size() / size, most),
                     last = first + count - 1;
      std::span ownCodes = std::span(codes).first(last / 2 - first / 2 + 1);
      std::span ownScales = std::span(scales).first(last / microscalingBlock - first / microscalingBlock + 1);
      if (Status status = readRange(name, entry.data, first / 2, ownCodes); !status)
        return status;
      if (Status status = readRange(name, *entry.scales, first / microscalingBlock, ownScales); !status)
        return status;
      decodeMicroscaling(first, ownCodes, ownScales, out.first(count * size));
      out = out.subspan(count * size);
      byteOffset += count * size;
    }
    return {};
  }

  std::map<std::string, Entry, std::less<>> tensors;
};

} // namespace

std::unique_ptr<artifact::TensorReader> huggingface::openSafeTensors(const TensorTable &table) {
  return std::make_unique<SafeTensorsReader>(table);
}
