// The compiler: .mlir text of any stage through the pipeline to llvm-dialect, and config.json through the importer.
//
// Bytes at random are rarely MLIR, so that the mutator works on lines, numbers and words of the text. LLVM's libraries
// are not instrumented: messages, and the ops of each stage, stand for the code that an input reaches.
#include "lib/Driver/Lowering.h"
#include "lib/Driver/ObjectCache.h"
#include "lib/Target/Targets.h"
#include "mlir/IR/Verifier.h"
#include "test/Fuzz/Fuzz.h"
#include <algorithm>
#include <cstring>
#include <random>

using namespace rapt;
using namespace rapt::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t mostSize);

namespace {

using Random = std::minstd_rand;

size_t below(Random &random, size_t bound) { return bound ? random() % bound : 0; }

/// [begin, end) of words of digits, letters and signs.
std::vector<std::pair<size_t, size_t>> findWords(const std::string &text, bool numbers) {
  auto isPart = [](char c) { return isalnum(static_cast<unsigned char>(c)) || strchr("_%#@!.$", c); };
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && text[end] && isPart(text[end]))
      ++end;
    bool isNumber = isdigit(static_cast<unsigned char>(text[i]));
    if (end > i && isNumber == numbers)
      words.emplace_back(i, end);
    i = std::max(end, i + 1);
  }
  return words;
}

/// libFuzzer keeps inputs that set a counter first.
__attribute__((section("__libfuzzer_extra_counters"), used, retain)) uint8_t counters[1 << 14];

void reach(size_t what, llvm::StringRef name) {
  std::string key = std::to_string(what);
  for (char c : name)
    if (!isdigit(static_cast<unsigned char>(c)))
      key += c;
  counters[std::hash<std::string>()(key) % std::size(counters)] = 1;
}

void reachOps(Stage stage, mlir::ModuleOp module) {
  module.walk(
      [&](mlir::Operation *op) { reach(8 * op->getNumOperands() + size_t(stage), op->getName().getStringRef()); });
}

void changeNumber(std::string &text, Random &random) {
  static const char *const values[] = {
      "0",  "1",  "2",   "3",    "7",          "31",         "32",  "33",
      "64", "-1", "128", "4096", "2147483647", "2147483648", "1e9", "9223372036854775807"};
  auto words = findWords(text, true);
  if (words.empty())
    return;
  auto [begin, end] = words[below(random, words.size())];
  text.replace(begin, end - begin, values[below(random, std::size(values))]);
}

void swapWords(std::string &text, Random &random) {
  auto words = findWords(text, false);
  if (words.size() < 2)
    return;
  auto [begin, end] = words[below(random, words.size())];
  std::string other;
  for (int tries = 0; tries < 8; ++tries) { // one of the same kind, if there is one
    auto from = words[below(random, words.size())];
    other = text.substr(from.first, from.second - from.first);
    if (other[0] == text[begin] ||
        isalpha(static_cast<unsigned char>(other[0])) == isalpha(static_cast<unsigned char>(text[begin])))
      break;
  }
  text.replace(begin, end - begin, other);
}

void changeLine(std::string &text, Random &random) {
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == '\n')
      starts.push_back(i + 1);
  size_t from = below(random, starts.size());
  size_t begin = starts[from], end = from + 1 < starts.size() ? starts[from + 1] : text.size();
  if (random() % 2)
    text.erase(begin, end - begin);
  else
    text.insert(starts[below(random, starts.size())], text.substr(begin, end - begin));
}

void lower(driver::Lowering &lowering, const driver::Options &options, const std::string &text) {
  lowering.diagnostics.hold();
  mlir::ScopedDiagnosticHandler handler(&lowering.context, [](mlir::Diagnostic &diagnostic) {
    reach(1000, diagnostic.str());
    return mlir::failure(); // the compiler's own handler is next
  });
  auto input = driver::readInput(lowering.context, lowering.diagnostics, options);
  if (!input) {
    require(!input.error().message.empty() || lowering.diagnostics.sawErrors(), "a refused input is told why");
    return;
  }
  const bool isModel = input->kind != driver::InputKind::MLIR;
  require(mlir::succeeded(mlir::verify(*input->module)), "what was read is valid");
  if (isModel && std::hash<std::string>()(text) % 8) // lowering takes a hundred times as long
    return;
  if (lowering.begin(std::move(input->module), input->kind, {}, ""))
    return;
  for (Stage stage :
       {Stage::Imported, Stage::Canonical, Stage::LaidOut, Stage::Tiled, Stage::Backend, Stage::LLVMDialect}) {
    if (auto failure = lowering.lowerTo(stage)) {
      require(failure->status == driver::WrongInput, "the compiler blames itself:", failure->message);
      return;
    }
    reachOps(stage, *lowering.module);
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t mostSize, unsigned seed) {
  Random random(seed);
  if (random() % 8 == 0)
    return LLVMFuzzerMutate(data, size, mostSize);
  std::string text(reinterpret_cast<const char *>(data), size);
  for (size_t changes = 1 + random() % 3; changes; --changes) {
    size_t kind = random() % 5;
    kind < 2 ? changeNumber(text, random) : kind < 4 ? swapWords(text, random) : changeLine(text, random);
  }
  size = std::min(text.size(), mostSize);
  memcpy(data, text.data(), size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  static const driver::CodeVariant variant = [] {
    host::Machine machine = *host::Machine::make(*host::findTriple(""), "x86-64-v3", "");
    return driver::CodeVariant{machine, "", machine.name, allTargets().front()->capabilities(machine, "", "")};
  }();
  const std::string text(reinterpret_cast<const char *>(data), size);
  driver::Options options;
  options.input = file.write(text);
  options.emit = "llvm-dialect";
  options.noWeights = true;
  auto kind = driver::detectInput(options);
  if (!kind) {
    requireMessage(kind.error());
    return 0;
  }
  driver::Phases phases(/*isVerbose=*/false, ProgressMode::Never);
  driver::ObjectCache noCache("", [](const std::string &) {});
  driver::Lowering lowering(options, driver::Plugins(), phases, noCache);
  lowering.variants.push_back(&variant);
  lower(lowering, options, text);
  return 0;
}
