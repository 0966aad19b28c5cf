//===- Options.cpp - rapt-reference's command line -------------------------------===//
#include "lib/Reference/Options.h"
#include "lib/Support/CommandLine.h"
#include "lib/Support/Json.h"
#include "lib/Support/Spelling.h"

namespace rapt::reference {
namespace {

template <std::string Request::*field> std::string setName(Options &options, const std::string &text) {
  options.request.*field = text;
  return text.empty() ? "a name or a file" : "";
}

template <std::vector<std::pair<std::string, std::string>> Request::*field>
std::string addNamedFile(Options &options, const std::string &text) {
  return rapt::addNamedFile(options.request.*field, text);
}

std::string setPrecision(Options &options, const std::string &text) {
  static constexpr std::string_view names[] = {"f32", "f64"};
  const std::optional<size_t> found = parseChoice(text, names);
  options.request.inF64 = found == 1u;
  return found ? "" : listChoices(names);
}

std::string setBlocks(Options &options, const std::string &text) {
  return setNumber<&Request::cacheBlocks, 0>(options.request, text);
}

std::string setTokens(Options &options, const std::string &text) {
  options.tokens = parseWholeNumbers<int32_t>(text, INT32_MIN, INT32_MAX);
  return options.tokens ? "" : expectedIds;
}

constexpr ToolOption<Options> table[] = {
    {{"entry", "", "NAME", "function to run (a model's first entry, or the only kernel)"}, setName<&Request::entry>},
    {{"precision", "", "f32|f64", "type of all floats (f32)"}, setPrecision},
    {{"input", "", "NAME=F.npy", "an argument; may be repeated"}, addNamedFile<&Request::inputs>},
    {{"output", "", "NAME=F.npy", "where a result goes; may be repeated"}, addNamedFile<&Request::outputs>},
    {{"parameter", "", "NAME=F.npy", "an attn.parameter; may be repeated"}, addNamedFile<&Request::parameters>},
    {{"weights", "", "DIR", "model directory or GGUF file with the parameters"}, setName<&Request::weights>},
    {{"random-weights", "", "SEED", "parameters from a seed, as docs/RandomWeights.md says"}, setSeed<&Options::seed>},
    {{"tokens", "", "1,2,3", "a prompt as ids: print those that a model generates"}, setTokens},
    {{"max-new-tokens", "", "N", "stop after N new tokens"}, setNumber<&Options::maxNewTokens, 0>},
    {{"beams", "", "N", "search with N hypotheses; else take the likeliest token"}, setNumber<&Options::beams, 1>},
    {{"adapter", "", "NAME", "adapter of all sequences"}, setText<&Options::adapter>},
    {{"cache-blocks", "", "N", "blocks of arguments that are caches (64)"}, setBlocks},
    {{"batch", "", nullptr, "run the command lines of the standard input; a line of JSON answers each"},
     setFlag<&Options::batch>},
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
  if (options.batch && argc > 2)
    return usage("--batch takes no other arguments: each line of the standard input has its own");
  if (options.batch || options.help || options.version)
    return options;
  if (request.ir.empty())
    return usage("no .mlir file is named");
  if (!request.weights.empty() + options.seed.has_value() + !request.parameters.empty() > 1)
    return usage("give one of --weights, --random-weights and --parameter");
  if (options.tokens && !(request.inputs.empty() && request.outputs.empty()))
    return usage("--tokens does not go with --input and --output");
  if (!options.tokens && (options.maxNewTokens || options.beams))
    return usage("--max-new-tokens and --beams belong to --tokens");
  return options;
}

std::string helpText() {
  return "Evaluates attn IR of the stage `imported`, or a kernel as raptc takes it, naively.\n\nusage: rapt-reference "
         "IR.mlir "
         "[options]\n\noptions:\n" +
         listOptions(optionNames(table), 34) + "\nexit status: 0 done, 1 the input is wrong, 2 wrong usage\n";
}

} // namespace rapt::reference
