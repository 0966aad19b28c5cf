//===- Options.cpp - rapt-reference's command line -------------------------------===//
#include "lib/Reference/Options.h"
#include "lib/Support/CommandLine.h"
#include "lib/Support/Json.h"
#include "lib/Support/Spelling.h"
#include <charconv>

namespace rapt::reference {
namespace {

struct Option {
  OptionName name;
  /// Takes the value; returns what was expected instead, empty where the value is right.
  std::string (*set)(Options &, const std::string &);
};

template <std::string Request::*field> std::string setText(Options &options, const std::string &text) {
  options.request.*field = text;
  return text.empty() ? "a name or a file" : "";
}

template <bool Options::*field> std::string setFlag(Options &options, const std::string &) {
  options.*field = true;
  return {};
}

template <std::vector<std::pair<std::string, std::string>> Request::*field>
std::string addNamedFile(Options &options, const std::string &text) {
  const size_t at = std::min(text.find('='), text.size());
  if (at == 0 || at + 1 >= text.size())
    return "NAME=FILE.npy";
  (options.request.*field).emplace_back(text.substr(0, at), text.substr(at + 1));
  return {};
}

std::string setPrecision(Options &options, const std::string &text) {
  static constexpr std::string_view names[] = {"f32", "f64"};
  const std::optional<size_t> found = parseChoice(text, names);
  options.request.inF64 = found == 1u;
  return found ? "" : listChoices(names);
}

std::string setSeed(Options &options, const std::string &text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  options.seed = seed;
  return error == std::errc() && end == text.data() + text.size() ? "" : "a whole number from 0 to 2^64 - 1";
}

std::string setBlocks(Options &options, const std::string &text) {
  const std::optional<int64_t> blocks = parseWholeNumber(text, 0, INT64_MAX);
  options.request.cacheBlocks = blocks.value_or(0);
  return blocks ? "" : expectedNumber(0, INT64_MAX);
}

constexpr Option table[] = {
    {{"entry", "", "NAME", "function to run (a model's first entry, or the only kernel)"}, setText<&Request::entry>},
    {{"precision", "", "f32|f64", "type of all floats (f32)"}, setPrecision},
    {{"input", "", "NAME=F.npy", "an argument; may be repeated"}, addNamedFile<&Request::inputs>},
    {{"output", "", "NAME=F.npy", "where a result goes; may be repeated"}, addNamedFile<&Request::outputs>},
    {{"parameter", "", "NAME=F.npy", "an attn.parameter; may be repeated"}, addNamedFile<&Request::parameters>},
    {{"weights", "", "DIR", "model directory with the parameters"}, setText<&Request::weights>},
    {{"random-weights", "", "SEED", "parameters from a seed, as docs/RandomWeights.md says"}, setSeed},
    {{"cache-blocks", "", "N", "blocks of arguments that are caches (64)"}, setBlocks},
    {{"help", "h", nullptr, "print this"}, setFlag<&Options::help>},
    {{"version", "", nullptr, "print the version"}, setFlag<&Options::version>}};

Error usage(const std::string &message) { return Error{message + "; see rapt-reference --help"}; }

} // namespace

Expected<Options> parseOptions(int argc, const char *const *argv) {
  Options options;
  Request &request = options.request;
  const std::vector<OptionName> names = optionNames(table);
  Expected<std::vector<Argument>> arguments = readArguments(argc, argv, names);
  if (!arguments)
    return usage(arguments.error().message);
  for (const auto &[name, text, hasValue] : *arguments) {
    if (!name && !request.ir.empty())
      return usage("a second file is named: " + json::printable(text));
    if (!name)
      request.ir = text;
    else if (std::string expected = table[name - names.data()].set(options, text); !expected.empty())
      return usage(invalidValue(text, name->shown(), expected));
  }
  if (options.help || options.version)
    return options;
  if (request.ir.empty())
    return usage("no .mlir file is named");
  if (!request.weights.empty() + options.seed.has_value() + !request.parameters.empty() > 1)
    return usage("give one of --weights, --random-weights and --parameter");
  return options;
}

std::string helpText() {
  return "Evaluates attn IR of the stage `imported`, or a kernel as raptc takes it, naively.\n\nusage: rapt-reference "
         "IR.mlir "
         "[options]\n\noptions:\n" +
         listOptions(optionNames(table), 34) + "\nexit status: 0 done, 1 the input is wrong, 2 wrong usage\n";
}

} // namespace rapt::reference
