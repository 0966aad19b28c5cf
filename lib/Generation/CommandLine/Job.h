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

  /// Reads what the user gave, and makes the context.
  virtual Outcome prepare() = 0;
  virtual Outcome run() = 0;
  /// Tells what run() found and did not tell as it came.
  virtual Status finish() = 0;
  /// Whether finish() has to tell what there is when Ctrl-C ends the run.
  virtual bool tellsPart() const { return false; }

protected:
  const Options &options;
  Model model;
  ResultSink sink;
};

/// Prepares, runs and finishes a job: the exit status, which is that of Ctrl-C where one ended it. Tells what fails.
int perform(Job &job);

} // namespace rapt::run
