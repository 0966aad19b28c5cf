//===- Emit.cpp - From the llvm dialect to LLVM IR of the host program --------------------------===//
#include "lib/Host/Emit.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/LowerDispatches.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <rapt/artifact.h>

using namespace rapt;
using namespace rapt::host;

namespace {

llvm::GlobalVariable *addConstant(llvm::Module &module, llvm::Constant *value, llvm::StringRef name) {
  return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                  value, name);
}

/// Entries, and the table of code for a device, become hidden symbols with `variant` before their names.
void exportHidden(llvm::Module &module, const std::string &variant, llvm::ArrayRef<std::string> entries) {
  for (const std::string &entry : entries)
    for (const std::string &name : {entry, entry + ".workspace"}) {
      llvm::Function *function = module.getFunction(name);
      function->setName(variant + "." + name);
      function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
  if (llvm::GlobalVariable *code = module.getNamedGlobal(kDeviceCode)) {
    code->setName(variant + "." + kDeviceCode);
    code->setLinkage(llvm::GlobalValue::ExternalLinkage);
    code->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
}

/// The code for a device of all variants: a list, in which the module's own is the first. Null without any.
llvm::Constant *listDeviceCode(llvm::Module &module, const ArtifactTable &table) {
  llvm::GlobalVariable *own = module.getNamedGlobal(kDeviceCode);
  llvm::PointerType *pointer = llvm::PointerType::get(module.getContext(), 0);
  if (!own)
    return llvm::ConstantPointerNull::get(pointer);
  llvm::SmallVector<llvm::Constant *> all{own};
  for (const std::string &variant : table.others) {
    auto *other =
        new llvm::GlobalVariable(module, own->getValueType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                                 nullptr, table.prefix + "." + variant + "." + kDeviceCode);
    other->setVisibility(llvm::GlobalValue::HiddenVisibility);
    all.push_back(other);
  }
  return addConstant(module, llvm::ConstantArray::get(llvm::ArrayType::get(pointer, all.size()), all), "variant_code");
}

llvm::GlobalVariable *addManifest(llvm::Module &module, llvm::StringRef text) {
  llvm::GlobalVariable *manifest =
      addConstant(module, llvm::ConstantDataArray::getString(module.getContext(), text, /*AddNull=*/false), "manifest");
  manifest->setSection(kManifestSection);
  manifest->setAlignment(llvm::Align(8));
  return manifest;
}

/// The rapt_artifact global with its manifest and entry table.
void addTable(llvm::Module &module, const ArtifactTable &table, llvm::ArrayRef<std::string> entries) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i64 = llvm::Type::getInt64Ty(context), *i32 = llvm::Type::getInt32Ty(context),
             *pointer = llvm::PointerType::get(context, 0);
  auto constant = [&](llvm::Constant *value, llvm::StringRef name) { return addConstant(module, value, name); };
  llvm::GlobalVariable *manifest = addManifest(module, table.manifest);
  llvm::StructType *entryType = llvm::StructType::get(pointer, pointer, pointer);
  llvm::SmallVector<llvm::Constant *> rows, names;
  for (const std::string &entry : entries) {
    llvm::Function *run = module.getFunction(entry), *workspace = module.getFunction(entry + ".workspace");
    names.push_back(constant(llvm::ConstantDataArray::getString(context, entry), "name"));
    rows.push_back(llvm::ConstantStruct::get(entryType, names.back(), run, workspace));
    run->setLinkage(llvm::GlobalValue::InternalLinkage);
    workspace->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  auto declare = [&](const std::string &name) {
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false); // only its address is taken
    auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return function;
  };
  for (const std::string &variant : table.others)
    for (auto [entry, name] : llvm::zip(entries, names)) {
      std::string symbol = table.prefix + "." + variant + "." + entry;
      rows.push_back(llvm::ConstantStruct::get(entryType, name, declare(symbol), declare(symbol + ".workspace")));
    }
  llvm::ArrayType *rowsType = llvm::ArrayType::get(entryType, rows.size());
  llvm::GlobalVariable *list = constant(llvm::ConstantArray::get(rowsType, rows), "entries");
  llvm::Constant *weights = llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0));
  if (!table.weights.empty()) {
    llvm::Type *i8 = llvm::Type::getInt8Ty(context);
    llvm::GlobalVariable *inside =
        constant(llvm::ConstantDataArray::getRaw(table.weights, table.weights.size(), i8), "weights");
    inside->setSection(".rapt.weights");
    inside->setAlignment(llvm::Align(RAPT_WEIGHTS_ALIGNMENT));
    weights = inside;
  }
  llvm::SmallVector<llvm::Type *> types{i64, i32, i32, pointer, i64, pointer, i64, pointer, i64};
  llvm::SmallVector<llvm::Constant *> fields{
      llvm::ConstantInt::get(i64, RAPT_ARTIFACT_MAGIC),   llvm::ConstantInt::get(i32, RAPT_ABI_MAJOR),
      llvm::ConstantInt::get(i32, table.abiMinor),        manifest,
      llvm::ConstantInt::get(i64, table.manifest.size()), list,
      llvm::ConstantInt::get(i64, rows.size()),           weights,
      llvm::ConstantInt::get(i64, table.weights.size())};
  if (table.abiMinor >= 4) {
    llvm::GlobalVariable *code = module.getNamedGlobal(kDeviceCode);
    types.push_back(pointer);
    fields.push_back(code ? static_cast<llvm::Constant *>(code)
                          : llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0)));
  }
  if (table.abiMinor >= 5) {
    types.push_back(pointer);
    fields.push_back(listDeviceCode(module, table));
  }
  llvm::StructType *type = llvm::StructType::get(module.getContext(), types);
  auto *global = new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                                          llvm::ConstantStruct::get(type, fields), table.prefix + "_module");
  global->setVisibility(llvm::GlobalValue::DefaultVisibility);
}

} // namespace

