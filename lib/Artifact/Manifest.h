//===- Manifest.h - The description that an artifact carries -------------------===//
//
// The compiler's side of the JSON that lib/Runtime reads. No path, host, time or
// command line enters it, so that the same input gives the same bytes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/WeightFile.h"
#include "lib/Support/ModelFacts.h"
#include "lib/Support/Variant.h"
#include <optional>

namespace rapt::artifact {

struct Manifest {
  std::string version, name;       ///< Rapt's version; the PREFIX
  std::optional<ModelFacts> model; ///< none for a bare kernel
  Id interfaceId, contentId;       ///< an all-zero content id: the weights were not packed, any content fits
  std::string arch = "x86_64";
  std::vector<Variant> variants; ///< at least one, in the order of the table's entries, best first
  /// The code of a device that runs the dispatches.
  struct Device {
    std::string kind; ///< "cuda"
    struct Image {
      std::string arch, form; ///< "sm_80"; "ptx" or "cubin"
    };
    std::vector<std::vector<Image>> images; ///< of each variant, in the order of its rapt_device_code
  };
  std::optional<Device> device; ///< none for code of CPUs
  int64_t maxTokens = 0, maxRows = 0, maxPositions = 0;
  std::string weightsFile; ///< empty: no weights, or weights inside
  bool weightsInside = false;
  uint64_t weightsBytes = 0, weightsFileBytes = 0;
  struct Cache {
    std::string layout, dtype;
    int64_t block = 0, blockBytes = 0, bytesPerToken = 0;
    int64_t window = 0; ///< tokens that queries read, the last ones; 0: all
    /// Equal layers, and what a head's key and value have, of a cache that is not uniform.
    struct Segment {
      int64_t layers = 0, heads = 0, keyChannels = 0, valueChannels = 0;
      std::string keyDtype, valueDtype;
    };
    std::vector<Segment> segments = {};
  };
  std::optional<Cache> cache, windowCache; ///< the second of layers with a window, where others have none
  int64_t stateBytes = 0;                  ///< of a sequence's states; the entries have their shapes
  std::vector<Parameter> parameters;
  json::Array entries; ///< as the compiler describes them: name, dims, buffers
  /// Where variants differ in their dispatches: for each of them the ops of each entry's dispatches, which entries have
  /// otherwise.
  std::vector<json::Array> dispatches;
};

/// How the parameters are quantized, "w8a8", "w8, groups of 32", "w4, groups of 64 with zeros" or "q4_k, q6_k as
/// stored"; empty if none is.
std::string quantizationOf(const std::vector<Parameter> &parameters);

/// The least minor of the ABI that can run the artifact (rapt/artifact.h).
uint32_t abiMinorOf(const Manifest &manifest);

/// The JSON text, keys in a fixed order.
std::string writeManifest(const Manifest &manifest);

/// The symbol prefix of an output's base name: characters other than letters, digits and _ become _, a leading digit
/// gets m_ before it.
std::string prefixOf(const std::string &baseName);

/// PREFIX.h: C99, declares PREFIX_module and the bounds, with a usage example.
std::string writeHeader(const Manifest &manifest);

} // namespace rapt::artifact
