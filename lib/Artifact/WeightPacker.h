//===- WeightPacker.h - From source tensors to a weight file -------------------===//
//
// Streams the model's tensors into the layouts that the compiler chose, in windows
// of bounded size, on several threads, and hashes them on the way. The bytes depend
// on the parameters and tensors alone.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/StagedFile.h"
#include "lib/Artifact/TensorReader.h"
#include "lib/Artifact/WeightFile.h"
#include "lib/Support/Progress.h"

namespace rapt::artifact {

/// A file of the model directory that travels in the weight file as it is.
struct Section {
  std::string name; ///< below 64 bytes, not "weights"
  std::string bytes;
};

/// The header of a file with so many bytes of weights, but for its ids.
Expected<rapt_weights_header> layOut(uint64_t weightsBytes, const std::vector<Section> &sections);

struct PackRequest {
  const std::vector<Parameter> *parameters; ///< offsets assigned
  const TensorReader *reader;
  const std::vector<Section> *sections;
  std::string directory; ///< where the file goes
  std::string base;      ///< its name is base-<id8>.weights
  unsigned threads = 0;  ///< 0: one per processor, at most 8
  /// Is told the bytes of weights as they are written, all in all weightsBytes(*parameters).
  ProgressCallback onBytes = {};
};

/// How well a matrix of one layer was quantized.
struct MatrixError {
  std::string tensor; ///< the first of its sources
  QuantizationError error;
};

/// A packed file under a temporary name until commit().
class PackedWeights {
public:
  Id interfaceId, contentId;
  std::string fileName; ///< without directory
  uint64_t weightsBytes = 0, fileBytes = 0;
  std::vector<MatrixError> errors; ///< of quantized matrices, in the order of the file

  /// Gives the file its name. A file that already has the name and the same header stays as it is; one with other
  /// bytes is an error: weight files are never overwritten, a running program may have them mapped.
  Status commit();

  /// To read the file back before it has a name; dropping it instead of committing leaves nothing.
  int descriptor() const { return staged->descriptor(); }

private:
  friend Expected<PackedWeights> packWeights(const PackRequest &request);
  std::string directory;
  rapt_weights_header header{};
  std::unique_ptr<StagedFile> staged;
};

/// Checks all parameters, then packs. Errors name the parameter, tensor or file, with numbers; nothing stays behind.
Expected<PackedWeights> packWeights(const PackRequest &request);

/// The size the file will have.
Expected<uint64_t> predictFileBytes(const std::vector<Parameter> &parameters, const std::vector<Section> &sections);

} // namespace rapt::artifact
