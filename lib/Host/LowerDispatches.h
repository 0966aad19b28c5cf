//===- LowerDispatches.h - Dispatches become calls through rapt_env --------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeRange.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir {
class LLVMTypeConverter;
class RewritePatternSet;
} // namespace mlir

namespace rapt::host {

/// The external constant of type rapt_device_code that kernels belong to. A target defines it when it emits code.
inline constexpr llvm::StringLiteral kDeviceCode = "rapt.device_code";

/// The kernels of a module's device code, numbered in order.
class KernelTable {
public:
  struct Kernel {
    int64_t index, threads, shared;
    int64_t maps;  ///< how many captures are tensor maps: the first ones
    bool overlaps; ///< it waits for the kernel before it by itself
  };
  explicit KernelTable(mlir::ModuleOp module);
  Kernel lookup(mlir::SymbolRefAttr kernel) const { return kernels.lookup(kernel); }

private:
  llvm::DenseMap<mlir::SymbolRefAttr, Kernel> kernels;
};

/// Bytes of a struct of these types of the llvm dialect in memory, each aligned to its size: hosts and GPUs agree on
/// them. MLIR's default layout aligns i64 to 4 bytes.
int64_t argumentBytes(mlir::TypeRange types);

/// The bytes of a tensor map, as kernels take them by value.
mlir::Type tensorMapType(mlir::MLIRContext *context);

/// Makes every dispatch the last operation of its block but for a branch. The conversion, which keeps a record of each
/// operation that moves, would take memory in proportion to their number squared to split the blocks itself.
void splitAfterDispatches(mlir::ModuleOp module);

/// The patterns for attn_host.parallel_for, attn_host.launch and attn_host.tensor_map.
void populateDispatchPatterns(const mlir::LLVMTypeConverter &converter, const KernelTable &kernels,
                              mlir::RewritePatternSet &patterns);

} // namespace rapt::host
