//===- Manifest.h - The description that an artifact carries -------------------===//
//
// The JSON that the compiler writes (lib/Artifact) and every artifact carries
// twice: in its table, and in the ELF section .rapt.manifest, which can be read
// without loading code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/Message.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Support/ModelFacts.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::runtime {

/// An extent of a buffer: a number, the value of a dim and `plus`, or of an output (dim / divisor) (other /
/// otherDivisor)
/// + plus, rounded down: the tokens of an image that is cut into patches.
struct ManifestExtent {
  int dim; ///< index into the entry's dims, -1 for a number
  int64_t plus;
  int64_t divisor = 1;
  int other = -1; ///< index of a second dim, -1 without
  int64_t otherDivisor = 1;

  bool isProduct() const { return divisor != 1 || other >= 0; }
};

struct ManifestBuffer {
  std::string name;
  BufferKind kind;
  std::string dtype; ///< of inputs, outputs and states, as are all that follow; empty of others
  std::vector<ManifestExtent> shape;
  int64_t limit; ///< integers are less than this; 0: any
  bool optional; ///< zeros where a caller leaves it out
};

/// The value of an extent for these dims.
inline int64_t extentOf(const ManifestExtent &e, const int64_t *dims) {
  const int64_t other = e.other < 0 ? 1 : dims[e.other] / e.otherDivisor;
  return e.plus + (e.dim < 0 ? 0 : dims[e.dim] / e.divisor * other);
}

/// Bytes of an element of an input or output.
inline uint64_t elementBytes(const ManifestBuffer &buffer) { return buffer.dtype == "i64" ? 8 : 4; }

/// Bytes of an input or output for these dims; mostBytes or more where no memory has as many.
inline constexpr uint64_t mostBytes = uint64_t(1) << 46;
inline uint64_t bytesOf(const ManifestBuffer &buffer, const int64_t *dims) {
  uint64_t bytes = elementBytes(buffer);
  for (const ManifestExtent &e : buffer.shape)
    if (__builtin_mul_overflow(bytes, uint64_t(extentOf(e, dims)), &bytes) || bytes > mostBytes)
      return UINT64_MAX;
  return bytes;
}

struct ManifestDim {
  std::string name;
  int64_t least, most;
};

/// A number that depends on the lengths of an entry's sequences. With q queries in sequence r, which begin at position
/// p = past[r], and k keys (keys[r], keys_begin[r + 1] - keys_begin[r], or p + q):
struct ManifestCount {
  enum Kind : uint8_t {
    Pairs, ///< of queries and keys: a query at i sees keys from i + lower on, below i + upper
    Keys,  ///< that some query of the row sees
    Steps  ///< of tiles of `rows` rows, each as many as its longest row has queries
  } kind;
  std::string name;
  int queries = -1, past = -1, keysBegin = -1, keys = -1; ///< indices into the entry's buffers, -1 for none
  int64_t lower, upper;                                   ///< INT64_MIN and INT64_MAX without
  int64_t rows = 1;
};

/// A polynomial over dims and counts: each term is a number and its factors.
struct ManifestSum {
  struct Factor {
    int dim = -1, count = -1; ///< one of them is an index
    int64_t divisor = 1;      ///< of a dim, rounded down
  };
  struct Term {
    int64_t number;
    std::vector<Factor> factors;
  };
  std::vector<Term> terms;
};

/// An op of an entry and what it costs.
struct ManifestOp {
  std::string op, name; ///< "linear", "h.{layer}.attn.c_attn"
  std::string dtype;    ///< of the operands of its matmuls, empty without
  int64_t layers = 0;   ///< times that an entry runs it; 0: once, outside of the layers
  int64_t firstLayer = 0, layerStep = 1;
  ManifestSum flops, weights, cache, activations; ///< floating-point operations of matmuls; bytes
};

struct ManifestEntry {
  std::string name;
  std::vector<ManifestDim> dims;
  std::vector<ManifestBuffer> buffers;
  std::vector<ManifestCount> counts;
  std::vector<ManifestOp> ops;
  std::vector<int> dispatches; ///< for each number that closures of dispatches begin with, the op, -1 for none

