//===- Instructions.cpp - Instructions of NVIDIA's GPUs -----------------------------------===//
#include "lib/Target/GPU/NVIDIA/Instructions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace rapt;

void cuda::fenceAsync(ImplicitLocOpBuilder &b) {
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
                             NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
}

void cuda::setRegisters(ImplicitLocOpBuilder &b, int64_t registers, bool increase) {
  const auto action = increase ? NVVM::SetMaxRegisterAction::increase : NVVM::SetMaxRegisterAction::decrease;
  NVVM::SetMaxRegisterOp::create(b, b.getI32IntegerAttr(int32_t(registers)),
                                 NVVM::SetMaxRegisterActionAttr::get(b.getContext(), action));
}