Code::Code() : context(std::make_unique<llvm::LLVMContext>()) { context->setDiscardValueNames(true); }
Code::Code(Code &&) = default;
Code::~Code() = default;

uint64_t Code::countFunctions() const {
  return uint64_t(llvm::count_if(*module, [](const llvm::Function &function) { return !function.isDeclaration(); }));
}

Expected<Code> host::translate(mlir::ModuleOp source, const Machine &machine, const Exports &exports) {
  const ArtifactTable *table = exports.table;
  // Declarations of weights and dims have gone into the manifest; entry attributes into the table.
  mlir::OwningOpRef<mlir::ModuleOp> copy = source.clone();
  std::vector<std::string> entries;
  for (mlir::Operation &op : llvm::make_early_inc_range(copy->getBody()->getOperations())) {
    if (auto function = mlir::dyn_cast<mlir::LLVM::LLVMFuncOp>(op))
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        for (llvm::StringRef name : {attn::AttnDialect::nameAttr, attn::AttnDialect::dimsAttr,
                                     attn::AttnDialect::limitAttr, attn::AttnDialect::optionalAttr})
          function.removeArgAttr(i, name);
    if (mlir::isa<attn::ParameterOp, attn::DimOp>(op)) {
      op.erase();
      continue;
    }
    if (auto function = mlir::dyn_cast<mlir::LLVM::LLVMFuncOp>(op);
        function && function->hasAttr(attn::AttnDialect::entryAttr)) {
      entries.push_back(function.getSymName().str());
      for (llvm::StringRef name :
           {attn::AttnDialect::entryAttr, attn::AttnDialect::buffersAttr, attn::AttnDialect::dimsAttr,
            attn::AttnDialect::costsAttr, attn::AttnDialect::dispatchAttr})
        function->removeAttr(name);
    }
  }
  for (auto function : copy->getOps<mlir::LLVM::LLVMFuncOp>())
    if (function->removeAttr(attn::AttnDialect::scalarLoopsAttr))
      function.setPassthroughAttr(mlir::ArrayAttr::get(
          function.getContext(), mlir::StringAttr::get(function.getContext(), kScalarLoopsAttribute)));
  llvm::SmallVector<mlir::NamedAttribute> attributes(copy.get()->getDiscardableAttrs());
  for (mlir::NamedAttribute attribute : attributes)
    if (mlir::isa_and_nonnull<attn::AttnDialect>(attribute.getNameDialect()))
      copy.get()->removeDiscardableAttr(attribute.getName());

  Code code;
  code.module = mlir::translateModuleToLLVMIR(*copy, *code.context, table ? table->prefix : "kernel");
  llvm::Module *module = code.module.get();
  if (!module)
    return Error{"the llvm dialect could not be translated to LLVM IR"};
  module->setTargetTriple(llvm::Triple(machine.triple));
  module->setSourceFileName(table ? table->prefix : "kernel");
  // Exactly the listed features: a CPU's name would bring others, which the runtime does not check.
  const std::string features = machine.featureString();
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine.baseline());
      function.addFnAttr("tune-cpu", machine.tuning());
      function.addFnAttr("target-features", features);
      function.addFnAttr("prefer-vector-width", std::to_string(machine.vectorBytes() * 8));
      function.addFnAttr("frame-pointer", "none");
      function.setDoesNotThrow();
    }
  if (table && table->isKernel)
    llvm::appendToCompilerUsed(*module, {addManifest(*module, table->manifest)});
  else if (table)
    addTable(*module, *table, entries);
  else if (!exports.variant.empty())
    exportHidden(*module, exports.variant, entries);
  return code;
}
