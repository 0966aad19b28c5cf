//===- Example.h - A command that shows what a model does ------------------------===//
//
// The compiler and rapt-run both end with a line that shows how to try a model. It is a
// command that works as it is printed, or with a file or numbers of the user's where it
// says so. Names of tasks are those of docs/Semantics.md.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace rapt {

/// The message for a model with a chat template.
inline constexpr const char *exampleMessage = "Who are you?";

/// How a model takes texts.
struct ExampleTexts {
  bool hasTokenizer = false; ///< also of what it writes
  int64_t chatTokens = 0;    ///< of exampleMessage as the chat template puts it; 0: there is none that can be used
  std::string mask = {};     ///< the token that stands for what is to be filled in; empty: unknown
};

/// The properties of a model that decide about its example.
struct ExampleModel {
  std::string_view task;
  ExampleTexts texts;
  int64_t positions;  ///< of one sequence; 0: any number
  int64_t vocabulary; ///< of what it reads
};

/// Whether a model's files, of which `has` knows the names, read its text and write it; `writesOther`: in another
/// vocabulary.
bool hasTokenizer(const std::function<bool(const char *)> &has, bool writesOther);

/// Arguments of rapt-run, behind the library, and what a word in capitals among them stands for; empty where none is
/// known to work.
std::string exampleArguments(const ExampleModel &model);

/// `word` as a shell reads it.
std::string shellWord(const std::string &word);

} // namespace rapt
