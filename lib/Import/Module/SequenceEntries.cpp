//===- SequenceEntries.cpp - Entries around which the runtime keeps sequences -===//
#include "lib/Import/Module/SequenceEntries.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

SequenceEntries::SequenceEntries(MLIRContext &context, ModelModule *module, SequenceFacts facts)
    : context(context), module(module), facts(std::move(facts)) {}

void SequenceEntries::declareDims(const ImportOptions &options) {
  if (!module)
    return;
  auto blocksOf = [&](int64_t positions) { return (positions + options.cacheBlock - 1) / options.cacheBlock; };
  constexpr int64_t many = 1 << 20;
  const int64_t own = facts.has(part::Paged) ? blocksOf(facts.positions) : 0, source = blocksOf(facts.longestSource);
  // A pool's size is chosen when a context is made; the bound only keeps byte offsets in 64 bits.
  const int64_t pool = std::max(many, (own + source) * options.maxBatch);
  auto boundsOf = [&](EntryDim dim) -> std::pair<int64_t, int64_t> {
    switch (dim) {
    case EntryDim::Tokens:
    case EntryDim::Wanted:
    case EntryDim::Adapted:
    case EntryDim::Embeddings:
      return {0, options.maxTokens};
    case EntryDim::Rows:
      return {1, options.maxBatch};
    case EntryDim::Slots:
      return {1, many};
    case EntryDim::Table:
      return {1, own};
    case EntryDim::Blocks:
    case EntryDim::WindowBlocks:
      return {1, pool};
    case EntryDim::SourceBlocks:
      return {1, source};
    }
    llvm_unreachable("every dim is handled");
  };
  uint32_t used = 0;
  for (const RoleRow &row : part::rows)
    for (int i = 0; i < row.shape.count; ++i)
      used |= facts.has(row.step | row.encode) ? 1u << int(row.shape.dims[i]) : 0;
  for (int i = 0; i < entryDimCount; ++i)
    if (used >> i & 1) {
      auto [least, most] = boundsOf(EntryDim(i));
      module->dim(entryDimNames[i], least, most);
    }
}

EntryBuffer SequenceEntries::declare(EntryRole role, bool isEncode) const {
  const auto found = facts.buffers.find(role);
  EntryBuffer buffer = bufferOf(context, role, found == facts.buffers.end() ? BufferFacts() : found->second);
  const bool isOfRows = isEncode ? !facts.has(part::Words) && rowOf(role).kind == BufferKind::Output
                                 : facts.isSerial && role == EntryRole::Tokens;
  if (isOfRows)
    buffer.dims = {nameOf(EntryDim::Rows)};
  return buffer;
}

void SequenceEntries::begin(const char *name, uint32_t RoleRow::*list) {
  inputs.clear();
  outputs.clear();
  SmallVector<EntryBuffer> given, results;
  for (int i = 0; i < entryRoleCount; ++i) {
    const EntryRole role = EntryRole(i);
    const RoleRow &row = rowOf(role);
    if (!facts.has(row.*list) || row.kind == BufferKind::Weights || row.kind == BufferKind::Workspace)
      continue;
    EntryBuffer buffer = declare(role, list == &RoleRow::encode);
    if (row.kind != BufferKind::Output) {
      inputs.push_back(role);
      given.push_back(buffer);
    }
    if (row.kind != BufferKind::Input) {
      outputs.push_back(role);
      if (row.kind == BufferKind::Cache)
        buffer.dims.clear(); // those of the argument, which is updated in place
      results.push_back(std::move(buffer));
    }
  }
  if (module)
    module->beginEntry(name, given, results);
}

Value SequenceEntries::argument(EntryRole role) const {
  const auto *found = llvm::find(inputs, role);
  if (!module || found == inputs.end())
    return {};
  return module->entry().getArgument(unsigned(found - inputs.begin()));
}

Rows SequenceEntries::rows() const {
  return {argument(EntryRole::RowBegin), argument(EntryRole::Past), argument(EntryRole::BlockTable)};
}

std::optional<AdapterRows> SequenceEntries::adapters() const {
  if (!argument(EntryRole::AdapterRows))
    return std::nullopt;
  return AdapterRows{argument(EntryRole::AdapterRows), argument(EntryRole::AdapterGroups),
                     argument(EntryRole::AdapterOf)};
}

void SequenceEntries::end(const std::map<EntryRole, Value> &results) {
  if (!module)
    return;
  module->endEntry(llvm::map_to_vector(outputs, [&](EntryRole role) {
    const auto found = results.find(role);
    return found == results.end() || !found->second ? argument(role) : found->second;
  }));
}