  /// The index of a dim or of an input, output or state, -1 where there is none.
  int findDim(const std::string &dim) const;
  int findBuffer(const char *buffer) const;
};

/// A 128-bit id in the byte order of the weight file.
struct Id {
  uint8_t bytes[16];
};

/// Code for one kind of GPU.
struct ManifestImage {
  std::string arch;   ///< "sm_90a"
  bool isMachineCode; ///< PTX otherwise
};

/// Code for one kind of processor.
struct ManifestVariant {
  std::string cpu;
  std::vector<std::string> features; ///< LLVM's names
  std::vector<ManifestImage> images; ///< of code for GPUs, best first; none: code for CPUs
  std::string gpus;                  ///< "sm_90a, sm_80 or newer": what the images run on
  std::string name;                  ///< the CPU's, or the GPU's architecture where variants differ in it
  /// Those of each entry, where variants differ in them; else empty, and entries have them.
  std::vector<std::vector<int>> dispatches;
};

inline constexpr int mostCaches = 2;

/// Keys and values of some layers.
struct ManifestCache {
  std::string layout, dtype;
  int64_t blockBytes, bytesPerToken;
  int64_t window; ///< keys that a query reads, the last ones; 0: all
};

/// Bytes of the section "weights".
struct ManifestRange {
  uint64_t offset, bytes;
};
inline constexpr size_t mostAdapters = 64, mostAdapterNameBytes = 63;

/// Elements of lists in C.
namespace forC {
using Numbers = int32_t;
using Names = const char *;
} // namespace forC

/// Lists among the facts as applications get them.
struct InfoLists {
#define RAPT_INFO_LIST(TYPE, MEMBER, KEY, MANIFEST, FIELD, COUNT, DOC) std::vector<forC::TYPE> FIELD;
#include "lib/Support/ModelFacts.def"
};

/// The facts about the model, which a bare kernel has none of, and about its code.
struct Manifest : ModelFacts {
  std::string version, name;
  int64_t abiMajor, abiMinor;
  InfoLists lists;
  Id interfaceId, contentId;
  std::string arch;
  std::vector<ManifestVariant> variants; ///< at least one, best first
  std::string gpus;                      ///< what the images of all variants run on
  int64_t maxTokens, maxRows, maxPositions;
  bool hasWeights, hasCache;
  bool weightsInside;      ///< a part of the library
  std::string weightsFile; ///< one path component; empty for weights inside
  uint64_t weightsBytes, weightsFileBytes;
  std::vector<ManifestRange> tables;  ///< of which steps look rows up, and read nothing else
  int64_t cacheBlock;                 ///< tokens of a block of every cache
  ManifestCache caches[mostCaches]{}; ///< the second of layers with a window, where others have none
  int cacheCount = 0;
  std::vector<ManifestEntry> entries;

  /// The extents of a source of features: [channels, frames] of sound, or [channels, height, width] of an image.
  struct Extents {
    int rank;
    int64_t sizes[3];
  };
  Extents sourceExtents() const {
    return imageHeight ? Extents{3, {imageChannels, imageHeight, imageWidth}}
                       : Extents{2, {featureChannels, featureFrames, 0}};
  }
  bool isForDevice() const { return !variants.front().images.empty(); }
};

/// Parses `text`; `file` names it in messages. ABI versions are compared before anything else is read, so that an
/// artifact of another version is told as such. The caller owns *manifest (delete).
rapt_status parseManifest(const char *text, size_t bytes, const char *file, Manifest **manifest, const Report &report);

/// Reads section .rapt.manifest of an ELF64 file. *text is from malloc and NUL-terminated.
rapt_status readManifestSection(const char *path, char **text, size_t *bytes, const Report &report);

/// "0123...", 32 digits and a NUL.
struct IdText {
  char text[33];
};
IdText show(const Id &id);

} // namespace rapt::runtime
