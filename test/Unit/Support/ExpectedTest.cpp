//===- ExpectedTest.cpp - Errors that functions give to their callers ---------===//
#include "lib/Support/Expected.h"
#include "lib/Runtime/include/rapt/rapt.hpp"
#include <gtest/gtest.h>
#include <memory>
#pragma clang diagnostic error "-Wshadow"

using namespace rapt;

namespace {

/// Counts its calls.
struct Source {
  int calls = 0;
  Status succeed() { return ++calls, Status(); }
  Status fail() { return ++calls, Error{"no status"}; }
  Expected<int> number(int value) { return ++calls, value; }
  Expected<int> noNumber() { return ++calls, Error{"no number"}; }
};

TEST(Expected, GivesItsErrorAway) {
  const std::string message(100, 'm');
  Expected<int> number = Error{message};
  const char *characters = number.error().message.data();
  EXPECT_EQ(std::move(number).error().message.data(), characters);
  Status status = Error{message};
  characters = status.error().message.data();
  EXPECT_EQ(std::move(status).error().message.data(), characters);
}

TEST(WithContext, BeginsTheMessage) {
  Source source;
  EXPECT_EQ(withContext("file.json", source.fail()).error().message, "file.json: no status");
  EXPECT_EQ(withContext("file.json", source.noNumber()).error().message, "file.json: no number");
  EXPECT_TRUE(withContext("file.json", source.succeed()));
  EXPECT_EQ(*withContext("file.json", source.number(3)), 3);
}

TEST(ReturnIfError, EvaluatesItsExpressionOnce) {
  Source source;
  const auto run = [&]() -> Status {
    RAPT_RETURN_IF_ERROR(source.succeed());
    RAPT_RETURN_IF_ERROR(source.number(1));
    RAPT_RETURN_IF_ERROR(source.fail());
    ADD_FAILURE() << "went on after an error";
    return {};
  };
  EXPECT_EQ(run().error().message, "no status");
  EXPECT_EQ(source.calls, 3);
}

TEST(ReturnIfError, ReachesEveryTypeThatAnErrorConvertsTo) {
  Source source;
  const auto number = [&]() -> Expected<std::unique_ptr<int>> {
    RAPT_RETURN_IF_ERROR(source.noNumber());
    return std::make_unique<int>(1);
  };
  const auto optional = [&]() -> std::optional<Error> {
    RAPT_RETURN_IF_ERROR(source.fail());
    return std::nullopt;
  };
  EXPECT_EQ(number().error().message, "no number");
  EXPECT_EQ(optional()->message, "no status");
}

TEST(ReturnIfError, ReturnsAnOutcomeAsItIs) {
  const auto run = [](Outcome given) -> Outcome {
    RAPT_RETURN_IF_ERROR(given);
    RAPT_RETURN_IF_ERROR(Outcome{RAPT_IO, "second"});
    return {};
  };
  EXPECT_EQ(run({RAPT_UNSUPPORTED, "first"}).status, RAPT_UNSUPPORTED);
  EXPECT_EQ(run({}).status, RAPT_IO);
  EXPECT_EQ(run({}).message, "second");
}

TEST(ReturnIfError, IsOneStatement) {
  Source source;
  const auto run = [&](bool first) -> Expected<int> {
    if (first)
      RAPT_RETURN_IF_ERROR(source.succeed());
    else
      RAPT_RETURN_IF_ERROR(source.fail());
    return 1;
  };
  EXPECT_TRUE(run(true));
  EXPECT_EQ(run(false).error().message, "no status");
}

TEST(ReturnIfError, LeavesTheErrorOfAVariable) {
  Status status = Error{"kept"};
  const auto run = [&]() -> Status {
    RAPT_RETURN_IF_ERROR(status);
    return {};
  };
  EXPECT_EQ(run().error().message, "kept");
  EXPECT_EQ(status.error().message, "kept");
}

TEST(AssignOrReturn, DeclaresAndAssigns) {
  Source source;
  const auto run = [&]() -> Expected<int> {
    RAPT_ASSIGN_OR_RETURN(const int first, source.number(1));
    int second = 0;
    RAPT_ASSIGN_OR_RETURN(second, source.number(2));
    return 10 * first + second;
  };
  EXPECT_EQ(*run(), 12);
  EXPECT_EQ(source.calls, 2);
}

TEST(AssignOrReturn, MovesTheValue) {
  const auto make = [](int value) -> Expected<std::unique_ptr<int>> { return std::make_unique<int>(value); };
  const auto run = [&]() -> Expected<std::unique_ptr<int>> {
    RAPT_ASSIGN_OR_RETURN(std::unique_ptr<int> made, make(5));
    ++*made;
    return made;
  };
  EXPECT_EQ(**run(), 6);
}

TEST(AssignOrReturn, ReturnsTheErrorBeforeItAssigns) {
  Source source;
  int value = 7;
  const auto run = [&]() -> Status {
    RAPT_ASSIGN_OR_RETURN(value, source.noNumber());
    ADD_FAILURE() << "went on after an error";
    return {};
  };
  EXPECT_EQ(run().error().message, "no number");
  EXPECT_EQ(source.calls, 1);
  EXPECT_EQ(value, 7);
}

TEST(AssignOrReturn, CopiesFromAVariable) {
  Expected<std::string> given = std::string("kept");
  const auto run = [&]() -> Expected<std::string> {
    RAPT_ASSIGN_OR_RETURN(std::string text, given);
    return text + "!";
  };
  EXPECT_EQ(*run(), "kept!");
  EXPECT_EQ(*given, "kept");
}

TEST(AssignOrReturn, NestsInAnotherOne) {
  Source source;
  const auto run = [&]() -> Expected<int> {
    RAPT_ASSIGN_OR_RETURN(int sum, [&]() -> Expected<int> {
      RAPT_RETURN_IF_ERROR(source.succeed());
      RAPT_ASSIGN_OR_RETURN(int one, source.number(1));
      return one + 1;
    }());
    return sum;
  };
  EXPECT_EQ(*run(), 2);
}

} // namespace
