//===- ResultStores.h - The order in which an entry stores its results ---------------------===//
//
// A result may be a view of an argument, or be made in its memory, which another result overwrites.
// Bufferization does not see stores into the caller's memory as writes, so their order is decided here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Value.h"

namespace rapt::host {

class ResultStores {
public:
  /// `value`, a tensor, is to be stored in `memory`, a memref that is an argument of the entry or a view of one.
  void add(mlir::Value value, mlir::Value memory) { stores.push_back({value, memory, {}}); }

  /// Stores all, each before another one overwrites what it reads. A result is copied first where no order allows that:
  /// two results that exchange the memory of two arguments.
  void emit(mlir::ImplicitLocOpBuilder &b);

private:
  struct Store {
    mlir::Value value, memory;
    llvm::SmallVector<mlir::Value> reads; // memory of the entry's arguments that may hold `value`
  };

  llvm::SmallVector<Store> stores;
};

} // namespace rapt::host
