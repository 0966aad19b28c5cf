//===- Adapters.cpp - Tokens in the order of their adapters --------------------===//
#include "dialect/Attn/Facts.h"
#include "lib/Reference/Arguments.h"
#include "lib/Reference/RunSequences.h"

using namespace mlir;
namespace rapt::reference {

int64_t adaptersOf(func::FuncOp entry) { return int64_t(attn::factsOf(entry).adapters.size()); }

LogicalResult addAdapters(func::FuncOp entry, const NamedTensors &inputs, ArrayRef<int64_t> rowBegin,
                          NamedTensors &arguments) {
  const int64_t adapters = adaptersOf(entry);
  if (adapters == 0)
    return success();
  const auto batch = int64_t(rowBegin.size()) - 1;
  std::vector<int64_t> ofRows(batch, 0), order(rowBegin.back()), rows, groups;
  if (auto given = inputs.find(caller::adapter); given != inputs.end()) {
    if (given->second.shape != std::vector<int64_t>{batch} || isFloat(given->second.type))
      return fail(entry) << "adapter is " << shapeText(given->second.shape) << ", but integers [batch] are needed";
    ofRows = integersOf(given->second);
  }
  for (int64_t number : ofRows)
    if (number < 0 || number > adapters)
      return fail(entry) << "adapter has " << number << ", but there are " << adapters << " adapters";
  for (int64_t adapter = 0; adapter <= adapters; ++adapter) {
    const auto begin = int64_t(rows.size());
    for (int64_t row = 0; row < batch; ++row)
      for (int64_t t = rowBegin[row]; ofRows[row] == adapter && t < rowBegin[row + 1]; ++t) {
        order[t] = int64_t(rows.size());
        rows.push_back(t);
      }
    if (int64_t(rows.size()) > begin)
      groups.insert(groups.end(), {begin, adapter});
  }
  while (int64_t(groups.size()) < 2 * (adapters + 2))
    groups.insert(groups.end(), {int64_t(rows.size()), 0});
  arguments[nameOf(Role::AdapterRows)] = integerTensor({int64_t(rows.size())}, rows);
  arguments[nameOf(Role::AdapterGroups)] = integerTensor({adapters + 2, 2}, groups);
  arguments[nameOf(Role::AdapterOf)] = integerTensor({int64_t(order.size())}, order);
  return success();
}

} // namespace rapt::reference
