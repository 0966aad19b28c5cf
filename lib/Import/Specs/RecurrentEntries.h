//===- RecurrentEntries.h - Entries of encoder-decoders that keep a state ---*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Recurrent.h"
#include "lib/Import/Specs/EncoderDecoder.h"

namespace rapt::importing {

/// The states that a recurrent decoder begins with: for each state S of layer k
///
///   tanh(parts[S]_l{k}.weight [hidden, inputs] x + parts[S]_l{k}.bias)
struct FirstStates {
  std::array<std::string, 2> parts; ///< of h, and of an lstm's c
  std::string stack;                ///< name of their layers
  int64_t inputs;                   ///< columns of x

  /// Keeps the states of the rows x [rows, inputs].
  Status walk(const Walk &walk, const RecurrentStack &decoder, mlir::Value x, KeptStates &kept) const;
};

/// Ops on one layer of the cache.
struct CacheLayer {
  CacheLayer(const Scope &top, int64_t number);
  LayerRef ref;
  Scope scope;
};

/// The entries `encode` and `step` of a recurrent decoder with an encoder: states, and where there is attention a cache
/// with the keys and values of the sources. Where weights are declared there is no module, and entries have no
/// arguments.
class RecurrentEntries : protected SequenceEntries {
public:
  RecurrentEntries(mlir::MLIRContext &context, const Walk &walk, ModelModule *module, SequenceFacts facts,
                   const ImportOptions &options);

protected:
  /// Ends `step` with the logits of the rows of x [tokens, columns] that are wanted (walkLogits).
  void endStep(const KeptStates &kept, mlir::Value x, const std::string &tied, int64_t words, int64_t columns);
  mlir::Value read(const KeptStates &kept, llvm::StringRef part, int64_t state);
  mlir::Value matmul(mlir::Value x, const std::string &part, int64_t out, int64_t in, bool hasBias = false) {
    return walk.matmul(x, {.part = part, .out = out, .in = in, .hasBias = hasBias});
  }
  /// The weight attention.score [size] of additive attention, which may be that of a torch.nn.Linear with one output.
  mlir::Value score(int64_t size, bool isMatrix);
  /// The cache with keys and values [tokens, channels] of the sources in layer `layer`.
  mlir::Value append(mlir::Value cache, int64_t layer, mlir::Value keys, mlir::Value values, mlir::Value rowBegin);
  /// The attention of each token's query [tokens, channels] to its sequence's source, in layer `layer` of the cache;
  /// additive with the vector `score` where there is one.
  mlir::Value attend(mlir::Value query, mlir::Value scale, int64_t layer, mlir::Value score = {});
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts);

  Walk walk;
};

} // namespace rapt::importing
