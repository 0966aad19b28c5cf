//===- main.cpp - raptc: compiles a model ---------------------------------------------===//
#include "lib/Driver/Compile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace rapt::driver;
namespace cl = llvm::cl;
using cl::desc, cl::cat, cl::value_desc, cl::location, cl::init;

static Options options;
static cl::OptionCategory own("Options of raptc");
template <typename T> using Stored = cl::opt<T, /*ExternalStorage=*/true>;

static cl::opt<std::string> model(cl::Positional, desc("MODEL: a model directory, its config.json, or .mlir text"), cat(own));
static Stored<std::string> output("o", location(options.output), desc("output: X.so (default ./NAME.so), X.a or X.o"), value_desc("X"), cat(own));
static cl::opt<std::string> emit("emit", desc("stop at: imported, canonical, tiled, backend, llvm-dialect, llvm-ir, asm, obj, so"), value_desc("stage"), cat(own));
static cl::opt<bool> assembly("S", desc("same as --emit=asm"), cat(own));
static cl::opt<bool> object("c", desc("same as --emit=obj"), cat(own));
static cl::opt<std::string> target("target", desc("cpu"), init("cpu"), cat(own));
static Stored<std::string> cpu("mcpu", location(options.cpu), desc("native (default), or a CPU's name; help lists them"), value_desc("cpu"), init("native"), cat(own));
static cl::alias march("march", desc("same as --mcpu"), cl::aliasopt(cpu), cat(own));
static Stored<std::string> attributes("mattr", location(options.attributes), desc("CPU features to add or to leave out"), value_desc("+a,-b"), cat(own));
static Stored<std::string> dtype("dtype", location(options.dtype), desc("storage of weights: auto (the checkpoint's), f32, bf16, f16"), init("auto"), cat(own));
static Stored<int64_t> maxSequence("max-seq-len", location(options.maxSequenceLength), desc("positions of a sequence; the model's by default"), value_desc("N"), cat(own));
static Stored<int64_t> maxBatch("max-batch", location(options.maxBatch), desc("sequences of a step"), value_desc("N"), init(64), cat(own));
static cl::opt<uint64_t> seed("random-weights", desc("weights from a seed instead of the model's"), value_desc("seed"), cat(own));
static Stored<std::string> saveWeights("save-weights", location(options.saveWeights), desc("also write the tensors as safetensors"), value_desc("F"), cat(own));
static Stored<std::string> weights("weights", location(options.weights), desc("for .mlir: a model directory, or a packed file"), value_desc("F"), cat(own));
static Stored<bool> noWeights("no-weights", location(options.noWeights), desc("code alone"), cat(own));
static Stored<std::string> prefix("prefix", location(options.prefix), desc("of the exported symbol; from the output's name by default"), value_desc("name"), cat(own));
static Stored<bool> dryRun("dry-run", location(options.dryRun), desc("predict sizes and memory, write nothing"), cat(own));
static Stored<bool> checkTensors("check-tensors", location(options.checkTensors), desc("refuse NaN and infinity in weights"), cat(own));
static Stored<bool> strict("strict", location(options.strict), desc("refuse tensors that the model does not use"), cat(own));
static cl::list<std::string> ignoreKeys("ignore-config-key", desc("a key of config.json to pass over"), value_desc("K"), cat(own));
static Stored<unsigned> threads("j", location(options.threads), desc("threads for packing weights"), value_desc("N"), cl::Prefix, cat(own));
static Stored<bool> verbose("v", location(options.verbose), desc("tell the steps, and notes of diagnostics"), cat(own));
static Stored<bool> showSteps("###", location(options.showSteps), desc("tell the steps and run none"), cat(own));
static Stored<bool> saveTemporaries("save-temps", location(options.saveTemporaries), desc("keep every stage beside the output"), cat(own));
static Stored<std::string> dumpDirectory("dump-dir", location(options.dumpDirectory), desc("keep every stage in a folder"), value_desc("D"), cat(own));
static cl::opt<bool> listFamilies("list-families", desc("the model types that can be compiled"), cat(own));

/// Tells what is wrong with the command line.
static int usage(const std::string &message) {
  llvm::errs() << "raptc: error: " << message << "\n";
  return WrongUsage;
}

/// Prints a list that was asked for instead of a compilation.
static int print(const std::string &text) {
  llvm::outs() << text;
  return Success;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(own);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "raptc " RAPT_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles a model to native code.\n", &llvm::errs()))
    return WrongUsage;
  if (listFamilies)
    return print(familyNames());
  if (options.cpu == "help")
    return print(cpuNames());
  if (model.empty())
    return usage("no MODEL is given; raptc --help tells more");
  options.model = model;
  if (target != "cpu")
    return usage(target == "cuda" ? "--target=cuda: this version compiles for CPUs only" : "unknown --target=" + target + "; it is cpu");
  if (emit.getNumOccurrences() + assembly + object > 1)
    return usage("give one of --emit, -S and -c");
  if (assembly || object)
    options.emit = assembly ? Emit::Assembly : Emit::Object;
  if (emit.getNumOccurrences() && !(options.emit = emitNamed(emit)))
    return usage("unknown --emit=" + emit + "; it is imported, canonical, tiled, backend, llvm-dialect, llvm-ir, asm, obj or so");
  if (options.dtype != "auto" && options.dtype != "f32" && options.dtype != "bf16" && options.dtype != "f16")
    return usage("unknown --dtype=" + options.dtype + "; it is auto, f32, bf16 or f16");
  if (seed.getNumOccurrences())
    options.randomSeed = seed;
  options.ignoreKeys.assign(ignoreKeys.begin(), ignoreKeys.end());
  std::string tool = llvm::sys::fs::getMainExecutable(argv[0], reinterpret_cast<void *>(&usage));
  return compile(options, tool);
}
