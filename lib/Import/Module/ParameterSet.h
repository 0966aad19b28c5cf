//===- ParameterSet.h - The weights of a family -----------------*- C++ -*-===//
//
// A family names its weights once; this asks the checkpoint for them, declares
// them as attn.parameter and reads them where they are used.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>

namespace rapt::importing {

/// Stands for the layer's number in names of stacked weights.
inline constexpr llvm::StringLiteral layerPlaceholder = "{layer}";

/// Numbers of some layers of a stack, ascending.
using LayerNumbers = std::vector<int64_t>;

/// Whether they are all layers from 0 on, so that a layer's place among them is its number.
bool areFromZero(const LayerNumbers &layers);

/// The place of a layer among some layers of its stack, as a value.
struct LayerPlace {
  LayerNumbers among;
  mlir::Value place;
};

/// The layer whose weights a function reads: its number as a value, and the number of one layer that it is called for.
/// Layers that share a function find each weight in the same stacked parameter (ParameterSet::sections).
struct LayerRef {
  mlir::Value number;
  int64_t example = 0;
  llvm::ArrayRef<LayerPlace> places = {};

  /// Its place among these layers, where it has one (LayerStack::among) or they are all from layer 0 on.
  mlir::Value placeAmong(const LayerNumbers &layers) const;
};

/// Layers that are computed by one loop, or those of them that have a weight. A model with an encoder and a decoder has
/// two stacks of different names.
struct Stack {
  int64_t layers = 0;
  std::string name = {};
  int64_t first = 0;         ///< number of its first layer, in names and as LayerRef::number
  LayerNumbers numbers = {}; ///< of the layers, where they do not follow one another

  bool operator==(const Stack &) const = default;
  int64_t number(int64_t place) const { return numbers.empty() ? first + place : numbers[place]; }
  /// The place of a layer that it contains.
  int64_t placeOf(int64_t layer) const;
  bool contains(int64_t layer) const;
  /// Those of its layers that `has` names, at least one.
  Stack those(llvm::function_ref<bool(int64_t layer)> has) const;
};

/// The weights of a model. One that is added again, with the same symbol in the same layers, is the one that is there:
/// the parts of a model may share weights.
class ParameterSet {
public:
  /// A weight that exists once, or in each layer of `stack`, where `tensor` holds "{layer}"; layers whose weights
  /// differ in shape are several stacks, and may have weights of one symbol. `shape` is as the checkpoint has it, [in,
  /// out] or [rows, columns] or [columns].
  void add(std::string symbol, std::string tensor, std::vector<int64_t> shape, huggingface::Init init,
           std::optional<Stack> stack = std::nullopt);
  /// The same of a layer Conv1D; `shape` is [in, out].
  void addConv1D(std::string symbol, std::string tensor, std::vector<int64_t> shape, huggingface::Init init,
                 std::optional<Stack> stack);
  /// Adds what `transforms` make of a tensor: a part of one that packs several weights, the kernel of a convolution as
  /// the matrix of a matmul, a transpose. Steps that change nothing are left out. In each layer of `stack`, where there
  /// is one.
  void addTransformed(std::string symbol, artifact::Source source, huggingface::Init init,
                      std::optional<Stack> stack = std::nullopt);
  /// Adds the rows of several tensors, one after the other, which the checkpoint must have in one type, or in blocks.
  /// In each layer of `stack`, where there is one; as a table, see addTable, where `isTable`.
  void addRows(std::string symbol, std::vector<artifact::Source> sources, huggingface::Init init,
               std::optional<Stack> stack = std::nullopt, bool isTable = false);
  /// The same of tensors that lie one behind the other along `dim`.
  void addJoined(std::string symbol, std::vector<artifact::Source> sources, int64_t dim, huggingface::Init init,
                 std::optional<Stack> stack, bool isTable);
  /// Adds a small table that regions look up; it is kept in f32, as vectors are. In each layer of `stack`, where there
  /// is one.
  void addTable(std::string symbol, std::string tensor, std::vector<int64_t> shape, huggingface::Init init,
                std::optional<Stack> stack = std::nullopt);
  /// Adds the transpose of `left` [m, k] times `right` [k, n]: a weight [n, m], kept in f32. The checkpoint needs
  /// `right` for a weight of its own, too. In each layer of `stack`, where there is one.
  void addTransposedMatmul(std::string symbol, const artifact::Source &left, const artifact::Source &right,
                           huggingface::Init init, std::optional<Stack> stack = std::nullopt);
  /// Number of weights that were added.
  size_t count() const { return weights.size(); }
  /// Moves the weights of the part `symbol` behind the others, of those from number `first` on.
  void moveLast(size_t first, llvm::StringRef symbol);
  /// The matrix of the output head. Where `tied` says so, the embedding is the head, the weight whose symbol is
  /// `table`, unless resolve finds that the checkpoint has a head of its own.
  void addHead(std::string symbol, std::string tensor, std::vector<int64_t> shape, huggingface::Init init, bool tied,
               std::string table);
  /// After resolve, the symbol of the matrix that is the head.
  const std::string &head() const { return headSymbol; }

