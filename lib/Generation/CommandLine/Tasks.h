//===- Tasks.h - The tasks of rapt-run ---------------------------------------------===//
//
// A task is a row of Tasks.def with the job that the row makes. All else that depends on the task is asked of its row.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Job.h"
#include <span>
#include <string_view>

namespace rapt::run {

/// Kinds of input, as bits.
enum Input : unsigned { textInput = 1, idsInput = 2, imageInput = 4, soundInput = 8, vectorInput = 16 };

struct Task {
  std::string_view name; ///< as models name it; empty: an option asks for it
  std::string_view kind; ///< what messages and --help call it, or what it is one of; empty: its name
  bool (*isAsked)(const Options &) = nullptr;
  unsigned inputs = 0;        ///< kinds of input that it can run on
  unsigned beside = 0;        ///< kinds that may come with those
  std::string_view entries;   ///< of the library, which it runs
  std::string_view options;   ///< that it obeys, of those that not every task does
  std::string_view ignored;   ///< options of other tasks that are no error
  bool ignoresOthers = false; ///< those of all tasks are no error
  std::string_view needs;     ///< an option that it cannot do without
  bool converses = false;     ///< a conversation is possible
  bool readsLines = false;    ///< each line of a file is a text
  std::unique_ptr<Job> (*make)(const Options &, Model) = nullptr;

  bool takes(std::string_view option) const;
  /// Whether it takes the place of the run that the other options are about.
  bool standsIn() const { return isAsked && !ignoresOthers; }
  std::string_view label() const { return kind.empty() ? name : kind; }
};

#define RAPT_TASK(job, ...) std::unique_ptr<Job> job(const Options &options, Model model);
#include "lib/Generation/CommandLine/Tasks.def"

std::span<const Task> allTasks();
/// The row of a model's task; null where there is none.
const Task *findTask(std::string_view name);
/// The row of what an option asks for; null where the model's task decides.
const Task *findMode(const Options &options);

/// The tasks that take an option, where not every task does: "models that generate text and --audio"; empty where many
/// do.
std::string ownersOf(std::string_view option);

/// The options that give a task its inputs: "--prompt, --file, --tokens".
std::string inputsOf(const Task &task);

/// Refuses options that what is asked for does not take, as far as that is known without the model. Wrong usage.
Status checkTaskOptions(const Options &options);
/// Refuses inputs and options that the model's task, whose row is null where there is none, does not take.
Outcome checkTask(const Options &options, const Model &model, const Task *task);

/// Runs what the options ask for and reports errors; returns the exit status.
int runTask(const Options &options);
/// The same with an open model.
int runTask(const Options &options, Model model);

} // namespace rapt::run
