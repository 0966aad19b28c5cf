//===- Remarks.cpp - Remarks of passes ---------------------------------------------===//
#include "lib/Driver/Remarks.h"
#include "lib/Driver/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

namespace {

class Lines : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Lines(StringRef expression) : filter(expression) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    const llvm::remarks::Type type = remark.getRemarkType();
    std::string line = shown(remark.getLocation()) + remark.getRemarkName().str();
    line += type == llvm::remarks::Type::Passed   ? ": fused: "
            : type == llvm::remarks::Type::Missed ? ": not fused: "
                                                  : ": ";
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      line += arg.val;
    if (filter.match(line))
      printDiagnostic("remark", line);
  }

private:
  llvm::Regex filter;
};

} // namespace

Status driver::showRemarks(MLIRContext &context, const std::string &option) {
  auto [category, expression] = StringRef(option).split(':');
  if (expression.empty())
    expression = ".";
  std::string problem;
  if (!llvm::Regex(expression).isValid(problem))
    return Error{"--remarks=" + option + " has an invalid regular expression: " + problem};
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis = category.str();
  if (failed(remark::enableOptimizationRemarks(context, std::make_unique<Lines>(expression),
                                               std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    return Error{"--remarks=" + option + ": remarks cannot be had"};
  return {};
}
