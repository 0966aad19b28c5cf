//===- Manifest.cpp - The description that an artifact carries -----------------===//
#include "lib/Artifact/Manifest.h"
#include "lib/Artifact/Conversion.h"

namespace rapt::artifact {

namespace {

using json::Array;
using json::Object;
using json::Value;

template <typename T> Value array(const std::vector<T> &items) {
  Array values;
  for (const T &item : items)
    values.emplace_back(item);
  return Value(std::move(values));
}

Value text(const std::string &s) { return Value(s); }
Value number(uint64_t n) { return Value(n); }
Value number(int64_t n) { return Value(n); }

Value parameterValue(const Parameter &p) {
  Object members{{"name", text(p.name)},
                 {"dtype", text(elementOf(p))},
                 {"shape", array(p.shape)},
                 {"layers", number(p.layers)},
                 {"layout", text(nameOf(p.layout))},
                 {"column_group", number(p.layout.columnGroup)},
                 {"row_group", number(p.layout.rowGroup)},
                 {"offset", number(p.offset)},
                 {"stride", number(p.layerStride)}};
  if (p.readByRows)
    members.emplace_back("read_by_rows", true);
  return Value(std::move(members));
}

Value deviceValue(const Manifest::Device &device, size_t variant) {
  Array images;
  for (const Manifest::Device::Image &image : device.images[variant])
    images.emplace_back(Object{{"arch", text(image.arch)}, {"form", text(image.form)}});
  return Value(Object{{"kind", text(device.kind)}, {"images", Value(std::move(images))}});
}

/// The members of the only variant stand in the object itself, as before there could be several.
Value targetValue(const Manifest &m) {
  Object target{{"arch", text(m.arch)}};
  Array variants;
  for (size_t i = 0; i < m.variants.size(); ++i) {
    Object members{{"cpu", text(m.variants[i].name)}, {"features", array(m.variants[i].features)}};
    if (m.device)
      members.emplace_back("device", deviceValue(*m.device, i));
    if (!m.dispatches.empty())
      members.emplace_back("dispatches", Value(m.dispatches[i]));
    if (m.variants.size() == 1)
      target.insert(target.end(), members.begin(), members.end());
    else
      variants.emplace_back(std::move(members));
  }
  if (!variants.empty())
    target.emplace_back("variants", Value(std::move(variants)));
  return Value(std::move(target));
}

/// Null without weights; "file" is null for weights inside the library.
Value weightsValue(const Manifest &m) {
  if (m.weightsFile.empty() && !m.weightsInside)
    return Value();
  return Value(Object{{"file", m.weightsInside ? Value() : text(m.weightsFile)},
                      {"bytes", number(m.weightsBytes)},
                      {"size_of_file", number(m.weightsFileBytes)}});
}

} // namespace

/// "q4_k, q6_k as stored", in the order of the formats; empty without blocks.
static std::string blocksOf(const std::vector<Parameter> &parameters) {
  std::string names;
  for (const BlockFormat &format : blockFormats)
    if (std::ranges::any_of(parameters, [&](const Parameter &own) { return own.quantization.blocks == &format; }))
      names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names.empty() ? names : names + " as stored";
}

std::string quantizationOf(const std::vector<Parameter> &parameters) {
  if (std::string blocks = blocksOf(parameters); !blocks.empty())
    return blocks;
  Quantization narrowest; // tables of w4 have 8 bits
  for (const Parameter &parameter : parameters)
    if (parameter.quantization && (!narrowest || parameter.quantization.bits < narrowest.bits))
      narrowest = parameter.quantization;
  if (!narrowest)
    return {};
  if (narrowest.group == 0)
    return "w8a8";
  return "w" + std::to_string(narrowest.bits) + ", groups of " + std::to_string(narrowest.group) +
         (narrowest.zeroPoints ? " with zeros" : "");
}

uint32_t abiMinorOf(const Manifest &manifest) {
  if (manifest.model && manifest.model->readsVectors())
    return 11; // vectors of images and sounds, which name their tokens
  if (manifest.windowCache || (manifest.model && (manifest.model->imageHeight || !manifest.model->adapters.empty())))
    return 10; // a second cache, which forgets; sources that are images; sequences choose among adapters
  if (manifest.model && manifest.model->featureFrames)
    return 9; // sources of features
  if (manifest.device)
    return 8; // launches tell their dispatches and flags
  if (manifest.variants.size() > 1)
    return 3;
  if (manifest.model && manifest.model->sourceVocabulary)
    return 2; // a runtime that checks a source's ids against the target's vocabulary must not run it
  return manifest.weightsInside ? 1 : 0;
}

Value cacheValue(const Manifest::Cache &cache) {
  Object value{{"layout", text(cache.layout)},
               {"dtype", text(cache.dtype)},
               {"block", number(cache.block)},
               {"block_bytes", number(cache.blockBytes)},
               {"bytes_per_token", number(cache.bytesPerToken)}};
  if (cache.window)
    value.emplace_back("window", number(cache.window));
  if (cache.segments.empty())
    return Value(std::move(value));
  auto part = [](int64_t channels, const std::string &dtype) {
    return Value(Object{{"channels", number(channels)}, {"dtype", text(dtype)}});
  };
  Array segments;
  for (const Manifest::Cache::Segment &segment : cache.segments)
    segments.push_back(Value(Object{{"layers", number(segment.layers)},
                                    {"heads", number(segment.heads)},
                                    {"keys", part(segment.keyChannels, segment.keyDtype)},
                                    {"values", part(segment.valueChannels, segment.valueDtype)}}));
  value.emplace_back("segments", Value(std::move(segments)));
  return Value(std::move(value));
}

std::string writeManifest(const Manifest &m) {
  Array abi, parameters;
  abi.emplace_back(int64_t(RAPT_ABI_MAJOR));
  abi.emplace_back(int64_t(abiMinorOf(m)));
  for (const Parameter &parameter : m.parameters)
    parameters.push_back(parameterValue(parameter));
  Object root{{"rapt", Value(Object{{"version", text(m.version)}, {"abi", Value(std::move(abi))}})},
              {"name", text(m.name)}};
  if (m.model)
    root.emplace_back("model", Value(describeFacts(*m.model)));
  root.emplace_back("interface_id", text(m.interfaceId.hex()));
  root.emplace_back("content_id", text(m.contentId.hex()));
  root.emplace_back("target", targetValue(m));
  root.emplace_back("bounds", Value(Object{{"tokens", number(m.maxTokens)},
                                           {"rows", number(m.maxRows)},
                                           {"positions", number(m.maxPositions)}}));
  root.emplace_back("weights", weightsValue(m));
  if (const std::string quantization = quantizationOf(m.parameters); !quantization.empty())
    root.emplace_back("quantization", text(quantization));
  if (m.cache)
    root.emplace_back("cache", cacheValue(*m.cache));
  if (m.windowCache)
    root.emplace_back("window_cache", cacheValue(*m.windowCache));
  root.emplace_back("parameters", Value(std::move(parameters)));
  root.emplace_back("entries", Value(m.entries));
  return json::write(Value(std::move(root)));
}

std::string prefixOf(const std::string &baseName) {
  std::string prefix;
  for (char c : baseName)
    prefix += (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ? c : '_';
  if (prefix.empty() || (prefix[0] >= '0' && prefix[0] <= '9'))
    prefix = "m_" + prefix;
  return prefix;
}

static std::string upperCase(std::string_view text) {
  std::string upper;
  for (char c : text)
    upper += c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  return upper;
}

/// The extents of sources that only some models have, by their names in C.
static std::vector<std::pair<std::string, int64_t>> extentsOfSources(const ModelFacts &facts) {
  std::vector<std::pair<std::string, int64_t>> extents;
  auto add = [&](InManifest manifest, const char *field, const auto &fact) {
    if constexpr (std::is_same_v<decltype(fact), const fact::Number &>)
      if (manifest == InManifest::WhereGiven)
        extents.emplace_back(upperCase(field), fact);
  };
#define RAPT_INFO_FACT(TYPE, MEMBER, KEY, MANIFEST, FIELD, DOC) add(InManifest::MANIFEST, #FIELD, facts.MEMBER);
#include "lib/Support/ModelFacts.def"
  return extents;
}

std::string writeHeader(const Manifest &m) {
  const std::string prefix = upperCase(m.name);
  std::string header = "/* " + m.name + ": a model compiled by Rapt " + m.version + ".\n";
  header += " *\n"
            " * Linked into a program:\n"
            " *   rapt_module *module;\n"
            " *   char message[256];\n"
            " *   rapt_status status = rapt_module_from_artifact(&" +
            m.name +
            "_module, NULL, &module, message, sizeof message);\n"
            " *\n"
            " * See rapt/rapt.h for rapt_module_open, contexts, sequences and steps. */\n";
  header += "#ifndef RAPT_MODEL_" + prefix + "_H\n#define RAPT_MODEL_" + prefix + "_H\n#include <rapt/artifact.h>\n\n";
  auto bound = [&](const std::string &name, int64_t value) {
    if (value > 0)
      header += "#define " + prefix + "_" + name + " " + std::to_string(value) + "\n";
  };
  bound("MAX_TOKENS", m.maxTokens);
  bound("MAX_ROWS", m.maxRows);
  bound("MAX_POSITIONS", m.maxPositions);
  if (m.model) {
    bound("VOCABULARY", m.model->vocabulary);
    for (const auto &[name, extent] : extentsOfSources(*m.model))
      bound(name, extent);
  }
  header += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nextern const rapt_artifact " + m.name +
            "_module;\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return header;
}

} // namespace rapt::artifact
