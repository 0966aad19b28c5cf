//===- RecurrentEntries.h - Entries of encoder-decoders that keep a state ---*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Recurrent.h"
#include "lib/Import/Specs/EncoderDecoder.h"

namespace rapt::importing {

/// Sizes of the entries `encode` and `step` of a recurrent decoder with an encoder.
struct RecurrentShape {
  int64_t keptParts, keptColumns;        ///< of the state
  std::optional<attn::KVSegment> memory; ///< keys and values of a source in the cache; none without attention
  int64_t longestSource;                 ///< positions that a source may have
};

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

/// A module under construction with what its entries share. Buffers begin with `state` and, with attention, `cache`.
/// Where weights are declared there is no module: entries have no arguments then.
class RecurrentEntries {
public:
  RecurrentEntries(mlir::MLIRContext &context, const Walk &walk, ModelModule *module, const RecurrentShape &shape,
                   const ImportOptions &options);

protected:
  /// Opens the entry `encode` or `step`, whose source the cache has where there is attention.
  void beginEncode(llvm::ArrayRef<EntryBuffer> inputs, EntryBuffer output);
  void beginStep(bool isSerial, int64_t vocabulary);
  /// Ends it with the state, the cache, which is unused without attention, and the output.
  void end(mlir::Value state, mlir::Value cache, mlir::Value output);
  /// Ends `step` with the logits of the rows of x [tokens, columns] that are wanted (walkLogits).
  void endStep(const KeptStates &kept, mlir::Value x, const std::string &tied, int64_t words, int64_t columns);
  mlir::Value argument(llvm::StringRef name);
  KeptStates kept() { return {argument("state"), argument("state_slot"), argument("state_target")}; }
  /// The states that `encode` writes; there are none before.
  KeptStates firstKept() { return {argument("state"), mlir::Value(), argument("state_target")}; }
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

  mlir::Builder types;
  Walk walk;
  mlir::Type list;
  mlir::func::FuncOp entry;

private:
  void begin(llvm::StringRef name, llvm::ArrayRef<EntryBuffer> inputs, EntryBuffer output);

  ModelModule *module;
  mlir::Type table, cacheType;
  mlir::RankedTensorType stateType;
};

} // namespace rapt::importing
