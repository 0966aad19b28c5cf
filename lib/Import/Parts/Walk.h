//===- Walk.h - Weights and ops of a part in one walk ---------------------*- C++ -*-===//
//
// The code of a part says once which weights it has and what it computes of them. It is walked
// twice: first the walk declares the weights, and all values are null; then, when the checkpoint
// has been found to have them, it emits the ops that read them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/AdapterInputs.h"
#include "lib/Import/Module/LayerStack.h"
#include "lib/Import/Parts/Blocks.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/ScopeExit.h"

namespace rapt::importing {

/// The rows that a matmul has of a tensor: those that `slice` takes where they have the dims `groups`, with these dims
/// in another order where `order` says so.
struct RowsOf {
  std::vector<int64_t> groups;
  artifact::Slice slice;
  std::vector<int64_t> order = {};
};

/// x times PART.weight [out, in], plus PART.bias [out] where there is one.
struct MatmulSpec {
  std::string part;
  int64_t out, in;
  bool hasBias;
  std::string stem = {};           ///< the tensors' names without "weight" or "bias"; empty: `part` and a point
  std::optional<RowsOf> rows = {}; ///< nothing: all rows of the tensors
  bool isConv1D = false;           ///< the weight is [in, out]
  std::optional<huggingface::Init> init = {}; ///< the weight's; nothing: the default
  /// The names of the numbers that bound x and the result, without "input_min", "input_max", "output_min" and
  /// "output_max"; empty: none.
  std::string bounds = {};
};

/// The weights of a matmul.
void addMatmul(const ParameterScope &scope, const MatmulSpec &spec);

/// PART.weight [rows, columns] without the rows before `begin`; the symbol is PART.
void addEmbedding(const ParameterScope &scope, const std::string &part, int64_t rows, int64_t columns,
                  int64_t begin = 0);

/// The weights of a normalization of `width` columns, those that it has; none where the part has no name.
void addNorm(const ParameterScope &scope, const std::string &part, const NormSpec &norm, int64_t width);

class Walk {
public:
  /// A walk that declares weights.
  explicit Walk(ParameterScope weights) : weights(std::move(weights)) {}
  /// A walk that emits ops.
  explicit Walk(Scope scope) : scope(std::move(scope)) {}

  bool declares() const { return weights.has_value(); }

  /// The walk of a part of the model: names of tensors and locations continue with `path`, symbols begin with
  /// `symbols`.
  Walk inside(const std::string &path, const std::string &symbols = {}) const;
  /// The same walk where the names of tensors, and no locations, begin with `prefix`.
  Walk withPrefix(const std::string &prefix) const;

  /// Calls `f` in the one walk, or the other, where what it gives is null in the one.
  void declare(llvm::function_ref<void(const ParameterScope &weights)> f) const {
    if (weights)
      f(*weights);
  }
  template <typename F> auto emit(F f) const {
    using Given = std::invoke_result_t<F, const Scope &>;
    if constexpr (std::is_void_v<Given>) {
      if (scope)
        f(*scope);
    } else {
      using Result = std::conditional_t<std::is_convertible_v<Given, mlir::Value>, mlir::Value, Given>;
      return scope ? Result(f(*scope)) : Result();
    }
  }

  /// Calls `f` for the layer with its kind; where weights are declared for each kind, whose layers then are the stack.
  void forKinds(llvm::function_ref<unsigned(int64_t layer)> kindOf,
                llvm::function_ref<void(const Walk &layers, unsigned kind)> f) const;

  /// Gives what `body` gives. The weights of `parts` are declared after all its others, in this order.
  template <typename F> auto declareLast(llvm::ArrayRef<std::string> parts, F body) const {
    const size_t first = weights ? weights->parameters.count() : 0;
    llvm::scope_exit atEnd([&] { moveLast(first, parts); });
    return body();
  }

  mlir::Value matmul(mlir::Value x, const MatmulSpec &spec) const;
  /// activation(x).
  mlir::Value activate(mlir::Value x, const std::string &part, attn::ActivationKind activation) const;
  /// x + y, of which `part` gives one.
  mlir::Value add(mlir::Value x, mlir::Value y, const std::string &part) const;
  /// The norm of x's last dim, which has `width` columns; x where the part has no name.
  mlir::Value norm(mlir::Value x, const std::string &part, const NormSpec &norm, int64_t width) const;
  /// Rows of PART.weight [rows, columns], of which those before `begin` are left out: [ids, columns].
  mlir::Value embed(mlir::Value ids, const std::string &part, int64_t rows, int64_t columns, int64_t begin = 0) const;
  /// Rows of the weight `symbol` [rows, columns].
  mlir::Value table(mlir::Value ids, const std::string &symbol, int64_t rows, int64_t columns) const;
  mlir::Value splitHeads(mlir::Value x, llvm::StringRef part, int64_t heads) const;

private:
  void moveLast(size_t first, llvm::ArrayRef<std::string> parts) const;

  std::optional<ParameterScope> weights;
  std::optional<Scope> scope;
};

/// Layers that a walk computes, and what they read.
struct WalkedLayers {
  LayerStack loop = {};
  std::string path = {}; ///< of a layer's tensors
  llvm::SmallVector<mlir::Value> state = {};
  llvm::SmallVector<mlir::Value> shared = {};  ///< further arguments of each layer
  std::optional<AdapterRows> adapters = {};    ///< of the tokens
  llvm::SmallVector<mlir::Value> further = {}; ///< arguments behind those of adapters
  bool haveOneWeight = false;                  ///< all layers have the same weights
};

/// Computes one layer: gives the new state. `shared` are the shared and further values of WalkedLayers.
using WalkLayer = llvm::function_ref<llvm::SmallVector<mlir::Value>(const Walk &layer, mlir::ValueRange state,
                                                                    mlir::ValueRange shared)>;

/// The state after the last layer (buildLayerStack). Where weights are declared, `body` is called once, and then
/// `atStop` for each of the stack's stops.
Expected<llvm::SmallVector<mlir::Value>> walkLayers(const Walk &walk, const WalkedLayers &layers, WalkLayer body,
                                                    AtStop atStop = {});

/// The weights that `walk` declares, found in the checkpoint, with those of its adapters unless the model has none
/// (`isFixed`). The names of tensors begin with `prefix`; those that match `ignored` are read by nothing.
Expected<ParameterSet> findWeights(huggingface::ModelDescription &model, const std::string &prefix,
                                   const std::vector<std::string_view> &ignored,
                                   llvm::function_ref<void(const Walk &)> walk, bool isFixed = false);

} // namespace rapt::importing