  /// Finds all weights in the checkpoint; see ModelDescription::resolve. Call it once, after the last add.
  Status resolve(huggingface::ModelDescription &model, const std::vector<std::string_view> &ignored);

  /// After resolve, adds the narrow matrices of the adapters among which the program chooses: PART.lora_A and
  /// PART.lora_B for a weight PART.weight of a stack that one of them changes. Each has the matrices of all adapters,
  /// one behind another, behind one of zeros; all have the largest rank. An error where an adapter changes anything but
  /// such a weight.
  Status addAdapters(huggingface::ModelDescription &model);

  /// Emits an attn.parameter for each weight; one for each run of layers whose storage type is the same. Matrices have
  /// the checkpoint's type; vectors (gains, biases) have f32, which holds every other type's values exactly and is the
  /// type that norms and epilogues compute in.
  void declare(mlir::OpBuilder &builder) const;

  /// For each layer of a stack a number that is the same for two layers exactly when they read the same parameters.
  std::vector<unsigned> sections(const Stack &stack) const;

  /// The lists of layers of a stack that have some weight, or one in the same storage, where they do not follow one
  /// another; each once.
  std::vector<LayerNumbers> scattered(const Stack &stack) const;

  /// Reads a weight; `layer` may be null for one that exists once, which all layers share.
  mlir::Value read(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef symbol, const LayerRef *layer) const;

  /// Whether the layer, or some layer where it is null, has the weight.
  bool contains(llvm::StringRef symbol, const LayerRef *layer = nullptr) const {
    return find(symbol, layer) != nullptr;
  }
  /// Number of elements of all weights but the adapters', each tensor once.
  int64_t elements() const;
  /// The format of blocks that most numbers are stored in; null where more are stored in none.
  const BlockFormat *mostBlocks() const;

private:
  /// How a weight is stored before passes choose otherwise: as the checkpoint has it, or in f32.
  struct Storage {
    artifact::DType dtype;
    const BlockFormat *blocks; ///< of a quantized matrix, whose dtype is f32
    bool operator==(const Storage &) const = default;
  };
  /// Layers of one storage, or the one tensor of a weight that is not stacked.
  struct Run {
    std::vector<int64_t> places; ///< of its layers in the weight's stack, ascending
    Storage storage;
    std::string symbol;
    bool hasPlace(int64_t place) const { return std::ranges::binary_search(places, place); }
    bool isWhole() const { return places.back() - places.front() + 1 == int64_t(places.size()); }
  };
  struct Weight {
    std::string symbol;
    std::vector<artifact::Source> sources; ///< several are one after the other along `dim`
    std::vector<int64_t> shape;            ///< in the module
    huggingface::Init init;
    std::optional<Stack> stack = {};
    int64_t dim = 0;
    bool isTable = false, isOfAdapters = false, isConv1D = false;
    std::optional<artifact::Source> left = {}; ///< left matrix of a matmul, which the checkpoint is asked for
    llvm::SmallVector<Run, 1> runs = {};
  };
  static Weight plain(std::string symbol, std::string tensor, std::vector<int64_t> shape, huggingface::Init init,
                      std::optional<Stack> stack);
  void push(Weight weight);
  static int64_t layersOf(const Weight &weight) { return weight.stack ? weight.stack->layers : 1; }
  static int64_t numberOf(const Weight &weight, int64_t place) {
    return weight.stack ? weight.stack->number(place) : 0;
  }
  /// The index of the run that has a layer of the weight's stack.
  static size_t runOf(const Weight &weight, int64_t layer);
  const Weight *find(llvm::StringRef symbol, const LayerRef *layer = nullptr) const;
  Status resolveHead(huggingface::ModelDescription &model);
  void addAdaptersOf(size_t index, huggingface::ModelDescription &model, int64_t rank);
  static Expected<Storage> storageOf(const Weight &weight, std::span<const huggingface::ResolvedTensor> sources);
  static LayerNumbers numbersOf(const Weight &weight, const Run &run);
  mlir::RankedTensorType sliceType(mlir::MLIRContext *context, const Weight &weight, const Run &run) const;

  std::vector<Weight> weights;
  std::string headSymbol, tiedTable; ///< empty without a head; the table's symbol where the configuration ties them
};

/// Names weights of a part of a model, as Scope reads them: the symbol of weight NAME is `symbols` + NAME,
/// its tensor is `tensors` + NAME, in each layer of the stack where there is one.
struct ParameterScope {
  ParameterSet &parameters;
  std::string tensors; ///< "h.{layer}."
  std::string symbols = {};
  std::optional<Stack> stack = {};

  void add(const std::string &name, std::vector<int64_t> shape, huggingface::Init init) const;
  void add(const std::string &symbol, const std::string &tensor, std::vector<int64_t> shape,
           huggingface::Init init) const;

  /// PART.weight [out, in] and, where there is one, PART.bias [out], as torch.nn.Linear has them.
  void dense(const std::string &part, int64_t out, int64_t in, bool hasBias = true) const;
};

} // namespace rapt::importing
