//===- SequenceEntries.h - Entries around which the runtime keeps sequences -*- C++ -*-===//
//
// `step` and `encode` under construction. Which buffers they have, in which order, with which names, types and dims, is
// said by lib/Support/EntryRoles.def; a model says which parts it has and what the table leaves open.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/ModelModule.h"
#include <map>

namespace rapt::importing {

/// What a model says of its entries.
struct SequenceFacts {
  uint32_t parts = part::Always; ///< those it has, of EntryRoles.def
  std::map<EntryRole, BufferFacts> buffers;
  bool isSerial = false;     ///< a step takes one token of each sequence
  int64_t positions = 0;     ///< of a sequence's own tokens in the cache
  int64_t longestSource = 0; ///< that a source may have; that every source has, of one that is no text

  bool has(uint32_t some) const { return (parts & some) != 0; }
};

class SequenceEntries {
public:
  /// Without a module, where weights are declared, entries have no arguments and all values are null.
  SequenceEntries(mlir::MLIRContext &context, ModelModule *module, SequenceFacts facts);

  /// Declares the dims of these entries. The model's own come behind them, then parameters and entries.
  void declareDims(const ImportOptions &options);

  void beginStep() { begin(stepEntry, &RoleRow::step); }
  void beginEncode() { begin(encodeEntry, &RoleRow::encode); }
  /// The argument of the entry that is open; null where it has none of this role.
  mlir::Value argument(EntryRole role) const;
  mlir::Location loc() const { return module->entry().getLoc(); }
  /// The rows of its tokens, in the cache where there is one of their own.
  Rows rows() const;
  /// The adapters of its tokens; none of a model without adapters.
  std::optional<AdapterRows> adapters() const;
  /// Ends it. A cache or states without a value stay as they were.
  void end(const std::map<EntryRole, mlir::Value> &results);

private:
  void begin(const char *name, uint32_t RoleRow::*list);
  EntryBuffer declare(EntryRole role, bool isEncode) const;

  mlir::MLIRContext &context;
  ModelModule *module;
  SequenceFacts facts;
  llvm::SmallVector<EntryRole> inputs, outputs; ///< of the entry that is open
};

} // namespace rapt::importing
