//===- EmbedCode.cpp - Device code as constants of the host program ----------------------===//
#include "lib/Host/LowerDispatches.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAEMBEDCODE
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

constexpr int32_t kCUDA = 2; ///< DLPack's number of the device
enum ImageForm : int32_t { PTX, MachineCode };

/// Builds rapt_device_code and what it points at (lib/Runtime/include/rapt/artifact.h).
class Embedding {
public:
  explicit Embedding(ModuleOp module)
      : b(ImplicitLocOpBuilder::atBlockEnd(module.getLoc(), module.getBody())),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult add(gpu::ObjectAttr object) {
    auto target = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget());
    const bool isText = object.getFormat() == gpu::CompilationTarget::Assembly;
    if (!target || (!isText && object.getFormat() != gpu::CompilationTarget::Binary))
      return emitError(b.getLoc(), "device code is neither PTX nor machine code of an NVIDIA GPU");
    StringRef bytes = object.getObject().getValue();
    const std::string number = std::to_string(images.size());
    images.push_back(
        {addText("rapt.device_arch" + number, target.getChip()),
         isText ? addText("rapt.device_image" + number, bytes) : addBytes("rapt.device_image" + number, bytes),
         int64_t(bytes.size()), isText ? PTX : MachineCode});
    return success();
  }

  /// Defines `code`.
  void finish(LLVM::GlobalOp code, int64_t kernels) {
    Type i64 = b.getI64Type(), i32 = b.getI32Type();
    auto imageType = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer, i64, i32, i32});
    auto listType = LLVM::LLVMArrayType::get(imageType, images.size());
    auto list = LLVM::GlobalOp::create(b, listType, /*isConstant=*/true, LLVM::Linkage::Internal, "rapt.device_images",
                                       Attribute(), /*align=*/8);
    b.createBlock(&list.getInitializer());
    Value value = LLVM::UndefOp::create(b, listType);
    auto number = [&](Type type, int64_t n) -> Value { return LLVM::ConstantOp::create(b, type, n); };
    for (auto [i, image] : llvm::enumerate(images)) {
      Value fields[] = {LLVM::AddressOfOp::create(b, image.arch), LLVM::AddressOfOp::create(b, image.bytes),
                        number(i64, image.size), number(i32, image.form), number(i32, 0)};
      for (auto [j, field] : llvm::enumerate(fields))
        value = LLVM::InsertValueOp::create(b, value, field, ArrayRef<int64_t>{int64_t(i), int64_t(j)});
    }
    LLVM::ReturnOp::create(b, value);

    code.setLinkage(LLVM::Linkage::Internal);
    b.createBlock(&code.getInitializer());
    value = LLVM::UndefOp::create(b, code.getType());
    Value fields[] = {number(i32, kCUDA), number(i32, images.size()), LLVM::AddressOfOp::create(b, list),
                      number(i64, kernels)};
    for (auto [i, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(b, value, field, int64_t(i));
    LLVM::ReturnOp::create(b, value);
  }

private:
  struct Image {
    LLVM::GlobalOp arch, bytes;
    int64_t size;
    ImageForm form;
  };

  LLVM::GlobalOp addBytes(const std::string &name, StringRef bytes) {
    return LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()), /*isConstant=*/true,
                                  LLVM::Linkage::Internal, name, b.getStringAttr(bytes), /*align=*/8);
  }
  LLVM::GlobalOp addText(const std::string &name, StringRef text) { return addBytes(name, text.str() + '\0'); }

  ImplicitLocOpBuilder b;
  Type pointer;
  SmallVector<Image> images;
};

struct EmbedCode : rapt::impl::AttnCUDAEmbedCodeBase<EmbedCode> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkStage(*this, module, Stage::LLVMDialect)))
      return signalPassFailure();
    auto code = module.lookupSymbol<LLVM::GlobalOp>(host::kDeviceCode);
    SmallVector<gpu::BinaryOp> binaries(module.getOps<gpu::BinaryOp>());
    if (!code || binaries.empty())
      return;
    int64_t kernels = 0;
    for (auto global : module.getOps<LLVM::GlobalOp>())
      kernels += global.getSymName().ends_with(".name");
    Embedding embedding(module);
    for (gpu::BinaryOp binary : binaries) {
      for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>())
        if (failed(embedding.add(object)))
          return signalPassFailure();
      binary.erase();
    }
    embedding.finish(code, kernels);
  }
};

} // namespace
