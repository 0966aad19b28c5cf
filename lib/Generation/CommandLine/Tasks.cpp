#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Support/Words.h"
#include <algorithm>

namespace rapt::run {
namespace {

constexpr size_t mostOwners = 3; // that a message lists

const Task tasks[] = {
#define RAPT_TASK(job, ...) {__VA_ARGS__, .make = job},
#include "lib/Generation/CommandLine/Tasks.def"
};

bool lists(std::string_view list, std::string_view word) { return std::ranges::count(words(list), word) > 0; }

/// Whether some task obeys the option and others may not.
bool isOfTasks(std::string_view option) {
  return std::ranges::any_of(tasks, [&](const Task &task) { return task.takes(option); });
}

/// The first of the given options that the task has no use for; null where there is none.
const std::string *findUseless(const Options &options, const Task &task) {
  for (const std::string &name : options.runOptions)
    if (!task.ignoresOthers && isOfTasks(name) && !task.takes(name) && !lists(task.ignored, name))
      return &name;
  return nullptr;
}

/// A kind of input, and whether it is given.
struct Given {
  Input kind;
  const char *what;    ///< as messages name it
  const char *how;     ///< how one gives it
  const char *options; ///< that give it
  bool isGiven;
};

std::vector<Given> givenInputs(const Options &o) {
  const char *text = "give a text, --prompt or --file";
  return {{textInput, "text", text, "--prompt, --file", !o.prompts.empty() || o.promptFile},
          {idsInput, "text", text, "--tokens", o.tokens.has_value()},
          {imageInput, "images", "give an image, --image", "--image", !o.images.empty()},
          {soundInput, "sound", "give a sound file, --audio", "--audio", !o.audio.empty()},
          {vectorInput, "vectors", "give a vector of numbers, --vector", "--vector", !o.vectors.empty()}};
}

bool isGiven(const Options &options, unsigned kinds) {
  return std::ranges::any_of(givenInputs(options), [&](const Given &one) { return one.isGiven && (one.kind & kinds); });
}

/// The rows that the command leaves before the model is known: that of what an option asks for, or, where an input
/// gives options of its own, those of models with such an input, its own row first.
std::vector<const Task *> tasksOfCommand(const Options &options) {
  if (const Task *mode = findMode(options))
    return {mode};
  std::vector<const Task *> left;
  for (const Given &given : givenInputs(options)) {
    auto isItsOwn = [&](const Task &task) { return task.inputs == given.kind && task.kind == given.options; };
    const auto own = std::ranges::find_if(tasks, isItsOwn);
    if (!given.isGiven || own == std::end(tasks))
      continue;
    left.push_back(&*own);
    for (const Task &task : tasks)
      if (&task != &*own && (task.inputs & given.kind))
        left.push_back(&task);
  }
  return left;
}

/// Refuses what the task does not run on. `name`: the model's and its task's.
Outcome checkInputs(const Options &options, const std::string &name, const Task &task) {
  const std::vector<Given> all = givenInputs(options);
  std::string instead;
  for (const Given &given : all)
    if (instead.empty() && (task.inputs & given.kind))
      instead = std::string(": ") + given.how;
  const unsigned taken = task.inputs | (isGiven(options, task.inputs) ? task.beside : 0);
  for (const Given &given : all) {
    const bool isText = given.kind == textInput || given.kind == idsInput;
    if (!given.isGiven || (taken & given.kind))
      continue;
    if (given.kind == idsInput && (task.inputs & textInput))
      return {RAPT_INVALID, name + " needs a text: --prompt or --file"};
    if (isText && !options.images.empty() && (task.inputs & imageInput))
      return {RAPT_INVALID, name + " takes no text beside an image"};
    return {RAPT_INVALID, name + " takes no " + given.what + (isText ? instead : "")};
  }
  return {};
}

Outcome checkUse(const Options &options, const std::string &name, const Task &task) {
  if (const std::string *useless = findUseless(options, task)) {
    const std::string owners = ownersOf(*useless);
    return {RAPT_INVALID,
            name + " has no use for --" + *useless + (owners.empty() ? "" : ", which belongs to " + owners)};
  }
  if (!task.needs.empty() && std::ranges::count(options.runOptions, task.needs) == 0)
    return {RAPT_INVALID, name + " needs --" + std::string(task.needs) + " beside the text"};
  return {};
}

/// Refuses a library that lacks what the task runs.
Outcome checkEntries(const std::string &name, const Model &model, const Task &task) {
  const Expected<json::Value> manifest = json::parse(model.module.manifest());
  const json::Value *entries = manifest ? manifest->find("entries") : nullptr;
  if (!entries || !entries->asArray())
    return {};
  for (std::string_view needed : words(task.entries)) {
    auto isIt = [&](const json::Value &entry) {
      const json::Value *own = entry.find("name");
      return own && own->asString() && *own->asString() == needed;
    };
    if (std::ranges::none_of(*entries->asArray(), isIt))
      return {RAPT_UNSUPPORTED, name + " needs the entry " + std::string(needed) + ", which the library does not have"};
  }
  return {};
}

} // namespace

bool Task::takes(std::string_view option) const { return lists(options, option); }

std::span<const Task> allTasks() { return tasks; }

const Task *findTask(std::string_view name) {
  const auto found = std::ranges::find_if(tasks, [&](const Task &task) { return !task.isAsked && task.name == name; });
  return found == std::end(tasks) ? nullptr : &*found;
}

const Task *findMode(const Options &options) {
  const auto found =
      std::ranges::find_if(tasks, [&](const Task &task) { return task.isAsked && task.isAsked(options); });
  return found == std::end(tasks) ? nullptr : &*found;
}

std::string ownersOf(std::string_view option) {
  std::vector<std::string_view> owners;
  for (const Task &task : tasks) {
    auto lacksIt = [&](const Task &other) { return other.kind == task.kind && !other.takes(option); };
    const std::string_view owner = std::ranges::any_of(tasks, lacksIt) ? task.name : task.label();
    if (!task.standsIn() && task.takes(option) && std::ranges::count(owners, owner) == 0)
      owners.push_back(owner);
  }
  if (owners.size() > mostOwners)
    return {};
  std::string list;
  for (size_t i = 0; i < owners.size(); ++i)
    list += (i == 0 ? "" : i + 1 < owners.size() ? ", " : " and ") + std::string(owners[i]);
  return list;
}

std::string inputsOf(const Task &task) {
  std::string list;
  for (const Given &one : givenInputs({}))
    if (task.inputs & one.kind)
      list += (list.empty() ? "" : ", ") + std::string(one.options);
  return list;
}

Status checkTaskOptions(const Options &options) {
  if (const std::vector<const Task *> left = tasksOfCommand(options); !left.empty()) {
    const bool areAll = std::ranges::all_of(left, [&](const Task *task) { return findUseless(options, *task); });
    const std::string *useless = areAll ? findUseless(options, *left.front()) : nullptr;
    const std::string name = useless ? *useless : "json";
    if (useless || (options.converses && options.json))
      return usage(std::string(left.front()->label()) + " takes no --" + name +
                   (options.converses ? "; give a message: --prompt or --file" : ""));
  }
  for (const std::string &name : options.runOptions)
    for (const Task &task : tasks) // of an input that is not given
      if (!task.isAsked && task.kind.starts_with("--") && ownersOf(name) == task.kind && !isGiven(options, task.inputs))
        return usage("--" + name + " belongs to " + std::string(task.kind));
  return {};
}

Outcome checkTask(const Options &options, const Model &model, const Task *task) {
  const std::string name = std::string(model.info.name) + ": " + model.info.task;
  RAPT_RETURN_IF_ERROR(checkInputs(options, name, task ? *task : Task{})); // one that takes nothing
  RAPT_RETURN_IF_ERROR(checkUse(options, name, *task));
  return checkEntries(name, model, *task);
}

int runTask(const Options &options) {
  Model model;
  if (Outcome outcome = openModule(options, model); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  return runTask(options, std::move(model));
}

int runTask(const Options &options, Model model) {
  const Task *task = findMode(options);
  if (!task) {
    task = findTask(model.info.task);
    if (Outcome outcome = checkTask(options, model, task); !outcome)
      return fail(outcome.message, Failure(outcome).code);
  }
  const std::unique_ptr<Job> job = task->make(options, std::move(model));
  return perform(*job);
}

} // namespace rapt::run
