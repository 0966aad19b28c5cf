//===- Recurrent.h - Stacks of recurrent cells and the states they keep -*- C++ -*-===//
#pragma once
#include "lib/Import/Blocks.h"
#include "lib/Import/ModelModule.h"

namespace rapt::importing {

/// Layers of one cell, with the parameters' names and shapes of torch.nn.RNN, GRU and LSTM.
struct RecurrentStack {
  attn::RecurrenceKind cell;
  std::string name; ///< its parameters are NAME.weight_ih_l0, NAME.weight_hh_l0_reverse and so on
  int64_t inputs, hidden, layers;
  bool bidirectional, bias;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  /// Columns of the output.
  int64_t outputs() const { return directions() * hidden; }
  /// Tensors of one layer's state in one direction: h, for an lstm then c.
  int64_t states() const { return attn::RecurrenceOp::statesOf(cell); }
  void addTo(ParameterSet &parameters) const;
};

/// The keys `cell`, `bias`, and the sizes of a stack. Records errors.
attn::RecurrenceKind readCell(huggingface::ConfigReader &config);
int64_t readHiddenSize(huggingface::ConfigReader &config, const char *key, std::optional<int64_t> fallback = {});
int64_t readLayerCount(huggingface::ConfigReader &config, const char *key, int64_t fallback);

/// What a layer gives in one direction: h at every token, [tokens, hidden], and the states after each row's last step,
/// [rows, hidden].
struct RecurrentOutput {
  mlir::Value output;
  llvm::SmallVector<mlir::Value, 2> states;
};

/// One layer in one direction over the rows that `rowBegin` packs: the input projections of all tokens are one product.
/// `initial` are the states before, [rows, hidden] each; zeros where there are none.
RecurrentOutput recurrentLayer(const Scope &scope, const RecurrentStack &stack, int64_t layer, bool reverse,
                               mlir::Value x, mlir::Value rowBegin, mlir::ValueRange initial = {});

/// What a whole stack gives from zero states.
struct RecurrentEncoding {
  llvm::SmallVector<mlir::Value, 2> directions; ///< of the last layer, [tokens, hidden] each
  mlir::Value output;                           ///< these side by side, [tokens, outputs]
  /// Of each layer the last states, the directions' side by side: [rows, outputs].
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>> states;
};
RecurrentEncoding recurrentLayers(const Scope &scope, const RecurrentStack &stack, mlir::Value x, mlir::Value rowBegin);

/// PART.weight's rows `ids`, [tokens, columns].
mlir::Value embedTokens(const Scope &scope, llvm::StringRef part, mlir::Value ids, int64_t columns);

/// The states that sequences keep between steps: an entry's argument and result `state` [slots, parts, columns], read
/// at the rows `state_slot` and written at the rows `state_target`; see docs/Semantics.md. Everything is read before
/// anything is written.
struct KeptStates {
  mlir::Value state, source, target;
  mlir::Value read(const Scope &scope, mlir::Location loc, int64_t part) const;
  void write(const Scope &scope, mlir::Location loc, int64_t part, mlir::Value values);
};

/// The stack's states of each layer, from parts 0, 1, ...
llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>> readStates(const Scope &scope, const RecurrentStack &stack,
                                                                const KeptStates &kept);
/// Runs all layers, forward, from `states` over x and keeps the new ones. Gives the last layer's output.
mlir::Value stepLayers(const Scope &scope, const RecurrentStack &stack,
                       llvm::ArrayRef<llvm::SmallVector<mlir::Value, 2>> states, mlir::Value x, mlir::Value rowBegin,
                       KeptStates &kept);

/// Type of the buffer `state`.
mlir::RankedTensorType keptType(mlir::Builder builder, int64_t parts, int64_t columns);

} // namespace rapt::importing
