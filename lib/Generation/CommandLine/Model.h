//===- Model.h - An opened model, or the reason why not -------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Options.h"
#include "lib/Support/Expected.h"
#include "lib/Support/ModelFacts.h"
#include "lib/Support/Units.h"
#include "rapt/rapt.hpp"

namespace rapt::run {

/// Reads a context's profile before the context goes.
class Profiler {
public:
  Profiler() = default;
  Profiler(rapt_context *context, std::shared_ptr<Profiling> into) : context(context), into(std::move(into)) {}
  Profiler(Profiler &&) = default;
  Profiler &operator=(Profiler &&) = default;
  ~Profiler() { finish(); }
  /// Adds the times of the context's ops to the others; the context may go then.
  void finish();

private:
  rapt_context *context = nullptr;
  std::shared_ptr<Profiling> into;
};

/// A module with the context that one run needs.
struct Model {
  Module module;
  Pool pool; ///< none on a GPU
  Context context;
  Profiler profiler; ///< behind the context, so that it goes first
  rapt_module_info info;
  ModelFacts facts;       ///< those of `info`
  int64_t stepTokens = 0; ///< rapt_context_options::max_step_tokens of the contexts that follow

  /// Prompts are its sources then; new text begins with a token of its own.
  bool hasEncoder() const { return info.start_token >= 0; }
  /// Whether a text may have sounds in it.
  bool readsSounds() const { return facts.audioToken.has_value(); }
  /// Whether its sources are images, and no text.
  bool hasImageSource() const { return info.image_height > 0; }
  bool isOnGpu() const { return *info.target_gpu; }
  /// Ids that a prompt may have.
  int64_t readVocabulary() const { return facts.readVocabulary(); }
  /// `tokens` in whole blocks of the cache.
  int64_t inBlocks(int64_t tokens) const;
};

/// A failure, told in one line; a fault of our own exits with 3.
struct Failure {
  std::string message;
  int code = 1;
  Failure(const Outcome &outcome) : message(outcome.message), code(outcome.status == RAPT_BUG ? 3 : 1) {}
  Failure(const Error &error) : message(error.message) {}
};

/// Refuses a path that is no file, which a model's directory is not.
Status checkLibrary(const std::string &path);
/// The file of weights `name` beside `library`, or beside what that links to, as the runtime opens it.
std::string weightsPathOf(const std::string &library, const std::string &name);
/// Refuses a file that is the model, its weights or another file of the command line. `role`: what asks for it.
Status checkOutput(const Options &options, const Model &model, const std::string &path, const std::string &role);
/// Opens the module and its weights; no context yet.
Outcome openModule(const Options &options, Model &model);
/// Makes the pool, and a context for `tokens` tokens.
Outcome makeContext(const Options &options, int64_t tokens, Model &model);

/// Prints or writes what was measured, at the end of a command that ends with `code`. Returns the exit status.
int reportProfile(const Profiling &profile, int code);

/// Whether the system gives as much memory: containers end the process where it does not.
bool hasRoom(size_t bytes);

/// Prints what the model is. Returns the exit status and reports its own errors, as the next one does.
int printCard(const Options &options);
/// Runs the reference evaluator in the place of this process.
int runReference(const Options &options, const char *self);

} // namespace rapt::run
