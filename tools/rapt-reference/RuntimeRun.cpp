//===- RuntimeRun.cpp - The evaluator below rapt-run's tasks -------------------------===//
#include "tools/rapt-reference/RuntimeRun.h"
#include "dialect/Attn/Entries.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Reference/Oracle.h"
#include "lib/Runtime/InfoFacts.h"

using namespace mlir;
namespace rapt::reference {

namespace {

/// What the runtime calls the entry: whole texts of a model that keeps sequences are "forward".
std::string entryOf(ModuleOp module, const std::string &given) {
  if (module.lookupSymbol(stepEntry) && (given.empty() || given == stepEntry || given == encodeEntry))
    return forwardEntry;
  SmallVector<FunctionOpInterface> entries = attn::entriesOf(module);
  return given.empty() && !entries.empty() ? entries.front().getName().str() : given;
}

/// The command line of rapt-run.
run::Options optionsOf(ModuleOp module, const Options &given) {
  run::Options options;
  options.library = given.request.ir;
  options.threads = {1}; // the evaluator has one
  options.inputs = given.request.inputs;
  options.outputs = given.request.outputs;
  options.entry = entryOf(module, given.request.entry);
  return options;
}

/// The job for what is given.
Outcome makeJob(const run::Options &options, const Oracle &oracle, std::unique_ptr<run::Job> &job) {
  run::Model model;
  RAPT_RETURN_IF_ERROR(Module::open(oracle.artifact(), model.module));
  model.info = model.module.info();
  model.facts = runtime::factsOf(model.info);
  job = run::makeTensors(options, std::move(model));
  return {};
}

} // namespace

int runOnRuntime(ModuleOp module, ParameterReader &parameters, const Options &given) {
  auto oracle = Oracle::make(module, parameters, given.request.inF64);
  if (!oracle)
    return fail(oracle.error().message, 1);
  const run::Options options = optionsOf(module, given);
  std::unique_ptr<run::Job> job; // before the oracle it goes
  Outcome outcome = makeJob(options, **oracle, job);
  if (outcome)
    outcome = job->prepare();
  if (outcome)
    outcome = job->run();
  if ((*oracle)->hasFailed()) // which was told
    return 1;
  if (!outcome)
    return fail(outcome.message, 1);
  const Status status = job->finish();
  return status ? 0 : fail(status.error().message, 1);
}

} // namespace rapt::reference
