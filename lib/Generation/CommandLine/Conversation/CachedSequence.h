//===- CachedSequence.h - A sequence, and the ids that its cache holds ---------------===//
//
// A conversation's prompt begins as the one before it did. The common prefix stays in the
// cache; the rest is forgotten and read anew. They are compared by their
// ids, since a template may leave out a part of an answer, and the text of an answer may
// be split into other tokens than those that the model wrote.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"

namespace rapt::run {

class CachedSequence {
public:
  /// Takes a new sequence of the model's context, which must outlive it.
  Outcome open(const Model &model);

  int64_t length() const { return int64_t(held.size()); }
  /// Tokens for the next step.
  rapt_chunk chunk(const Ids &ids, rapt_logits want) const { return sequence.chunk(ids, want); }
  /// A step has appended these.
  void add(const Ids &ids) { held.insert(held.end(), ids.begin(), ids.end()); }

  /// Forgets what is no beginning of `prompt`, and its last token. `rest`: the tokens of it that are not held, one at
  /// least.
  Outcome rewindTo(const Ids &prompt, Ids &rest);
  /// Forgets everything.
  Outcome clear() { return truncate(0); }

  /// Whether the model forgets more than it is told to, so that it pays to keep states: its layers keep the last tokens
  /// or one state alone.
  bool needsStates() const { return isForgetful; }
  /// Keeps the present state, to which a later call may go back.
  Outcome keepState();
  /// Tokens of the cache beyond those of the sequence that its states may take.
  static int64_t tokensOfStates(const Model &model);

private:
  /// Forgets the tokens from `length` on, or as few more as the model's states allow.
  Outcome truncate(size_t length);

  struct State {
    Sequence sequence;
    size_t length;
  };

  const Context *context = nullptr;
  Sequence sequence;
  Ids held;
  bool isForgetful = false;
  std::vector<State> states; ///< of beginnings of `held`, the shortest first
};

} // namespace rapt::run
