//===- ModelAdapters.cpp - Adapters of the tensors that a family needs ------===//
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::huggingface;

static std::string quoted(std::string_view name) { return "\"" + json::printable(name) + "\""; }

Expected<bool> ModelDescription::separateHead(const std::string &head, const std::string &table) {
  if (tensors().find(head))
    return false;
  for (const NamedAdapter &adapter : options.namedAdapters)
    if (adapter.changes.contains(head))
      return Error{shownPath(adapter.source.directory) + ": changes " + quoted(head) + ", which is tied to " +
                   quoted(table) + "; merge the adapter instead: --adapter"};
  const StoredTensor *shared = tensors().find(table);
  if (!merged || !shared)
    return false;
  const auto original = merged->originals.find(table);
  const bool isCopied = original != merged->originals.end();
  if (!merged->changes.contains(head) && !merged->changes.contains(table) && !isCopied)
    return false;
  StoredTensor own = isCopied ? original->second : *shared;
  if (own.shape != shared->shape) {
    notes.push_back(shownPath(this->table.path()) + ": an adapter has " + quoted(table) +
                    " with other rows and no head: the head, which is tied to it, has these rows, too");
    return false;
  }
  own.name = head;
  this->table.replace(std::move(own));
  return true;
}

/// Layers decide the orientation of their weights, which does not follow from the shape of a square matrix.
Status ModelDescription::orientAdapters(std::span<const TensorRequest> requests,
                                        std::span<const ResolvedTensor> resolved) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto &[name, dtype, shape, blocks] = resolved[i];
    if (!seen.insert(name).second)
      continue;
    auto orient = [&](LowRankChanges &changes, bool asStored) -> Status {
      auto own = changes.find(name);
      if (own == changes.end())
        return {};
      Status status = orientChanges(own->second, name, shape, requests[i].isConv1D, asStored);
      if (status)
        own->second = {joinChanges(std::move(own->second))};
      return status;
    };
    if (merged)
      RAPT_RETURN_IF_ERROR(orient(merged->changes, /*asStored=*/true));
    for (NamedAdapter &adapter : options.namedAdapters)
      RAPT_RETURN_IF_ERROR(orient(adapter.changes, /*asStored=*/false));
  }
  return {};
}

Status ModelDescription::checkAdapters() const {
  auto check = [&](const LowRankChanges &changes) -> Status {
    for (const auto &[name, own] : changes)
      if (!table.find(name))
        return Error{own.front().origin + " are for " + quoted(name) +
                     ", which the checkpoint does not have: the adapter is of another base model"};
    return {};
  };
  if (merged)
    RAPT_RETURN_IF_ERROR(check(merged->changes));
  for (const NamedAdapter &adapter : options.namedAdapters)
    RAPT_RETURN_IF_ERROR(check(adapter.changes));
  if (merged)
    for (const std::string &name : merged->added)
      if (std::find(names.begin(), names.end(), name) == names.end())
        return Error{shownPath(table.find(name)->file->path()) + ": tensor " + quoted(name) +
                     " of the adapter is none that the model has"};
  return {};
}
