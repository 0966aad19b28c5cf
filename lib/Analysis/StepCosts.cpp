//===- StepCosts.cpp - Sequences that share one read of a recurrence's weight -------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/Cost.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace rapt;
using attn::AttnDialect;

namespace {

/// The counts of an entry, of which recurrences take those of time steps.
class Counts {
public:
  explicit Counts(ArrayAttr list) : b(list.getContext()) {
    for (auto count : list.getAsRange<DictionaryAttr>())
      counts.emplace_back(count);
  }

  /// The name of the count that is as `name`, but for so many sequences; `name` itself where it counts no time steps.
  StringAttr withRows(StringAttr name, int64_t rows) {
    auto is = [](const NamedAttrList &count, StringRef key, Attribute value) { return count.get(key) == value; };
    auto *found = llvm::find_if(counts, [&](const NamedAttrList &count) { return is(count, "name", name); });
    if (found == counts.end() || !is(*found, "kind", b.getStringAttr("steps")))
      return name;
    const Attribute wanted = b.getI64IntegerAttr(rows);
    if (taken.insert(name).second) {
      found->set("rows", wanted);
      return name;
    }
    for (const NamedAttrList &count : counts)
      if (is(count, "kind", found->get("kind")) && is(count, "queries", found->get("queries")) &&
          is(count, "rows", wanted) && isa_and_present<StringAttr>(count.get("name")))
        return cast<StringAttr>(count.get("name"));
    NamedAttrList other(*found);
    size_t number = counts.size();
    auto isTaken = [&](const NamedAttrList &count) {
      return is(count, "name", b.getStringAttr("count" + Twine(number)));
    };
    while (llvm::any_of(counts, isTaken))
      ++number;
    StringAttr fresh = b.getStringAttr("count" + Twine(number));
    other.set("name", fresh);
    other.set("rows", wanted);
    counts.push_back(other);
    return fresh;
  }

  ArrayAttr list() {
    SmallVector<Attribute> all;
    for (NamedAttrList &count : counts)
      all.push_back(count.getDictionary(b.getContext()));
    return b.getArrayAttr(all);
  }

private:
  Builder b;
  SmallVector<NamedAttrList> counts;
  llvm::SmallPtrSet<Attribute, 4> taken; ///< names of counts whose rows are set
};

} // namespace

void rapt::setRowsOfSteps(FunctionOpInterface entry, ArrayRef<std::pair<Operation *, int64_t>> recurrences) {
  auto facts = entry->getAttrOfType<DictionaryAttr>(AttnDialect::costsAttr);
  auto list = facts ? facts.getAs<ArrayAttr>("ops") : ArrayAttr(),
       counted = facts ? facts.getAs<ArrayAttr>("counts") : ArrayAttr();
  if (!list || !counted || !llvm::all_of(list, llvm::IsaPred<DictionaryAttr>) ||
      !llvm::all_of(counted, llvm::IsaPred<DictionaryAttr>))
    return;
  Counts counts(counted);
  SmallVector<Attribute> ops(list.getValue());
  Builder b(entry.getContext());
  for (auto [op, rows] : recurrences) {
    auto number = op->getAttrOfType<IntegerAttr>(AttnDialect::opAttr);
    if (!number || !number.getValue().ult(ops.size()))
      continue;
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&, rows = rows](StringAttr name) -> std::optional<Attribute> { return counts.withRows(name, rows); });
    NamedAttrList costs(cast<DictionaryAttr>(ops[number.getInt()]));
    for (StringRef polynomial : {"flops", "weights", "cache", "activations"})
      if (Attribute terms = costs.get(polynomial))
        costs.set(polynomial, replacer.replace(terms));
    ops[number.getInt()] = costs.getDictionary(b.getContext());
  }
  NamedAttrList all(facts);
  all.set("ops", b.getArrayAttr(ops));
  all.set("counts", counts.list());
  entry->setAttr(AttnDialect::costsAttr, all.getDictionary(b.getContext()));
}
