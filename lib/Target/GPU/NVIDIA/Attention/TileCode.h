//===- TileCode.h - Parts of the code of attn_gpu.attention_tile ------------------*- C++ -*-===//
#pragma once
#include "lib/Target/GPU/GlobalArray.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cuda {

/// The parts that the schedules of an attention tile share: where its operands are, and the arithmetic of online
/// softmax. Scores in registers are sums that are scaled in the exponent, where the scale is a constant and there is no
/// score region; else they are scores.
///
/// A masked key has the probability 0, and 0 times a value that is NaN or infinite is NaN (A9). So where a mask has a
/// part in a result that is not finite, the sum is computed again without the masked keys, from global memory.
class TileCode {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  TileCode(mlir::ImplicitLocOpBuilder &b, attn_gpu::AttentionTileOp op);

  /// Stores what only `store` needs to shared memory from byte `offset` on, so that no register holds it while blocks
  /// of keys are multiplied. One thread executes it; a barrier of all threads follows.
  void save(int64_t offset);
  /// Emits `code` behind loads of what was saved, where something was.
  void withSaved(llvm::function_ref<void()> code);
  /// Emits `code` where the mask reads arrays by their saved offsets, loaded before it.
  void withSavedOfMask(llvm::function_ref<void()> code);

  /// A number that is the same in all threads of a warp, so that ptxas may keep it in a register of the warp.
  Value uniform(Value number);

  Value index(int64_t value);
  Value number(float value);
  /// The running max before any key.
  Value lowest();

  /// Copies to a tile: of queries, or of the keys or values from `key` on, nothing where there are none. The threads
  /// that copy execute it; each arrives on `barrier`, where there is one, when its copies are complete.
  void copyQueries(Value tile, Value barrier = {});
  void copyKeys(Value key, Value tile, Value barrier = {});
  void copyValues(Value key, Value tile, Value barrier = {});
  /// The same by TMA, where `op.getMade()`: one thread executes it.
  void loadKeys(Value key, Value tile, Value barrier);
  void loadValues(Value key, Value tile, Value barrier);
  /// Copies the values of a block that is not whole: rows behind the last key are zero, while TMA copies what is there.
  /// The first warp executes it; one of its threads arrives.
  void copyValuesByWarp(Value key, Value tile, Value barrier);

  /// The first key of the first block from `key` on that the mask does not drop; at least the number of keys where
  /// there is none.
  Value nextBlock(Value key);
  /// Whether the mask may drop blocks that are between the first and the last key.
  bool dropsBlocks();
  /// Whether the mask keeps all keys of the block from `key` on.
  Value keepsAll(Value key);
  Value isKey(Value key);
  /// Whether all keys of the block from `key` on are there.
  Value isWhole(Value key);
  /// Whether there are rows from `row` on.
  Value isRow(Value row);
  /// Runs `body` while the first of `state`, a key, is one. Returns the state at last.
  using Body = llvm::function_ref<llvm::SmallVector<Value>(Value key, ValueRange state)>;
  llvm::SmallVector<Value> overBlocks(ValueRange state, Body body);

  /// Applies the score and the mask to fragments of `columns` keys each, the first of which begins at `key`; rows count
  /// from `firstRow`. Scores that do not count are -infinity. `keepsAll` of the block may be known already.
  llvm::SmallVector<Value> finishScores(llvm::ArrayRef<Value> scores, int64_t columns, Value firstRow, Value key,
                                        Value keepsAll = {});

  /// Takes the scores of a block into the running max and sum, of which each lane has its own part. The scores become
  /// probabilities; returns the factors of what was summed before.
  Value advance(llvm::MutableArrayRef<Value> scores, Value &maximum, Value &sum);
  Value times(Value values, Value rows);

  /// Stores the results of rows from `firstRow` on.
  void store(Value acc, Value maximum, Value sum, Value firstRow);

  mlir::Type element; ///< of queries
  Value thread;
  int64_t copyingThreads; ///< whose numbers are from 0 on

private:
  struct Copiers {
    Value barrier; ///< on which each thread arrives, where there is one
    int64_t threads;
    bool asElements;
  };
  void copyRows(const any_gpu::GlobalArray &array, Value tile, Copiers copiers, Value rows, int64_t columns,
                llvm::function_ref<Value(Value row)> offsetOf);
  void copyBlock(Value memref, Value tile, Copiers copiers, Value key, int64_t columns);
  void loadTile(Value map, ValueRange at, Value key, Value tile, Value barrier);
  /// An array of the op, with the loaded offset inside of `withSaved`.
  any_gpu::GlobalArray arrayOf(Value memref);
  Value savedAt(int64_t nth);
  Value loadSaved(int64_t nth);
  Value hidden(Value number);
  Value power(Value score, Value maximum);
  Value exponentials(Value scores, Value maximum);
  /// Where row `row` of queries or results begins, or its element of an array without channels.
  Value rowOffset(const any_gpu::GlobalArray &array, Value row);
  Value rowOffset(const any_gpu::GlobalArray &array, Value row, bool hasHeads);
  Value map(mlir::Type type, ValueRange operands, llvm::function_ref<Value(ValueRange arguments)> body,
            bool ownColumns = false);
  /// Where key `key` begins, in the array of keys or of values.
  Value keyOffset(const any_gpu::GlobalArray &array, Value key);
  Value load(const any_gpu::GlobalArray &array, Value offset);
  /// The score of a sum, or the sum where it is scaled in the exponent.
  Value scoreOf(Value sum, Value row, Value column);
  void storeRows(Value acc, Value maximum, Value sum, Value firstRow);
  /// Stores the log-sum-exp of rows, or their maximum and sum.
  void storeRow(Value number, Value memref, Value row);
  void storeOfRows(Value maximum, Value sum, Value firstRow);
  void storeWithoutMaskedValues(Value acc, Value maximum, Value inverse, Value firstRow);
  void sumKeptValues(Value row, Value column, Value maximum, Value inverse);
  Value clone(mlir::Region &region, ValueRange arguments, unsigned result = 0);
  Value exp2(Value value);
  Value add(Value x, Value y);

  mlir::ImplicitLocOpBuilder &b;
  attn_gpu::AttentionTileOp op;
  Value rows;                           ///< of queries and heads
  Value count;                          ///< of keys
  Value factor;                         ///< from scores in registers to exponents of 2
  std::optional<int64_t> saved;         ///< the first byte in shared memory
  llvm::DenseMap<Value, Value> offsets; ///< of arrays, as they were loaded
  mlir::IRMapping ofMask;               ///< arrays that the mask reads, with the loaded offset
  bool isScaledLate;
};

/// Emits the code of a tile before it, on the instructions of its schedule.
void emitFloatTile(attn_gpu::AttentionTileOp op);
void emitMmaTile(attn_gpu::AttentionTileOp op);
void emitWgmmaTile(attn_gpu::AttentionTileOp op);

} // namespace rapt::cuda
