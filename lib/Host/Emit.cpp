//===- Emit.cpp - From the llvm dialect to machine code of the host program--------------------===//
#include "lib/Host/Emit.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/LowerDispatches.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <rapt/artifact.h>

using namespace rapt;
using namespace rapt::host;

namespace {

std::string featureString(const Machine &machine) {
  std::string text;
  for (const std::string &feature : machine.features)
    text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

std::unique_ptr<llvm::TargetMachine> makeMachine(const Machine &machine) {
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(llvm::Triple(machine.triple), error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast; // contraction only: no other relaxation of IEEE
  options.UniqueSectionNames = true;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(llvm::Triple(machine.triple), machine.baseline(), featureString(machine), options,
                                 llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

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
  manifest->setSection(".rapt.manifest");
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

/// The passes of LLVM's O2 that pay behind MLIR. Loops arrive vectorized and unrolled as far as it pays: the rest of O2
/// changed no measured speed and took a quarter of the compile time.
constexpr llvm::StringLiteral kCleanUp = "lower-expect,sroa,early-cse<memssa>,simplifycfg,instcombine<no-"
                                         "verify-fixpoint>,loop-mssa(loop-rotate,licm),gvn,"
                                         "instcombine<no-verify-fixpoint>,simplifycfg,adce";

/// The passes after it for functions whose loops are over scalars.
constexpr llvm::StringLiteral kVectorizeLoops = "loop-simplify,lcssa,loop(indvars),loop-vectorize,"
                                                "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,adce";
constexpr llvm::StringLiteral kScalarLoops = "rapt-scalar-loops"; ///< of a function in LLVM IR

/// Micro-kernel tiles fill the registers, and their steps come in the order that reads well. LLVM's scheduler, which
/// may not look at single functions, puts the loads of a step first where an address takes a multiplication, and spills
/// half of the accumulators.
void keepOrder() {
  static const bool set = [] {
    llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("enable-misched");
    return option && !option->addOccurrence(0, "enable-misched", "false");
  }();
  (void)set;
}

/// Counts the functions that the passes before it have gone through.
struct CountFunctions : llvm::PassInfoMixin<CountFunctions> {
  const ProgressCallback &onFunctions;
  explicit CountFunctions(const ProgressCallback &onFunctions) : onFunctions(onFunctions) {}
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &) {
    if (onFunctions)
      onFunctions(1);
    return llvm::PreservedAnalyses::all();
  }
};

/// The same for the pass manager of code generators.
struct CountEmittedFunctions : llvm::FunctionPass {
  static char id;
  const ProgressCallback &onFunctions;
  explicit CountEmittedFunctions(const ProgressCallback &onFunctions) : FunctionPass(id), onFunctions(onFunctions) {}
  bool runOnFunction(llvm::Function &) override {
    if (onFunctions)
      onFunctions(1);
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override { usage.setPreservesAll(); }
};
char CountEmittedFunctions::id = 0;

Status runCleanUp(llvm::Module &module, llvm::TargetMachine &machine, const ProgressCallback &onFunctions) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::FunctionPassManager ofFunction;
  if (llvm::Error error = builder.parsePassPipeline(ofFunction, kCleanUp))
    return Error{"LLVM does not know a pass of " + kCleanUp.str() + ": " + llvm::toString(std::move(error))};
  ofFunction.addPass(CountFunctions(onFunctions));
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(ofFunction)));
  passes.run(module, modules);
  llvm::FunctionPassManager ofLoops;
  if (llvm::Error error = builder.parsePassPipeline(ofLoops, kVectorizeLoops))
    return Error{"LLVM does not know a pass of " + kVectorizeLoops.str() + ": " + llvm::toString(std::move(error))};
  for (llvm::Function &function : module)
    if (function.hasFnAttribute(kScalarLoops))
      ofLoops.run(function, functions);
  return {};
}

/// Whether code generation may compute the function's numbers of bf16 in f32 and cast them back: it does so even for a
/// select of two.
bool castsToBf16(const llvm::Function &function) {
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block)
      if (instruction.getType()->getScalarType()->isBFloatTy() &&
          !llvm::isa<llvm::LoadInst, llvm::BitCastInst, llvm::ExtractElementInst>(instruction))
        return true;
  return false;
}

/// Defines the function that LLVM calls for a cast to bf16 on a CPU without an instruction for it: round to nearest,
/// ties to even, and a NaN stays quiet. A library of the compiler has it otherwise, which generated code does not link.
void defineBf16Cast(llvm::Module &module, llvm::StringRef features) {
  auto user = llvm::find_if(module, castsToBf16);
  if (user == module.end() || features.contains("+avx512bf16"))
    return;
  llvm::IRBuilder<> b(module.getContext());
  auto *type = llvm::FunctionType::get(b.getBFloatTy(), {b.getFloatTy()}, false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::WeakAnyLinkage, "__truncsfbf2", module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setAttributes(llvm::AttributeList().addFnAttributes(
      module.getContext(), llvm::AttrBuilder(module.getContext(), user->getAttributes().getFnAttrs())));
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  llvm::Value *number = function->getArg(0), *bits = b.CreateBitCast(number, b.getInt32Ty());
  llvm::Value *isOdd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value *rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(isOdd, b.getInt32(0x7fff))), 16);
  llvm::Value *quiet = b.CreateOr(b.CreateLShr(bits, 16), 0x40);
  llvm::Value *result = b.CreateSelect(b.CreateFCmpUNO(number, number), quiet, rounded);
  b.CreateRet(b.CreateBitCast(b.CreateTrunc(result, b.getInt16Ty()), b.getBFloatTy()));
}

Error noGenerator(const Machine &machine) { return Error{"no code generator for " + machine.triple + " in this LLVM"}; }

} // namespace

Code::Code() : context(std::make_unique<llvm::LLVMContext>()) {}
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
      function.setPassthroughAttr(
          mlir::ArrayAttr::get(function.getContext(), mlir::StringAttr::get(function.getContext(), kScalarLoops)));
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
  const std::string features = featureString(machine);
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

Status host::optimize(Code &code, const Machine &machine, const ProgressCallback &onFunctions) {
  std::unique_ptr<llvm::TargetMachine> generator = makeMachine(machine);
  if (!generator)
    return noGenerator(machine);
  code.module->setDataLayout(generator->createDataLayout());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*code.module, &stream))
    return Error{"generated LLVM IR is not valid: " + problem};
  Status cleaned = runCleanUp(*code.module, *generator, onFunctions);
  defineBf16Cast(*code.module, featureString(machine));
  return cleaned;
}

Status host::emit(Code &code, const Machine &machine, Output output, llvm::raw_pwrite_stream &out,
                  const ProgressCallback &onFunctions) {
  if (output == Output::LLVMIR) {
    code.module->print(out, nullptr);
    return {};
  }
  std::unique_ptr<llvm::TargetMachine> generator = makeMachine(machine);
  if (!generator)
    return noGenerator(machine);
  keepOrder();
  llvm::legacy::PassManager passes;
  auto type = output == Output::Assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (generator->addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true))
    return Error{"this LLVM cannot emit " + std::string(output == Output::Assembly ? "assembly" : "objects") + " for " +
                 machine.triple};
  passes.add(new CountEmittedFunctions(onFunctions));
  passes.run(*code.module);
  return {};
}
