// The one file of the runtime that knows the JSON library, whose exceptions end here.
#include "lib/Runtime/Manifest.h"
#include "rapt/rapt.h"
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace rapt::runtime {
namespace {

using Json = nlohmann::json;

constexpr int maxDepth = 16;
constexpr size_t maxBytes = size_t(16) << 20;
constexpr int64_t maxNumber = int64_t(1) << 40;

struct WrongVersion {
  int64_t major, minor;
  std::string version;
};

[[noreturn]] void wrong(const std::string &what) { throw std::runtime_error(what); }

const Json &member(const Json &object, const char *key) {
  if (!object.is_object() || !object.contains(key))
    wrong(std::string("has no \"") + key + "\"");
  return object[key];
}

std::string text(const Json &object, const char *key) {
  const Json &value = member(object, key);
  if (!value.is_string() || value.get_ref<const std::string &>().find('\0') != std::string::npos)
    wrong(std::string("\"") + key + "\" is no text");
  return value;
}

int64_t integer(const Json &value, const char *what, int64_t least, int64_t most) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(most)) ||
      value.get<int64_t>() < least || value.get<int64_t>() > most)
    wrong(std::string("\"") + what + "\" is " + value.dump().substr(0, 40) + ", not an integer from " +
          std::to_string(least) + " to " + std::to_string(most));
  return value;
}

int64_t number(const Json &object, const char *key, int64_t least = 1, int64_t most = maxNumber) {
  return integer(member(object, key), key, least, most);
}

int64_t numberOrZero(const Json &object, const char *key) { return object.contains(key) ? number(object, key, 0) : 0; }
std::string textOrEmpty(const Json &object, const char *key) {
  return object.contains(key) ? text(object, key) : std::string();
}

