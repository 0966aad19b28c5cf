//===- Machine.h - A context under test and one that recomputes -------------------===//
#pragma once
#include "test/Programs/Guarded.h"
#include "test/Programs/Program.h"
#include <memory>
#include <random>

namespace rapt::programs {

using Tokens = std::vector<int32_t>;

/// The expected contents of a sequence.
struct Shadow {
  rapt_sequence name = 0;
  Tokens tokens, source;
  bool hasSource = false;
};

/// A message buffer of an odd size before a page without access.
struct Message : Buffer<char> {
  Message() : Buffer(241) {}
};

/// An opened model, shared by machines.
class Model {
public:
  explicit Model(const std::string &library);
  ~Model() { rapt_module_release(module); }
  rapt_module *module = nullptr;
  rapt_module_info info{};
  bool takesSource = false;
  double tolerance = 0; ///< of the relative L2 between a step and its recomputation
  int64_t sourceVocabulary() const { return info.source_vocabulary ? info.source_vocabulary : info.vocabulary; }
};

/// Runs a program call by call.
class Machine {
public:
  Machine(Model &model, uint64_t seed, rapt_pool *pool);
  ~Machine();
  void run(const Call &call);
  void checkLengths();
  /// Frees every sequence; all blocks must come back.
  void finish();

private:
  void makeSequence();
  void freeSequence(Shadow &shadow);
  void fork(const Shadow &from);
  void truncate(Shadow &shadow, uint32_t length);
  void step(const Call &call);
  void wrongStep(Shadow &shadow, uint32_t which);
  void saveAndLoad(const Shadow &shadow, uint32_t how);
  void cancel(Shadow &shadow, uint32_t how);
  void encode(Shadow &shadow, uint32_t number);
  void noMemory(Shadow &shadow, uint32_t number);
  void forward(uint32_t number);
  void profile(uint32_t number);
  void dropShadow(const Shadow &shadow);

  /// One rapt_step of one chunk into guarded memory, in `logits`.
  rapt_status append(const Shadow &shadow, const Tokens &tokens, int32_t want, std::vector<float> &logits);
  void checkStatus(rapt_status status, const std::vector<rapt_status> &allowed, const char *call, Message &message);
  void checkFull(const std::vector<std::pair<Shadow *, size_t>> &grown);
  int64_t blocksOf(int64_t tokens) const;
  /// Compares logits of the last `rows` of the shadow's tokens with those of a fresh sequence.
  void compare(const Shadow &shadow, const float *logits, size_t rows);
  std::vector<float> recompute(const Shadow &shadow, size_t rows);
  Tokens someTokens(uint32_t number, size_t count, int64_t vocabulary) const;

  static int64_t workersOf(void *) { return 3; }
  static void runBackwards(void *user, rapt_task_fn body, void *closure, int64_t count);
  static int progress(void *user, int64_t done, int64_t total);

  Model &model;
  GuardedAllocator memory;
  rapt_executor executor{};
  rapt_context *context = nullptr, *fresh = nullptr;
  bool cancelsNext = false;
  int64_t capacity = 0, keepEvery = 0;
  std::vector<std::unique_ptr<Shadow>> live;
};

} // namespace rapt::programs
