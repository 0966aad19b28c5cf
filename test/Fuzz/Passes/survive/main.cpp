//===- main.cpp - survive: runs passes on a module and on mutants of it -------------------===//
//
// A mutant is the module without some of its ops. Each pass runs on the module in a process of
// its own, as rapt-opt would run it, and on the mutants in processes that several passes share.
// It must end with a valid module or with an error.
//
//===----------------------------------------------------------------------------------------===//
#include "Faulty.h"
#include "Mutant.h"
#include "Process.h"
#include "lib/InitAll.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include <chrono>
#include <csignal>
#include <cstring>
#include <random>

using namespace mlir;
using namespace survive;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("TEXT.mlir"));
static cl::list<std::string> pipelines("passes", cl::desc("passes to run, each alone, with their options in braces"),
                                       cl::list_init<std::string>({}));
static cl::opt<unsigned> seed("seed", cl::init(1));
static cl::opt<unsigned> first("first", cl::desc("index of the first mutant; 0 is the module as it is"), cl::init(0));
static cl::opt<unsigned> count("count", cl::desc("how many mutants"), cl::init(1));
static cl::list<std::string> deleted("delete", cl::CommaSeparated,
                                     cl::desc("run one mutant, without these ops: numbers, and ranges such as 3-7"));
static cl::opt<bool> shows("print", cl::desc("print the mutant of --delete and run nothing"));
static cl::opt<unsigned> reduceSeconds("reduce-seconds", cl::desc("time to reduce a finding"), cl::init(10));

namespace {
constexpr unsigned kSeconds = 30;    // of one pass
constexpr unsigned kMostDeleted = 8; // binary logarithm of the most ops that a mutant lacks before reduction, plus one

// Exit statuses of a pass's process; a sanitizer's is 1. MLIR's verifier, which runs after a pass, tells the user of an
// invalid module, which passes may make of IR that is of no stage.
enum Status { Passed = 0, Refused = 40, NoMessage, MadeInvalid, InvalidMutant };

int runPass(ModuleOp module, const std::string &pipeline) {
  bool sawError = false;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    sawError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    llvm::errs() << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  if (failed(parsePassPipeline(pipeline, passes, llvm::errs())))
    return NoMessage;
  passes.enableVerifier(false); // told apart from an error of the pass below
  if (failed(passes.run(module)))
    return sawError ? Refused : NoMessage;
  if (failed(verify(module)))
    return MadeInvalid;
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return Passed;
}

bool isValid(ModuleOp module) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  return succeeded(verify(module));
}

/// The message that tells a fault from others: without addresses and numbers, which change as it is reduced.
std::string messageIn(StringRef errors) {
  SmallVector<StringRef> lines;
  errors.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains("Assertion") || line.contains("ERROR: AddressSanitizer") || line.contains("runtime error:") ||
        line.contains("UNREACHABLE") || line.contains("LLVM ERROR"))
      return line.substr(0, 300).str();
  return lines.empty() ? "" : lines.front().substr(0, 300).str();
}

/// The fault in a line; empty where there is none.
std::string faultOf(const Ending &ending) {
  const bool hangs = ending.signal == SIGXCPU || ending.signal == SIGALRM;
  if (ending.signal)
    return std::string(hangs ? "hangs" : strsignal(ending.signal)) + ": " + messageIn(ending.errors);
  if (ending.status == NoMessage)
    return "fails without a message: " + messageIn(ending.errors);
  if (ending.status != Passed && ending.status != Refused && ending.status != MadeInvalid &&
      ending.status != InvalidMutant)
    return "exit status " + std::to_string(ending.status) + ": " + messageIn(ending.errors);
  return "";
}

/// The part of a fault that stays the same while it is reduced: numbers change.
std::string kindOf(const std::string &fault) {
  std::string kind;
  for (char c : fault)
    if (!llvm::isDigit(c))
      kind += c;
  return kind.substr(0, 120);
}

std::string faultOf(ModuleOp module, const Plan &plan, const std::string &pipeline) {
  return faultOf(runApart(kSeconds, [&]() -> int {
    apply(module, plan);
    return plan.empty() || isValid(module) ? runPass(module, pipeline) : InvalidMutant;
  }));
}

/// Deletes more and more ops as long as the pass fails in the same way: large parts first, as the walk meets them
/// first.
void reduce(ModuleOp module, Plan &plan, const std::string &pipeline, std::string &fault) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(reduceSeconds);
  const std::string kind = kindOf(fault);
  for (unsigned position = 0; position < countOps(module); ++position) {
    if (std::chrono::steady_clock::now() > end)
      return;
    if (llvm::is_contained(plan, position))
      continue;
    plan.push_back(position);
    if (std::string now = faultOf(module, plan, pipeline); kindOf(now) == kind)
      fault = now;
    else
      plan.pop_back();
  }
}

