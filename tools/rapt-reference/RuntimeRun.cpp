//===- RuntimeRun.cpp - The evaluator below rapt-run's tasks -------------------------===//
#include "tools/rapt-reference/RuntimeRun.h"
#include "dialect/Attn/Entries.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Reference/Oracle.h"
#include "lib/Runtime/InfoFacts.h"
#include "lib/Support/File.h"
#include <filesystem>

using namespace mlir;
namespace rapt::reference {

namespace {

/// The files of a model's directory that decide about ids.
Expected<std::vector<artifact::Section>> readFiles(const std::string &directory) {
  constexpr uint64_t mostBytes = uint64_t(1) << 24;
  const std::string name = "generation_config.json", path = directory + "/" + name;
  std::vector<artifact::Section> files;
  std::error_code ignored;
  if (!directory.empty() && std::filesystem::exists(path, ignored)) {
    RAPT_ASSIGN_OR_RETURN(std::string text, readFile(path, mostBytes));
    files.push_back({name, std::move(text)});
  }
  return files;
}

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
  options.tokens = given.tokens;
  options.maxNewTokens = given.maxNewTokens;
  options.beams = given.beams;
  options.adapter = given.adapter;
  if (!given.beams)
    options.temperature = 0; // the likeliest token
  for (auto [name, isGiven] : {std::pair("tokens", given.tokens.has_value()),
                               {"max-new-tokens", given.maxNewTokens.has_value()},
                               {"beams", given.beams.has_value()}})
    if (isGiven)
      options.runOptions.emplace_back(name);
  return options;
}

/// The job for what is given.
Outcome makeJob(const run::Options &options, const Oracle &oracle, std::unique_ptr<run::Job> &job) {
  run::Model model;
  RAPT_RETURN_IF_ERROR(Module::open(oracle.artifact(), model.module));
  model.info = model.module.info();
  model.facts = runtime::factsOf(model.info);
  if (!options.tokens) {
    job = run::makeTensors(options, std::move(model));
    return {};
  }
  const run::Task *task = run::findTask(model.info.task);
  RAPT_RETURN_IF_ERROR(run::checkTask(options, model, task));
  job = task->make(options, std::move(model));
  return {};
}

} // namespace

int runOnRuntime(ModuleOp module, ParameterReader &parameters, const Options &given) {
  auto files = readFiles(given.request.weights);
  if (!files)
    return fail(files.error().message, 1);
  auto oracle = Oracle::make(module, parameters, given.request.inF64, *files);
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
