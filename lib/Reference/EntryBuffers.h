//===- EntryBuffers.h - Memory of the runtime and values of the evaluator ------------------*- C++ -*-===//
//
// What an entry takes and gives as buffers of a manifest. Inputs and outputs are dense arrays
// of the types that the IR declares. The runtime keeps caches and states as bytes, whose layout
// is the evaluator's: its own numbers, a cache block by block, in it the keys and then the values of each layer.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Reference/Value.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace rapt::reference {

/// The dims of a call by their names.
using DimValues = llvm::StringMap<int64_t>;

/// An argument of an entry, a result, or both: what the runtime keeps.
struct EntryBuffer {
  std::string name;
  mlir::Type type;                 ///< a tensor or a cache
  mlir::DictionaryAttr attributes; ///< of the argument, or of the result that is none
  std::optional<unsigned> argument, result;

  BufferKind kind() const { return !argument ? BufferKind::Output : result ? BufferKind::Cache : BufferKind::Input; }
};

/// Arguments, then results that are no arguments; an error where one has no name, or a type that no memory holds.
Expected<llvm::SmallVector<EntryBuffer>> buffersOf(mlir::func::FuncOp entry);

/// The member of a manifest's "buffers", of an evaluator whose numbers take `scalarBytes`.
Expected<json::Value> describe(const EntryBuffer &buffer, int64_t scalarBytes);

/// Bytes of a block of a cache; none where no memory has as many.
std::optional<int64_t> blockBytesOf(attn::KVCacheType type, int64_t scalarBytes);

/// The value that an argument's memory holds.
template <typename Scalar>
Expected<Value<Scalar>> readBuffer(const EntryBuffer &buffer, const void *memory, const DimValues &dims);

/// Writes a result, whose extents must be those that the dims tell.
template <typename Scalar>
Status writeBuffer(const EntryBuffer &buffer, const Value<Scalar> &value, void *memory, const DimValues &dims);

} // namespace rapt::reference