Id id(const Json &object, const char *key) {
  std::string digits = text(object, key);
  Id result{};
  if (digits.size() != 32 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    wrong(std::string("\"") + key + "\" is not 32 hexadecimal digits");
  for (int i = 0; i < 16; ++i)
    result.bytes[i] = uint8_t(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return result;
}

void readVersion(const Json &root, Manifest &m) {
  const Json &rapt = member(root, "rapt");
  m.version = text(rapt, "version");
  const Json &abi = member(rapt, "abi");
  if (!abi.is_array() || abi.size() != 2)
    wrong("\"abi\" is not a pair of numbers");
  m.abiMajor = integer(abi[0], "abi", 0, 1 << 20);
  m.abiMinor = integer(abi[1], "abi", 0, 1 << 20);
  if (m.abiMajor != RAPT_ABI_MAJOR || m.abiMinor > RAPT_ABI_MINOR)
    throw WrongVersion{m.abiMajor, m.abiMinor, m.version};
}

/// The name is a prefix of C symbols: letters, digits and _, no leading digit.
void readName(const Json &root, Manifest &m) {
  m.name = text(root, "name");
  bool good = !m.name.empty() && m.name.size() <= 256 && !(m.name[0] >= '0' && m.name[0] <= '9');
  for (char c : m.name)
    good &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  if (!good)
    wrong("\"name\" is no C identifier");
}

void readModel(const Json &model, Manifest &m) {
  m.family = textOrEmpty(model, "family");
  m.task = textOrEmpty(model, "task");
  m.sourceDtype = textOrEmpty(model, "source_dtype");
  m.layers = numberOrZero(model, "layers");
  m.hidden = numberOrZero(model, "hidden");
  m.heads = numberOrZero(model, "heads");
  m.kvHeads = numberOrZero(model, "kv_heads");
  m.headDim = numberOrZero(model, "head_dim");
  m.vocabulary = numberOrZero(model, "vocab");
  m.positions = numberOrZero(model, "positions");
  m.parameters = numberOrZero(model, "parameters");
  if (model.contains("eos"))
    for (const Json &token : member(model, "eos"))
      m.eos.push_back(int32_t(integer(token, "eos", 0, INT32_MAX)));
}

void readTarget(const Json &target, Manifest &m) {
  m.arch = text(target, "arch");
  m.cpu = text(target, "cpu");
  for (const Json &feature : member(target, "features")) {
    if (!feature.is_string())
      wrong("\"features\" holds something that is no text");
    m.features.push_back(feature);
  }
}

void readWeights(const Json &root, Manifest &m) {
  m.hasWeights = root.contains("weights") && !root["weights"].is_null();
  if (!m.hasWeights)
    return;
  const Json &weights = root["weights"];
  m.weightsFile = text(weights, "file");
  if (m.weightsFile.empty() || m.weightsFile == "." || m.weightsFile == ".." || m.weightsFile.size() > 255 ||
      m.weightsFile.find('/') != std::string::npos)
    wrong("weights \"file\" is not a plain file name");
  m.weightsBytes = uint64_t(number(weights, "bytes", 0, int64_t(1) << 52));
  m.weightsFileBytes = uint64_t(number(weights, "size_of_file", 0, int64_t(1) << 52));
}

void readCache(const Json &root, Manifest &m) {
  m.hasCache = root.contains("cache") && !root["cache"].is_null();
  if (!m.hasCache)
    return;
  const Json &cache = root["cache"];
  m.cacheLayout = text(cache, "layout");
  m.cacheDtype = text(cache, "dtype");
  m.cacheBlock = number(cache, "block", 1, 1 << 20);
  m.cacheBlockBytes = number(cache, "block_bytes");
  m.cacheBytesPerToken = number(cache, "bytes_per_token");
  if (m.cacheBlockBytes % 64)
    wrong("\"block_bytes\" is no multiple of 64");
}

BufferKind bufferKind(const std::string &kind) {
  static const char *const names[] = {"weights", "workspace", "cache", "input", "output"};
  for (int i = 0; i < 5; ++i)
    if (kind == names[i])
      return BufferKind(i);
  wrong("buffer kind \"" + kind + "\" is unknown");
}

ManifestEntry readEntry(const Json &json) {
  ManifestEntry entry;
  entry.name = text(json, "name");
  for (const Json &dim : member(json, "dims")) {
    if (!dim.is_string())
      wrong("\"dims\" holds something that is no text");
    entry.dims.push_back(dim);
  }
  for (const Json &json : member(json, "buffers")) {
    ManifestBuffer buffer{text(json, "name"), bufferKind(text(json, "kind")), {}};
    if (buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output)
      buffer.dtype = text(json, "dtype");
    entry.buffers.push_back(std::move(buffer));
  }
  return entry;
}

void readAll(const Json &root, Manifest &m) {
  readVersion(root, m);
  readName(root, m);
  if (root.contains("model") && !root["model"].is_null())
    readModel(root["model"], m);
  m.interfaceId = id(root, "interface_id");
  m.contentId = id(root, "content_id");
  readTarget(member(root, "target"), m);
  if (root.contains("bounds")) {
    m.maxTokens = numberOrZero(root["bounds"], "tokens");
    m.maxRows = numberOrZero(root["bounds"], "rows");
    m.maxPositions = numberOrZero(root["bounds"], "positions");
  }
  readWeights(root, m);
  readCache(root, m);
  for (const Json &entry : member(root, "entries"))
    m.entries.push_back(readEntry(entry));
}

Json parse(const char *text, size_t bytes) {
  if (bytes > maxBytes)
    wrong("takes " + std::to_string(bytes) + " bytes, more than " + std::to_string(maxBytes));
  auto bounded = [](int depth, Json::parse_event_t, Json &) {
    if (depth > maxDepth)
      wrong("nests deeper than " + std::to_string(maxDepth));
    return true;
  };
  return Json::parse(text, text + bytes, bounded);
}

} // namespace

rapt_status parseManifest(const char *text, size_t bytes, const char *file, Manifest **manifest, const Report &report) {
  try {
    auto result = std::make_unique<Manifest>();
    readAll(parse(text, bytes), *result);
    *manifest = result.release();
    return RAPT_OK;
  } catch (const WrongVersion &found) {
    return report.fail(
        RAPT_MISMATCH, "%s: made for runtime ABI %lld.%lld by Rapt %s; this runtime has ABI %d.%d (Rapt %s): %s", file,
        (long long)found.major, (long long)found.minor, found.version.c_str(), RAPT_ABI_MAJOR, RAPT_ABI_MINOR,
        rapt_version(), found.major < RAPT_ABI_MAJOR ? "compile the model again" : "use a newer runtime");
  } catch (const std::bad_alloc &) {
    return report.fail(RAPT_NOMEM, "%s: no memory for the manifest of %zu bytes", file, bytes);
  } catch (const std::exception &e) {
    return report.fail(RAPT_BAD_FILE, "%s: the manifest %s", file, e.what());
  }
}

} // namespace rapt::runtime
