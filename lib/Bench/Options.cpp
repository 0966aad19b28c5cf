#include "lib/Bench/Options.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <charconv>

namespace rapt::bench {
namespace {

Error usage(const std::string &message) { return Error{message + "; see rapt-bench --help"}; }

std::vector<std::string> split(const std::string &text, char mark) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(mark, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool parseNumber(const std::string &text, int64_t least, int64_t most, int64_t &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
}

struct Option {
  const char *name, *value, *help;                    ///< value is null for a switch
  std::string (*set)(Options &, const std::string &); ///< what is wrong with the value, empty when nothing
};

constexpr int64_t mostNumber = int64_t(1) << 30;

template <std::vector<int64_t> Options::*field, int64_t most = mostNumber>
std::string setList(Options &options, const std::string &text) {
  (options.*field).clear();
  for (const std::string &part : split(text, ',')) {
    int64_t number;
    if (!parseNumber(part, 1, most, number))
      return "is not a list of whole numbers from 1 to " + std::to_string(most) + ", such as 128,512";
    (options.*field).push_back(number);
  }
  return {};
}

template <int64_t Options::*field, int64_t least, int64_t most>
std::string setNumber(Options &options, const std::string &text) {
  return parseNumber(text, least, most, options.*field)
             ? ""
             : "is not a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

std::string setShape(Options &options, const std::string &text) {
  KernelShape shape;
  for (const std::string &part : split(text, ',')) {
    const size_t at = part.find('=');
    int64_t size = 0;
    if (at == 0 || at == std::string::npos || !parseNumber(part.substr(at + 1), 0, mostNumber, size))
      return "is not DIM=SIZE,DIM=SIZE";
    shape.emplace_back(part.substr(0, at), size);
  }
  options.shapes.push_back(std::move(shape));
  return {};
}

std::string setFormat(Options &options, const std::string &text) {
  static constexpr std::string_view names[] = {"md", "csv", "json"};
  const auto *at = std::find(std::begin(names), std::end(names), text);
  options.format = Format(at - names);
  return at == std::end(names) ? "is neither md, csv nor json" : "";
}

constexpr Option table[] = {
    {"prefill", "128,512", "decoders: read prompts of these lengths", setList<&Options::prefill>},
    {"decode", "64", "decoders and encoder-decoders: so many steps of one token", setList<&Options::decode, 1 << 20>},
    {"past", "N", "tokens before the first step of --decode (the first of --prefill; 1 with an encoder)",
     setNumber<&Options::past, 1, mostNumber>},
    {"tokens", "128,384", "encoders and encoder-decoders: rows of these lengths", setList<&Options::tokens>},
    {"image-size", "224", "models that look at images: of so many pixels square",
     setList<&Options::imageSizes, 1 << 14>},
    {"batch", "N", "rows or images at a time (1)", setNumber<&Options::batch, 1, 1 << 16>},
    {"shape", "DIM=SIZE,...", "kernels: sizes of the dims; may be repeated", setShape},
    {"threads", "1,2", "numbers of threads (the processors this process may use)", setList<&Options::threads, 1024>},
    {"repetitions", "R", "undisturbed repetitions, of three times as many at most (15)",
     setNumber<&Options::repetitions, 1, 100000>},
    {"accept-disturbed", nullptr, "make R repetitions and count all of them, for a machine that is never quiet",
     [](Options &options, const std::string &) {
       options.acceptDisturbed = true;
       return std::string();
     }},
    {"fork-join", nullptr, "what a parallel region costs on this machine, without FILE.so",
     [](Options &options, const std::string &) {
       options.forkJoin = true;
       return std::string();
     }},
    {"output-format", "md|csv|json", "how the results are printed (md)", setFormat},
    {"weights", "FILE", "another weight file than the one beside the library",
     [](Options &options, const std::string &text) {
       options.weights = text;
       return std::string(text.empty() ? "is empty" : "");
     }},
    {"help", nullptr, "print this",
     [](Options &options, const std::string &) {
       options.help = true;
       return std::string();
     }},
    {"version", nullptr, "print the version", [](Options &options, const std::string &) {
       options.version = true;
       return std::string();
     }}};

} // namespace

Expected<Options> parseOptions(int argc, const char *const *argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    const std::string shown = json::printable(argument);
    if (argument.size() < 2 || argument[0] != '-') {
      if (!options.library.empty())
        return usage("a second library is named: " + shown);
      options.library = argument;
      continue;
    }
    std::string name = argument == "-h" ? "help" : argument.rfind("--", 0) == 0 ? argument.substr(2) : "", value;
    const size_t at = name.find('=');
    bool hasValue = at != std::string::npos;
    if (hasValue) {
      value = name.substr(at + 1);
      name.resize(at);
    }
    const Option *option = std::find_if(std::begin(table), std::end(table), [&](auto &o) { return name == o.name; });
    if (option == std::end(table))
      return usage("unknown option " + shown);
    if (!option->value && hasValue)
      return usage("--" + name + " takes no value");
    if (option->value && !hasValue) {
      if (++i == argc)
        return usage("--" + name + " needs a value: " + option->value);
      value = argv[i];
    }
    if (std::string problem = option->set(options, value); !problem.empty())
      return usage("--" + name + ": \"" + json::printable(value) + "\" " + problem);
  }
  if (!options.library.empty() && options.forkJoin)
    return usage("--fork-join is about the machine and takes no library");
  if (options.library.empty() && !options.forkJoin && !options.help && !options.version)
    return usage("no compiled model or kernel is named");
  return options;
}

std::string helpText() {
  std::string text =
      "Measures what raptc compiled: a model, or the kernels of a library made from .mlir without a model.\n\n"
      "usage: rapt-bench FILE.so [options]\n\noptions:\n";
  for (const Option &option : table) {
    std::string left = std::string("      --") + option.name + (option.value ? std::string(" ") + option.value : "");
    left.resize(std::max(left.size() + 2, size_t(30)), ' ');
    text += left + option.help + "\n";
  }
  return text + "\nEvery figure stands beside the limit of this machine, measured in turns with it: multiply-adds in "
                "registers, or\n"
                "reading as many bytes as the model reads. A repetition counts if the process had its processors "
                "meanwhile. A row\n"
                "with fewer of these than were asked for is marked as disturbed; without any, all repetitions count. A "
                "row whose\n"
                "two halves disagree by more than 10 % is marked as unresolved.\n"
                "\nexit status: 0 done, 1 the input is wrong, 2 wrong usage\n";
}

} // namespace rapt::bench
