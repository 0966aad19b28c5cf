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

  Stack stackOf(const RecurrentStack &decoder) const { return {decoder.layers, stack}; }
  void addTo(ParameterSet &parameters, const RecurrentStack &decoder) const;
  /// Keeps the states of the rows x [rows, inputs].
  Status build(const Scope &top, mlir::Operation *entry, const RecurrentStack &decoder, mlir::Value x,
               KeptStates &kept) const;
};

/// The weight attention.score [size] of additive attention, which may be that of a torch.nn.Linear with one output.
void addScore(ParameterSet &parameters, int64_t size, bool isMatrix);

/// Ops on one layer of the cache.
struct CacheLayer {
  CacheLayer(const Scope &top, int64_t number);
  LayerRef ref;
  Scope scope;
};

/// A module under construction with what its entries share. Buffers begin with `state` and, with attention, `cache`.
class RecurrentEntries {
public:
  RecurrentEntries(ModelModule &module, const RecurrentShape &shape, const ParameterSet &parameters,
                   const ImportOptions &options);

protected:
  /// Opens the entry `encode` or `step`, whose source the cache has where there is attention.
  void beginEncode(llvm::ArrayRef<EntryBuffer> inputs, EntryBuffer output);
  void beginStep(bool isSerial, int64_t vocabulary);
  /// Ends it with the state, the cache, which is unused without attention, and the output.
  void end(mlir::Value state, mlir::Value cache, mlir::Value output);
  /// Ends `step` with the logits of the rows of x that are wanted, by the matrix `head` and lm_head.bias.
  void endStep(const KeptStates &kept, mlir::Value x, llvm::StringRef head);
  mlir::Value argument(llvm::StringRef name);
  KeptStates kept() { return {argument("state"), argument("state_slot"), argument("state_target")}; }
  /// The states that `encode` writes; there are none before.
  KeptStates firstKept() { return {argument("state"), mlir::Value(), argument("state_target")}; }
  /// The attention of each token's query [tokens, channels] to its sequence's source, in layer `layer` of the cache;
  /// additive with the vector `score` where there is one.
  mlir::Value attend(mlir::Value query, mlir::Value scale, int64_t layer, mlir::Value score = {});
  mlir::Value concat(mlir::ValueRange parts) { return attn::ConcatOp::create(builder, top.at("decoder"), parts); }

  ModelModule &module;
  mlir::OpBuilder &builder;
  Scope top;
  mlir::Type list;
  mlir::func::FuncOp entry;

private:
  void begin(llvm::StringRef name, llvm::ArrayRef<EntryBuffer> inputs, EntryBuffer output);

  mlir::Type table, cacheType;
  mlir::RankedTensorType stateType;
};

} // namespace rapt::importing
