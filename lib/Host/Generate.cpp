//===- Generate.cpp - From LLVM IR to machine code of the host program -------------------------===//
//
// Objects are a function of the IR and of this file: its hash is part of an object's key.
//
//===----------------------------------------------------------------------===//
#include "lib/Host/Emit.h"
#include "lib/Host/GenerateHash.inc"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace rapt;
using namespace rapt::host;

namespace {

std::unique_ptr<llvm::TargetMachine> makeMachine(const Machine &machine) {
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(llvm::Triple(machine.triple), error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast; // contraction only: no other relaxation of IEEE
  options.UniqueSectionNames = true;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(llvm::Triple(machine.triple), machine.baseline(), machine.featureString(), options,
                                 llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// The passes of LLVM's O2 that pay behind MLIR. Loops arrive vectorized and unrolled as far as it pays: the rest of O2
/// changed no measured speed and took a quarter of the compile time.
constexpr llvm::StringLiteral kCleanUp = "lower-expect,sroa,early-cse<memssa>,simplifycfg,instcombine<no-"
                                         "verify-fixpoint>,loop-mssa(loop-rotate,licm),gvn,"
                                         "instcombine<no-verify-fixpoint>,simplifycfg,adce";

/// The passes after it for functions whose loops are over scalars.
constexpr llvm::StringLiteral kVectorizeLoops = "loop-simplify,lcssa,loop(indvars),loop-vectorize,"
                                                "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,adce";

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

/// LLVM leaves passes out at Level::Quick, and for 16 registers the one that adds what several steps add to an
/// accumulator before it is added: the registers do not hold both, so that half of the accumulators were spilled. It
/// has these options for the whole process, and reads them while the passes of a code generator are listed: meanwhile
/// no other thread does that.
class PassOptions {
public:
  PassOptions(Level level, const Machine &machine)
      : isQuick(level == Level::Quick), hasFewRegisters(machine.arch() == "x86_64" && machine.vectorBytes() < 64),
        hold(mutex) {
    if (isQuick)
      set("disable-lsr", "true");
    if (hasFewRegisters)
      set("x86-machine-combiner", "false");
  }
  ~PassOptions() {
    if (isQuick)
      set("disable-lsr", "false");
    if (hasFewRegisters)
      set("x86-machine-combiner", "true");
  }

private:
  static void set(const char *name, const char *value) {
    if (llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name))
      option->addOccurrence(0, name, value, /*MultiArg=*/true);
  }

  const bool isQuick, hasFewRegisters;
  static std::mutex mutex;
  std::lock_guard<std::mutex> hold;
};
std::mutex PassOptions::mutex;

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
    if (function.hasFnAttribute(kScalarLoopsAttribute))
      ofLoops.run(function, functions);
  return {};
}

/// Whether code generation may hold the function's numbers of bf16 in f32 and cast them back: it does so even for a
/// select of two, and for what one block loads and another reads.
bool castsToBf16(const llvm::Function &function) {
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block) {
      auto isElsewhere = [&](const llvm::User *user) {
        return llvm::cast<llvm::Instruction>(user)->getParent() != &block;
      };
      if (instruction.getType()->getScalarType()->isBFloatTy() &&
          (!llvm::isa<llvm::LoadInst, llvm::BitCastInst, llvm::ExtractElementInst>(instruction) ||
           llvm::any_of(instruction.users(), isElsewhere)))
        return true;
    }
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

Status host::optimize(Code &code, const Machine &machine, Level level, const ProgressCallback &onFunctions) {
  std::unique_ptr<llvm::TargetMachine> generator = makeMachine(machine);
  if (!generator)
    return noGenerator(machine);
  code.module->setDataLayout(generator->createDataLayout());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*code.module, &stream))
    return Error{"generated LLVM IR is not valid: " + problem};
  Status cleaned = runCleanUp(*code.module, *generator, onFunctions);
  defineBf16Cast(*code.module, machine.featureString());
  return cleaned;
}

Status host::emit(Code &code, const Machine &machine, Level level, Output output, llvm::raw_pwrite_stream &out,
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
  auto addPasses = [&] {
    const PassOptions options(level, machine);
    return !generator->addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true);
  };
  if (!addPasses())
    return Error{"this LLVM cannot emit " + std::string(output == Output::Assembly ? "assembly" : "objects") + " for " +
                 machine.triple};
  passes.add(new CountEmittedFunctions(onFunctions));
  passes.run(*code.module);
  return {};
}

std::string host::keyOf(llvm::ArrayRef<llvm::StringRef> parts) {
  llvm::BLAKE3 hash;
  auto add = [&](llvm::StringRef part) {
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  };
  add(LLVM_VERSION_STRING);
  add(kGenerateHash);
  llvm::for_each(parts, add);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string host::keyOf(const Code &code, const Machine &machine, Level level, Output output) {
  llvm::SmallVector<char, 0> bitcode;
  llvm::BitcodeWriter writer(bitcode);
  // Passes may take the uses of a value in their order, so it counts.
  writer.writeModule(*code.module, /*ShouldPreserveUseListOrder=*/true);
  writer.writeStrtab(); // the names of globals
  return keyOf({machine.triple, machine.baseline(), machine.tuning(), machine.featureString(),
                level == Level::Quick ? "quick" : "shipped", output == Output::Assembly ? "assembly" : "object",
                llvm::StringRef(bitcode.data(), bitcode.size())});
}
