// The text of --help, with what Tasks.def says of options and inputs.
#include "lib/Generation/CommandLine/Options.h"
#include "lib/Generation/CommandLine/Tasks.h"

namespace rapt::run {

constexpr size_t column = 34; // of what options do

/// The lines of options. Those that a few tasks obey name them.
static std::string optionLines() {
  std::vector<OptionName> names = namesOfOptions();
  std::vector<std::string> texts(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string owners = ownersOf(names[i].name);
    const bool isItself = owners == names[i].shown();
    texts[i] = names[i].help + (owners.empty() || isItself ? "" : " [" + owners + "]");
    names[i].help = texts[i].c_str();
  }
  return listOptions(names, column);
}

static std::string taskLines() {
  std::string lines;
  for (const Task &task : allTasks()) {
    if (task.isAsked)
      continue;
    std::string line = "  " + std::string(task.name);
    line.resize(std::max(line.size() + 2, column), ' ');
    lines += line + inputsOf(task) + "\n";
  }
  return lines;
}

std::string helpText() {
  return "Runs a model that raptc compiled.\n\nusage: rapt-run MODEL.so                    what the model is\n"
         "       rapt-run MODEL.so [options] [TEXT]   run it; TEXT is a prompt\n\noptions:\n" +
         optionLines() + "\ntasks of models, and what they take:\n" + taskLines() +
         "\nexit status: 0 done, 1 the input is wrong, 2 wrong usage, 130 interrupted, 141 output closed\n";
}

} // namespace rapt::run
