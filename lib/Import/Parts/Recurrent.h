//===- Recurrent.h - Stacks of recurrent cells and the states they keep -*- C++ -*-===//
#pragma once
#include "lib/Import/Module/SequenceEntries.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// Layers of one cell, with the parameters' names and shapes of torch.nn.RNN, GRU and LSTM.
struct RecurrentStack {
  attn::RecurrenceKind cell;
  std::string name; ///< its parameters are NAME.weight_ih_l0, NAME.weight_hh_l0_reverse and so on
  int64_t inputs, hidden, layers;
  bool bidirectional, bias;
  bool reversed = false; ///< each direction reads a row from its other end
  /// The numbers of W h that an lstm with projections gives instead of h; 0 without them.
  int64_t projected = 0;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  /// Columns of the output.
  int64_t outputs() const { return directions() * (projected ? projected : hidden); }
  /// Whether a direction reads a row from its last token to its first; outputs stay at their tokens.
  bool isReverse(int64_t direction) const { return (direction == 1) != reversed; }
  /// Tensors of one layer's state in one direction: h, also where it is projected, for an lstm then c.
  int64_t states() const { return attn::RecurrenceOp::statesOf(cell); }
  /// The layers that one loop computes: all but the first, whose input is another.
  Stack loop() const { return {layers - 1, name, /*first=*/1}; }
  /// The part of KeptStates that state `state` of the layer `layer` is.
  mlir::Value partOf(const Scope &scope, mlir::Value layer, int64_t state) const;
};

/// The keys `cell`, `bias`, and the sizes of a stack. Records errors.
attn::RecurrenceKind readCell(huggingface::ConfigReader &config);
int64_t readHiddenSize(huggingface::ConfigReader &config, const char *key, std::optional<int64_t> fallback = {});
int64_t readLayerCount(huggingface::ConfigReader &config, const char *key, int64_t fallback);

/// The states that sequences keep between steps: an entry's argument and result `state` [slots, parts, columns], read
/// at the rows `state_slot` and written at the rows `state_target`; see docs/Semantics.md. A part of
/// all rows is read before it is written.
struct KeptStates {
  mlir::Value state, source, target;
  mlir::Value read(const Scope &scope, mlir::Location loc, mlir::Value part) const;
  mlir::Value read(const Scope &scope, mlir::Location loc, int64_t part) const;
  void write(const Scope &scope, mlir::Location loc, mlir::Value part, mlir::Value values);
  void write(const Scope &scope, mlir::Location loc, int64_t part, mlir::Value values);
};

/// The results of a whole stack that starts from zero states.
struct RecurrentEncoding {
  llvm::SmallVector<mlir::Value, 2> directions; ///< of the last layer, [tokens, outputs / directions] each
  mlir::Value output;                           ///< these side by side, [tokens, outputs]
  llvm::SmallVector<mlir::Value, 2> states; ///< the last layer's last, the directions' side by side: h as in `output`
};
/// Runs all layers over the rows that `rowBegin` packs; the input projections of all tokens are one matmul. The last
/// states of layer k become parts k * states(), ... of `kept` where it is given, for a stack without projections.
Expected<RecurrentEncoding> encodeLayers(const Walk &walk, const RecurrentStack &stack, mlir::Value x,
                                         mlir::Value rowBegin, KeptStates *kept = nullptr);

/// Runs all layers, forward, over x from the states in parts 0, 1, ... of `kept`, and keeps the new ones. Gives the
/// last layer's output.
Expected<mlir::Value> stepLayers(const Walk &walk, const RecurrentStack &stack, mlir::Value x, mlir::Value rowBegin,
                                 KeptStates &kept);

/// Logits of x [tokens, columns] by the weight `tied`, or where it is empty lm_head.weight, and lm_head.bias.
mlir::Value walkLogits(const Walk &walk, mlir::Value x, const std::string &tied, int64_t words, int64_t columns);

/// Those of the entry that is open; `encode` only writes them: there are none before.
KeptStates keptStatesOf(const SequenceEntries &entries);

/// The entry step(state, tokens, row_begin, state_slot, state_target, want) -> (state, logits) of a language model
/// whose sequences keep a state.
struct StepOfStates {
  KeptStates kept;
  mlir::Value tokens, rowBegin, want;
};
/// Declares dims and parameters, and opens the entry. Its states have `parts` of `columns` numbers.
StepOfStates beginStepOfStates(ModelModule &module, int64_t parts, int64_t columns, int64_t vocabulary,
                               const ImportOptions &options);

} // namespace rapt::importing
