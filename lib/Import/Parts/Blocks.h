//===- Blocks.h - The parts that transformer blocks are made of -*- C++ -*-===//
//
// Parts of blocks that families share: each function emits the attn ops of one part,
// reading the weights by name, with the part's name as location.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Import/Module/Scope.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <span>

namespace rapt::importing {

/// A normalization of the last dim.
struct NormSpec {
  enum Kind : uint8_t { Layer, RMS };
  Kind kind = RMS;
  double epsilon = 1e-6;
  bool hasWeight = true, hasBias = false;                 ///< without them: 1 and 0
  bool isAroundOne = false;                               ///< the checkpoint has the weight's distance from 1
  std::array<const char *, 2> names = {"weight", "bias"}; ///< of its tensors, behind the part
};

/// The names of activation functions in configs, and what they compute.
std::span<const std::string_view> activationNames();
attn::ActivationKind activationNamed(std::string_view name);

mlir::Value constant(const Scope &scope, mlir::Location loc, double value);

/// Rows of the weight `symbol` [rows, columns]: [ids, columns].
attn::EmbeddingOp embed(const Scope &scope, mlir::Value ids, llvm::StringRef symbol);

/// The norm of the last dim of x, of any rank from 2 on, with PART's weight and bias where it has them.
mlir::Value normalize(const Scope &scope, mlir::Value x, llvm::StringRef part, const NormSpec &norm);

/// x [m, in] times PART.weight [in, out], plus PART.bias [out] where there is one, plus the change of each row's
/// adapter where adapters change the weight.
mlir::Value linear(const Scope &scope, mlir::Value x, llvm::StringRef part);

/// The same with PART.weight [out, in], as torch.nn.Linear has it.
mlir::Value dense(const Scope &scope, mlir::Value x, llvm::StringRef part);

/// Each row of x [m, in] times the matrix [columns, in] that `groups` give it (attn.linear), of those that PART.weight
/// [matrices * columns, in] has, plus its part of PART.bias where there is one.
mlir::Value groupedDense(const Scope &scope, mlir::Value x, llvm::StringRef part, int64_t columns, mlir::Value groups);

/// x [m, in] times the transpose of `weight` [out, in], plus `bias` [out] where there is one: an output head.
mlir::Value project(const Scope &scope, mlir::Value x, mlir::Value weight, llvm::StringRef part, mlir::Value bias = {});

/// cap * tanh(x / cap) of a scalar: x for small ones, within cap for all (Gemma Team 2024).
mlir::Value softCapped(const Scope &scope, mlir::Location loc, mlir::Value x, double cap);

/// Makes f(x) of each element x of a matmul's result, in the matmul itself. `f` gets a scope inside it, with its
/// location.
void mapResult(const Scope &scope, mlir::Value result,
               llvm::function_ref<mlir::Value(const Scope &scope, mlir::Location loc, mlir::Value x)> f);

/// Multiplies a matmul's result by a number, in the matmul itself.
void scaleResult(const Scope &scope, mlir::Value result, double factor);

/// Multiplies the columns of a matmul's result by the weight `symbol` [columns], in the matmul itself.
void scaleColumns(const Scope &scope, mlir::Value result, llvm::StringRef symbol);

struct CausalAttention {
  mlir::Value result; ///< of the query's type
  mlir::Value cache;  ///< with the new keys and values
  attn::AttentionOp op;
};

/// softmax(scale * query . key) . value over the positions of each row up to the query's own, the last `window` of them
/// where there is one, through the cache. query, key and value are [tokens, heads, channels]; a multiple of the keys'
/// heads are queries' heads, and neighbors share a key. Without key and value those of the step are in the cache.
CausalAttention causalAttention(const Scope &scope, mlir::Location loc, std::array<mlir::Value, 3> queryKeyValue,
                                mlir::Value scale, mlir::Value cache, const Rows &rows,
                                std::optional<int64_t> window = std::nullopt);

/// Heads of latent attention: a query is [tokens, heads, channels], a latent and a key [tokens, 1, channels].
struct LatentHeads {
  mlir::Value query, latent;            ///< of the latents' channels
  mlir::Value rotatedQuery, rotatedKey; ///< of the channels with a position
};

/// The same with softmax(scale * (query . latent + rotated query . rotated key)) . latent. The cache has rotated keys
/// as keys, and latents as values.
CausalAttention latentAttention(const Scope &scope, mlir::Location loc, const LatentHeads &heads, mlir::Value scale,
                                mlir::Value cache, const Rows &rows, std::optional<int64_t> window = std::nullopt);

/// Adds an operand of the attention's regions, whose dims are those of `map`; an empty map makes it a table.
void addExtra(attn::AttentionOp attention, mlir::Value operand, mlir::AffineMap map);

/// Makes the region of scores: `f` gets the arguments of `score` in attn.attention and gives the new score.
void mapScores(const Scope &scope, attn::AttentionOp attention,
               llvm::function_ref<mlir::Value(const Scope &scope, mlir::Location loc, mlir::ValueRange arguments)> f);

/// Columns as `heads` heads of equal size: [tokens, heads, columns / heads].
mlir::Value splitHeads(const Scope &scope, mlir::Location loc, mlir::Value x, int64_t heads);
/// The inverse.
mlir::Value mergeHeads(const Scope &scope, mlir::Location loc, mlir::Value x);

/// softmax(scale * query . key) . value where each row's queries see all keys of the row; both are packed by
/// `rowBegin`, queries by `queryBegin` where there is one. query, key and value are [tokens, heads, channels]. The
/// result is as `query`, or [tokens, groups, heads / groups, channels] where there are fewer heads of keys, groups.
attn::AttentionOp rowAttention(const Scope &scope, mlir::Location loc, std::array<mlir::Value, 3> queryKeyValue,
                               mlir::Value scale, mlir::Value rowBegin, mlir::Value queryBegin = {});

/// Latent attention where each row's queries see all keys of the row, packed by `rowBegin`: [tokens, 1, heads, channels
/// of a latent].
attn::AttentionOp rowLatentAttention(const Scope &scope, mlir::Location loc, const LatentHeads &heads,
                                     mlir::Value scale, mlir::Value rowBegin);

/// Each row of tokens, x [tokens, columns], as one vector: [rows, columns], without its first `skip` tokens.
mlir::Value poolRows(const Scope &scope, mlir::Location loc, attn::PoolingKind kind, mlir::Value x,
                     mlir::Value rowBegin, int64_t skip = 0);

/// Keeps the keys up to the query's position, or those ahead of its element of `seenEnd`; of these the ones less than
/// `window` behind the query, where there is one.
void keepCausal(attn::AttentionOp attention, std::optional<int64_t> window = std::nullopt, mlir::Value seenEnd = {});

/// Vectors of x's last dim divided by the root of the sum of their squares and `epsilon`; by default by their length,
/// of at least 1e-12, as PyTorch's normalize does.
mlir::Value unitLength(const Scope &scope, mlir::Location loc, mlir::Value x, double epsilon = 1e-24);

/// Results of grouped heads as [tokens, heads, channels]; others as they are.
mlir::Value flatHeads(const Scope &scope, mlir::Location loc, mlir::Value x);

/// The maps of query, key, value and result where queries are packed over all rows and keys are in the cache. Grouped
/// queries are [tokens, groups, heads, channels].
mlir::ArrayAttr cachedMaps(mlir::OpBuilder &builder, bool grouped);

/// One of activationNames(), or leaky_relu.
struct Activation {
  attn::ActivationKind kind = attn::ActivationKind::relu;
  std::optional<double> slope = {}; ///< of leaky_relu below 0
};

/// The keys `activation` and, of leaky_relu, `negative_slope`.
Activation readActivation(huggingface::ConfigReader &reader, const char *fallback);

/// The activation of a matmul's result, which nothing else uses.
mlir::Value activate(const Scope &scope, mlir::Location loc, mlir::Value result, const Activation &activation);

} // namespace rapt::importing
