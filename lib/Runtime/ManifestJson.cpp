// Reads the manifest. Exceptions, which are those of this file and of short memory, end here.
#include "lib/Runtime/Device.h"
#include "lib/Runtime/Manifest.h"
#include "rapt/rapt.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>

namespace rapt::runtime {
namespace {

using Json = json::Value;

constexpr size_t maxDepth = 16;
constexpr size_t maxBytes = size_t(16) << 20;
constexpr size_t maxVariants = 256, maxImages = 64;
constexpr int64_t maxNumber = int64_t(1) << 40;
constexpr int64_t mostCost = int64_t(1) << 52; ///< of a term of an op's cost

[[noreturn]] void wrong(const std::string &what) { throw std::runtime_error(what); }

struct WrongVersion {
  int64_t major, minor;
  std::string version;
};

/// The value, or its error as an exception.
template <typename T> T need(Expected<T> found) {
  if (!found)
    wrong(found.error().message);
  return std::move(*found);
}

const Json &member(const Json &object, const char *key) {
  const Json *value = object.find(key);
  if (!value)
    wrong(std::string("has no \"") + key + "\"");
  return *value;
}

/// Null when the member is absent or null.
const Json *memberOrNull(const Json &object, const char *key) {
  const Json *value = object.find(key);
  return value && !value->isNull() ? value : nullptr;
}

const json::Array &list(const Json &object, const char *key) { return *need(json::listOf(member(object, key), key)); }

std::string textOf(const Json &value, const char *what) { return need(json::textOf(value, what)); }
std::string text(const Json &object, const char *key) { return textOf(member(object, key), key); }

int64_t integer(const Json &value, const char *what, int64_t least, int64_t most) {
  return need(json::integerOf(value, what, least, most));
}

int64_t number(const Json &object, const char *key, int64_t least = 1, int64_t most = maxNumber) {
  return integer(member(object, key), key, least, most);
}

int64_t numberOrZero(const Json &object, const char *key) { return object.find(key) ? number(object, key, 0) : 0; }
std::string textOrEmpty(const Json &object, const char *key) {
  return object.find(key) ? text(object, key) : std::string();
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
  const json::Array &abi = list(rapt, "abi");
  if (abi.size() != 2)
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

/// Names of adapters are short: saved sequences hold them.
void checkAdapters(const std::vector<std::string> &names) {
  for (auto name = names.begin(); name != names.end(); ++name)
    if (name->empty() || name->size() > mostAdapterNameBytes || names.size() > mostAdapters ||
        std::find(names.begin(), name, *name) != name)
      wrong("\"adapters\" are not at most " + std::to_string(mostAdapters) + " different names of at most " +
            std::to_string(mostAdapterNameBytes) + " bytes");
}

void listForC(const fact::Numbers &from, std::vector<int32_t> &to) { to.assign(from.begin(), from.end()); }
void listForC(const fact::Names &from, std::vector<const char *> &to) {
  for (const std::string &name : from)
    to.push_back(name.c_str());
}

void readModel(const Json &model, Manifest &m) {
  if (Status read = readFacts(model, m); !read)
    wrong(read.error().message);
  checkAdapters(m.adapters);
#define RAPT_INFO_LIST(TYPE, MEMBER, KEY, MANIFEST, FIELD, COUNT, DOC) listForC(m.MEMBER, m.lists.FIELD);
#include "lib/Support/ModelFacts.def"
}

/// The GPUs that run one of the images.
std::string gpusOf(const std::vector<ManifestImage> &images) {
  auto isOpen = [](const ManifestImage &image) { return !image.isMachineCode && image.arch.back() != 'a'; };
  std::string gpus;
  for (const ManifestImage &image : images) {
    const bool isCovered = !isOpen(image) && std::any_of(images.begin(), images.end(), [&](const ManifestImage &other) {
      return other.arch == image.arch && (isOpen(other) || &other < &image);
    });
    if (!isCovered)
      gpus += (gpus.empty() ? "" : ", ") + image.arch + (isOpen(image) ? " or newer" : "");
  }
  return gpus;
}

/// The code for GPUs, if any, that the code of a variant starts.
void readDevice(const Json &holder, ManifestVariant &variant) {
  const Json *device = memberOrNull(holder, "device");
  if (!device)
    return;
  if (text(*device, "kind") != "cuda")
    wrong("device kind \"" + text(*device, "kind") + "\" is unknown");
  for (const Json &item : list(*device, "images")) {
    const std::string arch = text(item, "arch"), form = text(item, "form");
    GpuArch parsed;
    if (!GpuArch::parse(arch.c_str(), parsed))
      wrong("GPU architecture \"" + arch.substr(0, 40) + "\" is not like \"sm_80\" or \"sm_90a\"");
    if (form != "ptx" && form != "cubin")
      wrong("form of code \"" + form.substr(0, 40) + "\" is unknown");
    variant.images.push_back({arch, form == "cubin"});
  }
  if (variant.images.empty() || variant.images.size() > maxImages)
    wrong("has " + std::to_string(variant.images.size()) + " \"images\", not 1 to " + std::to_string(maxImages));
  variant.gpus = gpusOf(variant.images);
}

/// A member of "variants", or the target, which holds an only variant. The target's device was that of all variants
/// before each had its own.
ManifestVariant readVariant(const Json &holder, const Json &target) {
  ManifestVariant variant{text(holder, "cpu"), {}, {}, {}, {}, {}};
  for (const Json &feature : list(holder, "features"))
    variant.features.push_back(textOf(feature, "features"));
  readDevice(holder.find("device") ? holder : target, variant);
  if (!holder.find("dispatches"))
    return variant;
  for (const Json &entry : list(holder, "dispatches")) {
    if (!entry.isArray())
      wrong("\"dispatches\" of a variant are not a list for each entry");
    std::vector<int> &ops = variant.dispatches.emplace_back();
    for (const Json &op : *entry.asArray())
      ops.push_back(int(integer(op, "dispatches", -1, std::numeric_limits<int>::max())));
  }
  return variant;
}

void nameVariants(Manifest &m) {
  const std::vector<ManifestImage> &first = m.variants.front().images;
  const bool areOfGpus = std::any_of(m.variants.begin(), m.variants.end(), [&](const ManifestVariant &variant) {
    if (variant.images.empty() != first.empty())
      wrong("has code for GPUs in some of its \"variants\" and not in others");
    return !first.empty() && variant.images.front().arch != first.front().arch;
  });
  for (ManifestVariant &variant : m.variants) {
    variant.name = areOfGpus ? variant.images.front().arch : variant.cpu;
    if (areOfGpus || &variant == &m.variants.front())
      m.gpus += (m.gpus.empty() ? "" : ", ") + variant.gpus;
  }
}

void readTarget(const Json &target, Manifest &m) {
  m.arch = text(target, "arch");
  if (target.find("variants"))
    for (const Json &variant : list(target, "variants"))
      m.variants.push_back(readVariant(variant, target));
  else
    m.variants.push_back(readVariant(target, target));
  if (m.variants.empty() || m.variants.size() > maxVariants)
    wrong("has " + std::to_string(m.variants.size()) + " \"variants\", not 1 to " + std::to_string(maxVariants));
  nameVariants(m);
}

void readWeights(const Json &root, Manifest &m) {
  const Json *found = memberOrNull(root, "weights");
  m.hasWeights = found;
  if (!found)
    return;
  const Json &weights = *found;
  m.weightsInside = !memberOrNull(weights, "file");
  if (!m.weightsInside)
    m.weightsFile = text(weights, "file");
  bool plain = !m.weightsFile.empty() && m.weightsFile != "." && m.weightsFile != ".." && m.weightsFile.size() <= 255 &&
               m.weightsFile.find('/') == std::string::npos;
  if (!plain && !m.weightsInside)
    wrong("weights \"file\" is not a plain file name");
  m.weightsBytes = uint64_t(number(weights, "bytes", 0, int64_t(1) << 52));
  m.weightsFileBytes = uint64_t(number(weights, "size_of_file", 0, int64_t(1) << 52));
}

/// Code knows where its parameters are; of tables that are read by rows the runtime needs to know, too.
void readTables(const Json &root, Manifest &m) {
  if (!root.find("parameters"))
    return;
  for (const Json &parameter : list(root, "parameters")) {
    if (!parameter.find("read_by_rows"))
      continue;
    const int64_t most = int64_t(1) << 52;
    ManifestRange table{uint64_t(number(parameter, "offset", 0, most)), uint64_t(number(parameter, "stride", 0, most))};
    if (__builtin_mul_overflow(table.bytes, uint64_t(number(parameter, "layers", 1, most)), &table.bytes) ||
        table.offset > m.weightsBytes || table.bytes > m.weightsBytes - table.offset)
      wrong("parameter \"" + text(parameter, "name") + "\" does not lie in the " + std::to_string(m.weightsBytes) +
            " bytes of weights");
    m.tables.push_back(table);
  }
}

ManifestCache readCache(const Json &cache) {
  ManifestCache read{};
  read.layout = text(cache, "layout");
  read.dtype = text(cache, "dtype");
  read.blockBytes = number(cache, "block_bytes");
  read.bytesPerToken = number(cache, "bytes_per_token");
  read.window = cache.find("window") ? number(cache, "window", 1) : 0;
  if (read.blockBytes % 64)
    wrong("\"block_bytes\" is no multiple of 64");
  return read;
}

void readCaches(const Json &root, Manifest &m) {
  const Json *cache = memberOrNull(root, "cache"), *windowCache = memberOrNull(root, "window_cache");
  m.hasCache = cache;
  if (!cache && windowCache)
    wrong("\"window_cache\" is there without \"cache\"");
  if (!cache)
    return;
  m.cacheBlock = number(*cache, "block", 1, 1 << 20);
  m.caches[m.cacheCount++] = readCache(*cache);
  if (!windowCache)
    return;
  m.caches[m.cacheCount++] = readCache(*windowCache);
  if (m.caches[0].window || !m.caches[1].window || number(*windowCache, "block") != m.cacheBlock)
    wrong("\"window_cache\" has no \"window\", or \"cache\" has one or other blocks");
}

BufferKind bufferKind(const std::string &kind) {
  static const char *const names[] = {"weights", "workspace", "cache", "input", "output"};
  for (int i = 0; i < 5; ++i)
    if (kind == names[i])
      return BufferKind(i);
  wrong("buffer kind \"" + kind + "\" is unknown");
}

/// The number behind the last `mark` of `text`, which is cut there; `otherwise` where there is no such mark.
int64_t cutNumber(std::string &text, char mark, int64_t otherwise) {
  size_t at = text.rfind(mark);
  if (at == std::string::npos)
    return otherwise;
  const std::string digits = text.substr(at + 1);
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos)
    wrong("extent \"" + text + "\" has no number after '" + mark + "'");
  text.resize(at);
  return std::stoll(digits);
}

/// "dim" or "dim/N"; what it names has at most 2^31 values, so that a product of two fits.
int readFactor(std::string text, const ManifestEntry &entry, int64_t &divisor) {
  divisor = cutNumber(text, '/', 1);
  int dim = entry.findDim(text);
  if (dim < 0)
    wrong("entry \"" + entry.name + "\" has no dim \"" + text + "\"");
  if (divisor < 1)
    wrong("an extent divides \"" + text + "\" by 0");
  return dim;
}

/// A number, or "dim+N", "dim/N*dim/N+N" without what is 1, none or 0.
ManifestExtent readExtent(const Json &item, const ManifestEntry &entry, bool isOutput) {
  if (item.kind() == json::Kind::Integer)
    return {-1, integer(item, "shape", 0, maxNumber)};
  std::string text = textOf(item, "shape");
  const std::string whole = text;
  ManifestExtent extent{-1, cutNumber(text, '+', 0)};
  const size_t times = text.find('*');
  extent.dim = readFactor(text.substr(0, times), entry, extent.divisor);
  if (times != std::string::npos)
    extent.other = readFactor(text.substr(times + 1), entry, extent.otherDivisor);
  for (int dim : {extent.dim, extent.other})
    if (extent.isProduct() && dim >= 0 && entry.dims[dim].most > INT32_MAX)
      wrong("extent \"" + whole + "\" has a dim without a bound");
  if (extent.isProduct() && !isOutput)
    wrong("extent \"" + whole + "\" of an input is no dim");
  return extent;
}

ManifestBuffer readBuffer(const Json &item, const ManifestEntry &entry) {
  ManifestBuffer buffer{text(item, "name"), bufferKind(text(item, "kind")), {}, {}, 0, false};
  const bool isState = buffer.kind == BufferKind::Cache && !isCacheName(buffer.name);
  if (buffer.kind != BufferKind::Input && buffer.kind != BufferKind::Output && !isState)
    return buffer;
  buffer.dtype = text(item, "dtype");
  for (const Json &extent : list(item, "shape"))
    buffer.shape.push_back(readExtent(extent, entry, buffer.kind == BufferKind::Output));
  if (buffer.shape.size() > 8)
    wrong("buffer \"" + buffer.name + "\" has more than 8 dimensions");
  buffer.limit = numberOrZero(item, "limit");
  buffer.optional = item.find("optional");
  return buffer;
}

/// The input of an entry that a count names, -1 without; of 32-bit integers along one dim.
int readCounted(const Json &count, const char *key, const ManifestEntry &entry) {
  if (!count.find(key))
    return -1;
  int found = entry.findBuffer(text(count, key).c_str());
  if (found < 0 || entry.buffers[found].dtype != "i32" || entry.buffers[found].shape.size() != 1 ||
      entry.buffers[found].shape[0].isProduct())
    wrong("entry \"" + entry.name + "\" counts by no input of lengths");
  return found;
}

ManifestCount readCount(const Json &json, const ManifestEntry &entry) {
  ManifestCount count{};
  const std::string kind = text(json, "kind");
  static const char *const kinds[] = {"pairs", "keys", "steps"};
  const auto *at = std::find(std::begin(kinds), std::end(kinds), kind);
  if (at == std::end(kinds))
    wrong("count \"" + kind + "\" is unknown");
  count.kind = ManifestCount::Kind(at - kinds);
  count.name = text(json, "name");
  count.queries = readCounted(json, "queries", entry);
  count.past = readCounted(json, "past", entry);
  count.keysBegin = readCounted(json, "keys_begin", entry);
  count.keys = readCounted(json, "keys", entry);
  if (count.queries < 0)
    wrong("entry \"" + entry.name + "\" has a count without queries");
  count.lower = json.find("lower") ? number(json, "lower", -maxNumber) : INT64_MIN;
  count.upper = json.find("upper") ? number(json, "upper", -maxNumber) : INT64_MAX;
  count.rows = json.find("rows") ? number(json, "rows", 1) : 1;
  return count;
}

ManifestSum readSum(const Json &op, const char *key, const ManifestEntry &entry) {
  ManifestSum sum;
  if (!op.find(key))
    return sum;
  for (const Json &item : list(op, key)) {
    const json::Array *product = item.asArray();
    if (!product || product->empty())
      wrong(std::string("\"") + key + "\" is no list of products");
    ManifestSum::Term term{integer((*product)[0], key, -mostCost, mostCost), {}};
    for (size_t i = 1; i < product->size(); ++i) {
      ManifestSum::Factor factor;
      const std::string name = textOf((*product)[i], key);
      for (size_t c = 0; c < entry.counts.size(); ++c)
        if (entry.counts[c].name == name)
          factor.count = int(c);
      if (factor.count < 0)
        factor.dim = readFactor(name, entry, factor.divisor);
      term.factors.push_back(factor);
    }
    sum.terms.push_back(std::move(term));
  }
  return sum;
}

/// Reads the entry's ops, their costs, and the op of each dispatch. An artifact may have none.
void readCosts(const Json &json, ManifestEntry &entry) {
  const Json *costs = json.find("costs");
  if (!costs)
    return;
  for (const Json &item : list(*costs, "counts"))
    entry.counts.push_back(readCount(item, entry));
  for (const Json &item : list(*costs, "ops")) {
    ManifestOp op{text(item, "op"), textOrEmpty(item, "name"), textOrEmpty(item, "dtype"), 0, 0, 1, {}, {}, {}, {}};
    if (item.find("layers")) {
      op.layers = number(item, "layers", 1, 1 << 20);
      op.firstLayer = number(item, "first_layer", 0, 1 << 20);
      op.layerStep = number(item, "layer_step", 1, 1 << 20);
    }
    op.flops = readSum(item, "flops", entry);
    op.weights = readSum(item, "weights", entry);
    op.cache = readSum(item, "cache", entry);
    op.activations = readSum(item, "activations", entry);
    entry.ops.push_back(std::move(op));
  }
  // Compilers before the key "dispatches" wrote "regions".
  for (const char *key : {"dispatches", "regions"})
    if (json.find(key) && entry.dispatches.empty())
      for (const Json &item : list(json, key))
        entry.dispatches.push_back(int(integer(item, key, -1, int64_t(entry.ops.size()) - 1)));
}

ManifestEntry readEntry(const Json &json) {
  ManifestEntry entry;
  entry.name = text(json, "name");
  for (const Json &dim : list(json, "dims"))
    entry.dims.push_back({textOf(dim, "dims"), 0, maxNumber});
  if (entry.dims.size() > 32)
    wrong("entry \"" + entry.name + "\" has more than 32 dims");
  const json::Array &bounds = list(json, "bounds");
  if (bounds.size() != entry.dims.size())
    wrong("entry \"" + entry.name + "\" has not as many bounds as dims");
  for (size_t i = 0; i < bounds.size(); ++i) {
    const json::Array *pair = bounds[i].asArray();
    if (!pair || pair->size() != 2)
      wrong("\"bounds\" are not pairs of numbers");
    entry.dims[i].least = integer((*pair)[0], "bounds", 0, maxNumber);
    entry.dims[i].most = integer((*pair)[1], "bounds", 0, maxNumber);
  }
  for (const Json &item : list(json, "buffers"))
    entry.buffers.push_back(readBuffer(item, entry));
  readCosts(json, entry);
  return entry;
}

void checkDispatches(const ManifestVariant &variant, const std::vector<ManifestEntry> &entries) {
  if (variant.dispatches.empty())
    return;
  if (variant.dispatches.size() != entries.size())
    wrong("has \"dispatches\" of " + std::to_string(variant.dispatches.size()) + " entries in a variant, not of " +
          std::to_string(entries.size()));
  for (size_t e = 0; e < entries.size(); ++e)
    for (int op : variant.dispatches[e])
      if (op >= int(entries[e].ops.size()))
        wrong("has a dispatch of op " + std::to_string(op) + " in a variant, but entry \"" + entries[e].name +
              "\" has " + std::to_string(entries[e].ops.size()));
}

void readAll(const Json &root, Manifest &m) {
  readVersion(root, m);
  readName(root, m);
  if (const Json *model = memberOrNull(root, "model"))
    readModel(*model, m);
  m.interfaceId = id(root, "interface_id");
  m.contentId = id(root, "content_id");
  readTarget(member(root, "target"), m);
  if (const Json *bounds = memberOrNull(root, "bounds")) {
    m.maxTokens = numberOrZero(*bounds, "tokens");
    m.maxRows = numberOrZero(*bounds, "rows");
    m.maxPositions = numberOrZero(*bounds, "positions");
  }
  readWeights(root, m);
  readTables(root, m);
  readCaches(root, m);
  for (const Json &entry : list(root, "entries"))
    m.entries.push_back(readEntry(entry));
  for (const ManifestVariant &variant : m.variants)
    checkDispatches(variant, m.entries);
}

Json parse(const char *text, size_t bytes) {
  if (bytes > maxBytes)
    wrong("takes " + std::to_string(bytes) + " bytes, more than " + std::to_string(maxBytes));
  Json root;
  json::Fault fault;
  if (json::parse({text, bytes}, maxDepth, root, fault))
    return root;
  const std::string byte = std::to_string(fault.byte);
  wrong(fault.kind == json::Fault::Depth      ? "nests deeper than " + std::to_string(maxDepth)
        : fault.kind == json::Fault::KeyTwice ? "is wrong at byte " + byte + ": " + fault.reason
                                              : "is not JSON from byte " + byte + " on");
}

} // namespace

int ManifestEntry::findDim(const std::string &dim) const {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == dim)
      return int(i);
  return -1;
}

int ManifestEntry::findBuffer(const char *buffer) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (!buffers[i].dtype.empty() && buffers[i].name == buffer)
      return int(i);
  return -1;
}

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
