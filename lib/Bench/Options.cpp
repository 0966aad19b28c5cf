#include "lib/Bench/Options.h"
#include "lib/Support/CommandLine.h"
#include "lib/Support/ForeignOptions.h"
#include "lib/Support/Json.h"
#include "lib/Support/Spelling.h"
#include <algorithm>

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

constexpr int64_t mostNumber = int64_t(1) << 30;

template <std::vector<int64_t> Options::*field, int64_t most = mostNumber>
std::string setList(Options &options, const std::string &text) {
  (options.*field).clear();
  for (const std::string &part : split(text, ',')) {
    const std::optional<int64_t> number = parseWholeNumber(part, 1, most);
    if (!number)
      return "a list of whole numbers from 1 to " + std::to_string(most) + ", such as 128,512";
    (options.*field).push_back(*number);
  }
  return {};
}

std::string setShape(Options &options, const std::string &text) {
  KernelShape shape;
  for (const std::string &part : split(text, ',')) {
    const size_t at = std::min(part.find('='), part.size());
    const std::optional<int64_t> size =
        parseWholeNumber(at < part.size() ? part.substr(at + 1) : std::string(), 0, mostNumber);
    if (at == 0 || !size)
      return "DIM=SIZE,DIM=SIZE";
    shape.emplace_back(part.substr(0, at), *size);
  }
  options.shapes.push_back(std::move(shape));
  return {};
}

std::string setFormat(Options &options, const std::string &text) {
  static constexpr std::string_view names[] = {"md", "csv", "json"};
  const std::optional<size_t> found = parseChoice(text, names);
  options.format = Format(found.value_or(0));
  return found ? "" : listChoices(names);
}

// The aliases are those of llama-bench.
static_assert(std::size(foreignOptions) == 4, "each stands in the table");
constexpr ToolOption<Options> table[] = {
    {{"model", "m", "FILE.so", "the library; -m may be left out"}, setFile<&Options::library>},
    {{"prefill", "p n-prompt", "128,512", "decoders: read prompts of these lengths"}, setList<&Options::prefill>},
    {{"decode", "n n-gen", "64", "decoders and encoder-decoders: this many steps of one token"},
     setList<&Options::decode, 1 << 20>},
    {{"past", "d n-depth", "N", "tokens before the first step of --decode (the first of --prefill; 1 with an encoder)"},
     setNumber<&Options::past, 1, mostNumber>},
    {{"tokens", "", "128,384", "encoders and encoder-decoders: rows of these lengths"}, setList<&Options::tokens>},
    {{"image-size", "", "224", "vision transformers: square images of this many pixels"},
     setList<&Options::imageSizes, 1 << 14>},
    {{"batch", "b", "N", "rows or images at a time (1)"}, setNumber<&Options::batch, 1, 1 << 16>},
    {{"shape", "", "DIM=SIZE,...", "kernels: sizes of the dims; may be repeated"}, setShape},
    {{"threads", "t", "1,2", "numbers of threads (the processors this process may use); none on a GPU"},
     setList<&Options::threads, 1024>},
    {{"repetitions", "r", "R", "undisturbed repetitions (15); at most three times as many are tried"},
     setNumber<&Options::repetitions, 1, 100000>},
    {{"accept-disturbed", "", nullptr, "make R repetitions and count all of them, for a machine that is never quiet"},
     setFlag<&Options::acceptDisturbed>},
    {{"fork-join", "", nullptr, "measure the cost of a dispatch on this machine, without FILE.so"},
     setFlag<&Options::forkJoin>},
    {{"output-format", "o output", "md|csv|json", "how the results are printed (md)"}, setFormat},
    {{"weights", "", "FILE", "another weight file than the one beside the library"}, setFile<&Options::weights>},
    {{"adapter", "", "NAME", "use this one of the model's adapters (none)"}, setFile<&Options::adapter>},
    {foreignOptions[0], nullptr},
    {foreignOptions[1], nullptr},
    {foreignOptions[2], nullptr},
    {foreignOptions[3], nullptr},
    {{"help", "h", nullptr, "print this"}, setFlag<&Options::help>},
    {{"version", "", nullptr, "print the version"}, setFlag<&Options::version>}};

} // namespace

Expected<Options> parseOptions(int argc, const char *const *argv) {
  Options options;
  const std::vector<OptionName> names = optionNames(table);
  Expected<std::vector<Argument>> arguments = readArguments(argc, argv, names);
  if (!arguments)
    return usage(arguments.error().message);
  for (const auto &[name, text, hasValue] : *arguments) {
    if ((!name || name->name == "model") && !options.library.empty())
      return usage("a second library is named: " + json::printable(text));
    if (!name)
      options.library = text;
    else if (std::string expected = table[name - names.data()].set(options, text); !expected.empty())
      return usage(invalidValue(text, name->shown(), expected));
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
      "usage: rapt-bench FILE.so [options]\n\noptions:\n" +
      listOptions(optionNames(table), 30);
  return text +
         "\nEvery figure stands beside the limit of this machine, measured alternately with it: multiply-adds in "
         "registers, or\n"
         "reading as many bytes as the model reads, with the instructions that its code was compiled for. Repetitions\n"
         "that were preempted are discarded. A row with fewer repetitions than were asked for is marked as disturbed;\n"
         "if all were preempted, all count. A row whose two halves disagree by more than 10 % is marked as "
         "unresolved.\n"
         "\nexit status: 0 done, 1 the input is wrong, 2 wrong usage\n";
}

} // namespace rapt::bench
