//===- Job.h - The frame of every task of rapt-run ------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include "lib/Generation/CommandLine/ResultSink.h"

namespace rapt::run {

/// One task with its model, which is open. Each row of Tasks.def makes one.
class Job {
public:
  Job(const Options &options, Model given) : options(options), model(std::move(given)), sink(options.json) {}
  virtual ~Job() = default;

  /// Reads the inputs and makes the context.
  virtual Outcome prepare() = 0;
  virtual Outcome run() = 0;
  /// Prints the results that run() has not printed yet.
  virtual Status finish() = 0;
  /// Whether finish() prints what there is when Ctrl-C ends the run.
  virtual bool printsPart() const { return false; }

protected:
  const Options &options;
  Model model;
  ResultSink sink;
};

/// Prepares, runs and finishes a job: the exit status, which is that of Ctrl-C if it ended the run. Reports errors.
int perform(Job &job);

} // namespace rapt::run
