//===- Scope.h - Where the ops of a module are emitted ----------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ParameterSet.h"

namespace rapt::importing {

/// The tokens of a step in the order of their adapters, one token standing for all that have none; see
/// docs/Semantics.md.
struct AdapterRows {
  mlir::Value tokens; ///< tensor<?xi32>, the tokens in this order
  mlir::Value groups; ///< of attn.linear; matrix 0 is zeros
  mlir::Value order;  ///< tensor<?xi32>, of each token its index in this order
};

/// Where ops are emitted: a builder, the weights, and in a block function the layer.
struct Scope {
  mlir::OpBuilder &builder;
  const ParameterSet &parameters;
  /// Put before a part's name to give its location: "h.{layer}." for "h.{layer}.attn.c_attn".
  std::string path = {};
  const LayerRef *layer = nullptr;
  /// Put before a part's name to give its weights' symbols: "encoder." where two stacks have parts of the same names.
  std::string symbols = {};
  const AdapterRows *adapters = nullptr; ///< null: the program has no adapters to choose

  /// Names the layer's part, such as "attn.c_attn", as the source.
  mlir::Location at(llvm::StringRef part) const { return mlir::NameLoc::get(builder.getStringAttr(path + part)); }
  mlir::Value weight(llvm::StringRef symbol) const {
    return parameters.read(builder, at(symbol), (symbols + symbol).str(), layer);
  }
  bool has(llvm::StringRef symbol) const { return parameters.contains((symbols + symbol).str(), layer); }
};

/// The packed rows of a step, and where their keys and values lie; see docs/Semantics.md.
struct Rows {
  mlir::Value rowBegin; ///< tensor<?xi32>, rows + 1 offsets
  mlir::Value past;     ///< tensor<?xi32>, positions before the step's first token
  mlir::Value table;    ///< tensor<?x?xi32>, cache block of each position / block size
  /// tensor<?xi32>, the position behind the last one that each token sees in layers with a window; null: its own.
  mlir::Value seenEnd = {};
};

} // namespace rapt::importing
