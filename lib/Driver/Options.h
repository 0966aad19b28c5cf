//===- Options.h - Options of raptc ---------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rapt::driver {

/// The names of the targets; the first is the default.
inline constexpr std::string_view kTargets[] = {
#define RAPT_TARGET(name) #name,
#include "lib/Target/Targets.def"
};

/// The name of an input that was read from the standard input.
inline constexpr const char *kStandardInput = "<stdin>";

struct Options {
  std::string program; ///< argv[0]
  std::string input, output;
  std::optional<std::string> inputText; ///< of an input that can be read only once
  std::string emit;                     ///< a stage's name, or asm, ptx, obj, so, a; never empty after parsing
  std::string target{kTargets[0]};
  std::string triple, attributes, dtype = "auto", cacheDtype = "auto", activations, quantize = "none", weights,
                                  saveWeights, prefix, dumpDirectory, remarks, progress = "auto", codegen = "shipped";
  std::vector<std::string> cpus;             ///< one variant of the code for each; empty: the default of the triple
  std::vector<std::string> gpuArchitectures; ///< empty: the default of the target
  std::string gpuCode;                       ///< ptx, cubin or both; empty: ptx
  std::string f32Matmul;                     ///< fma, tf32 or 3xtf32; empty: fma
  std::string emulate;                       ///< matrix instructions of the target, or empty
  std::string fault;                         ///< KIND@PLACE, see FaultInjection.h
  std::string objectCache;                   ///< a folder; empty: none
  /// Objects of the cache that are generated again to compare them.
  struct CacheCheck {
    uint64_t oneIn = 0, seed = 0; ///< a share of one in so many, drawn by the seed; 0: none
  } cacheCheck;
  /// --mcpu=help instead of names.
  bool listCpus = false;
  int64_t maxSequenceLength = 0, maxBatch = 64;
  int64_t quantizeGroup = 0; ///< rows of a group; 0: not asked for
  /// Results of attention that become outputs.
  struct AttentionOutputs {
    bool given = false;
    std::vector<int64_t> layers, heads; ///< empty: all
  };
  AttentionOutputs attentionWeights, attentionLogSumExp;
  std::optional<uint64_t> randomSeed;
  std::vector<std::string> ignoreKeys;
  std::vector<std::pair<std::string, json::Value>> configKeys; ///< in place of the model's
  std::string mmproj;                                          ///< a GGUF file with a tower of images; empty: none
  std::string tokenizer;                                       ///< a directory; empty: the model's
  /// Directories of adapters, and the factors of what they add.
  std::vector<std::pair<std::string, double>> adapters;
  /// An adapter among which the program chooses by name, and the factor of what it adds.
  struct NamedAdapter {
    std::string name, directory;
    double weight;
  };
  std::vector<NamedAdapter> namedAdapters;
  std::vector<std::string> passPlugins, dialectPlugins; ///< shared libraries
  struct StagePasses {
    std::string stage, pipeline;
  };
  std::vector<StagePasses> runPasses; ///< in this order where the stage is the same
  /// The passes before and behind which the IR is printed.
  struct IRPrinting {
    bool beforeAll = false, afterAll = false, onlyChanges = false;
    std::vector<std::string> after; ///< names of passes

    bool prints() const { return beforeAll || afterAll || !after.empty(); }
  } printing;
  bool printPipeline = false, timing = false;
  unsigned jobs = 0;
  bool noWeights = false, embedWeights = false, dryRun = false, checkTensors = false, strict = false, verbose = false,
       showCommands = false;
  bool quantizeZeroPoint = false;
  bool saveTemps = false, batch = false, batchInProcess = false, version = false, listFamilies = false, help = false,
       helpHidden = false;

  /// Destructors report times and remarks, or are a plugin's; those of a failure remove what it leaves.
  bool needsDestructors() const {
    return timing || !remarks.empty() || !passPlugins.empty() || !dialectPlugins.empty();
  }
};

/// Parses the arguments after the program's name: `--name=value`, `--name value` and clang's short forms (-o F, -S, -c,
/// -j N, -v, -###, -march=). RAPT_OBJECT_CACHE, and RAPT_CHECK_OBJECT_CACHE and RAPT_CODEGEN as the options, come from
/// the environment. Errors are for exit status 2 and say what to write instead.
Expected<Options> parseOptions(const std::vector<std::string> &arguments);

/// The text of --help, or of --help-hidden.
std::string helpText(bool hidden);

} // namespace rapt::driver