/// As --delete takes it: a reduced plan is a few ranges of thousands of ops.
std::string textOf(const Plan &plan) {
  std::string text;
  for (size_t i = 0, last; i < plan.size(); i = last + 1) {
    for (last = i; last + 1 < plan.size() && plan[last + 1] == plan[last] + 1;)
      ++last;
    text += (i ? "," : "") + std::to_string(plan[i]) + (last > i ? "-" + std::to_string(plan[last]) : "");
  }
  return text;
}

/// The plan that textOf prints; an error for anything else.
FailureOr<Plan> planOf(ArrayRef<std::string> parts) {
  Plan plan;
  for (StringRef part : parts) {
    auto [begin, end] = part.split('-');
    unsigned first, last;
    if (begin.getAsInteger(10, first) || (end.empty() ? begin : end).getAsInteger(10, last))
      return llvm::errs() << "survive: --delete names no op: '" << part << "'\n", failure();
    for (unsigned position = first; position <= last; ++position)
      plan.push_back(position);
  }
  return plan;
}

/// The module as it is, then without its stage, then mutants, every other one without its stage.
Plan draw(ModuleOp module, unsigned index) {
  if (index <= 1)
    return index == 0 ? Plan() : Plan{0};
  std::mt19937 random(seed * 1000003 + index);
  Plan plan;
  const unsigned ops = countOps(module);
  for (unsigned i = 0, most = 1u << random() % kMostDeleted; i < most; ++i)
    plan.push_back(random() % ops);
  if (index % 2)
    plan.push_back(0);
  return plan;
}

struct Totals {
  unsigned runs = 0, refused = 0, findings = 0, invalid = 0;
};

void countRun(int status, Totals &totals) {
  ++totals.runs;
  totals.refused += status == Refused || status == MadeInvalid;
}

void report(ModuleOp module, const Plan &plan, const std::string &pipeline, std::string fault, Totals &totals) {
  ++totals.findings;
  Plan reduced = plan;
  if (reduceSeconds)
    reduce(module, reduced, pipeline, fault);
  llvm::outs() << "FAIL " << pipeline << ": " << fault << "\n  again: survive " << input << " --passes='" << pipeline
               << "'" << (reduced.empty() ? "" : " --delete=" + textOf(reduced)) << "\n";
  llvm::outs().flush();
}

/// Whether the mutant is valid.
bool runAlone(ModuleOp module, const Plan &plan, const std::string &pipeline, Totals &totals) {
  Ending ending = runApart(kSeconds, [&]() -> int {
    apply(module, plan);
    return plan.empty() || isValid(module) ? runPass(module, pipeline) : InvalidMutant;
  });
  if (ending.status == InvalidMutant && !ending.signal)
    return false;
  countRun(ending.status, totals);
  if (std::string fault = faultOf(ending); !fault.empty())
    report(module, plan, pipeline, fault, totals);
  return true;
}

/// Runs the passes of a mutant in one process, each on a copy, which is what most of their time would go into
/// otherwise. One that ends the process, or fails without a message, runs again alone.
void runMutant(ModuleOp module, const Plan &plan, Totals &totals) {
  bool valid = false;
  for (size_t next = 0; next < pipelines.size(); ++next) {
    const std::vector<uint8_t> statuses = runInTurn(kSeconds, pipelines.size() - next, [&](unsigned nth) -> int {
      if (nth == 0) {
        apply(module, plan);
        valid = isValid(module);
      }
      OwningOpRef<ModuleOp> copy = module.clone();
      return valid ? runPass(*copy, pipelines[next + nth]) : InvalidMutant;
    });
    for (uint8_t status : statuses) {
      if (status == InvalidMutant) {
        ++totals.invalid;
        return;
      }
      if (status == NoMessage)
        runAlone(module, plan, pipelines[next], totals);
      else
        countRun(status, totals);
      ++next;
    }
    if (next == pipelines.size())
      return;
    const unsigned before = totals.findings;
    if (runAlone(module, plan, pipelines[next], totals) && totals.findings == before)
      report(module, plan, pipelines[next], "ends a process in which other passes ran before", totals);
  }
}
} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Runs passes on a module without some of its ops\n");
  DialectRegistry registry;
  rapt::registerAllDialects(registry);
  rapt::registerAllPasses();
  registerFaultyPass();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(input, ParserConfig(&context));
  if (!module)
    return 1;
  const FailureOr<Plan> given = planOf(deleted);
  if (failed(given))
    return 2;
  if (shows) {
    apply(*module, *given);
    llvm::outs() << *module << "\n";
    return 0;
  }
  Totals totals;
  if (!given->empty())
    runMutant(*module, *given, totals);
  for (unsigned index = first; given->empty() && index < first + count; ++index) {
    if (index > 0) {
      runMutant(*module, draw(*module, index), totals);
      continue;
    }
    // The module as it is: each pass alone, as rapt-opt would run it, so that no pass lives by a dialect that another
    // one has loaded.
    for (const std::string &pipeline : pipelines)
      runAlone(*module, {}, pipeline, totals);
  }
  llvm::outs() << "survive: " << totals.runs << " runs, " << totals.refused << " refused, " << totals.findings
               << " findings, " << totals.invalid << " invalid mutants\n";
  return totals.findings > 0;
}
