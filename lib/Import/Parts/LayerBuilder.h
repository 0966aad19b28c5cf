//===- LayerBuilder.h - One layer of attention and feed-forward ----------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/Mixers.h"
#include "lib/Import/Parts/OwnInputs.h"
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// Attention of one layer, without its projections.
struct Attended {
  mlir::Value result; ///< [tokens, heads, channels]
  attn::AttentionOp op;
};

/// Emits the attention of queries, keys and values, each [tokens, heads, channels]; `window` is that of the layer. Keys
/// and values of a layer that reads those of another one are null.
using Attend =
    llvm::function_ref<Attended(const Scope &scope, mlir::Location loc, std::array<mlir::Value, 3> queryKeyValue,
                                mlir::Value scale, std::optional<int64_t> window)>;

/// Emits latent attention, whose result is [tokens, heads, channels of a latent].
using AttendLatents = llvm::function_ref<Attended(const Scope &scope, mlir::Location loc, const LatentHeads &heads,
                                                  mlir::Value scale, std::optional<int64_t> window)>;

/// Emits the attention of queries [tokens, heads, channels] to another sequence; the result is of their type.
using AttendSource =
    llvm::function_ref<mlir::Value(const Scope &scope, mlir::Location loc, mlir::Value query, mlir::Value scale)>;

/// What a layer reads besides the tokens. None of it is used where weights are declared.
struct LayerInputs {
  mlir::ValueRange rotation = {}; ///< cosines and sines of each of the attention's tables
  Attend attend = {};
  AttendSource attendSource = {};   ///< where the layer has cross attention
  AttendLatents attendLatents = {}; ///< in place of `attend` where it has latents
  MixerStates *states = nullptr;    ///< of layers whose mixers are not attention
  OwnInputs own = {};               ///< where layers have inputs of their own
};

/// One layer: x [tokens, width] to that after it.
mlir::Value walkLayer(const Walk &walk, const StackSpec &spec, mlir::Value x, const LayerInputs &inputs);

/// Keys and values of the cross attention, each [tokens, heads, channels], of the other sequence [tokens, width].
std::pair<mlir::Value, mlir::Value> walkSource(const Walk &walk, const StackSpec &spec, mlir::Value source);

/// Cosines and sines of each of the attention's tables, in turn. `tokens` are packed by `rowBegin`; `past`, positions
/// ahead of each row's first token, may be null; so may `textLength`, tokens of each row's text, where rows are texts,
/// and `ofAxes`, positions [tokens, axes], where frequencies are of no axes.
llvm::SmallVector<mlir::Value> buildRotation(const Scope &top, const AttentionSpec &attention, mlir::Value tokens,
                                             mlir::Value rowBegin, mlir::Value past, mlir::Value textLength = {},
                                             mlir::Value ofAxes = {});

/// Numbers that are equal for layers of one function: those with the same window, rotation and norms.
std::vector<unsigned> numberKinds(const StackSpec &spec);

/// Reads the number of heads, whose channels the width has; `fallback` is what the configuration class takes. The scale
/// of scores is 1 / sqrt(channels). Keys of the width are for messages.
void readHeads(huggingface::ConfigReader &config, const huggingface::Keys &width, const huggingface::Keys &heads,
               int64_t fallback, StackSpec &spec);

/// The facts that a model's files and its layers have.
ModelFacts factsOf(const huggingface::ModelDescription &model, const StackSpec &layers);

} // namespace rapt::importing
