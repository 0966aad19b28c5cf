//===- ConfigReader.h - config.json, read key by key ------------------------===//
//
// A family asks for the keys it understands; what nobody asked for and nobody
// called harmless is an error, because it may change the numbers. Getters record
// errors instead of returning them, so that a family reads like a list and the
// user sees every wrong key at once.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <initializer_list>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rapt::huggingface {

/// A key and its aliases, canonical name first: `"n_layer"` or `{"n_embd", "hidden_size"}`. When several are in the
/// file they must agree.
class Keys {
public:
  Keys(const char *name) : names{name} {}
  Keys(std::initializer_list<std::string_view> names) : names(names.begin(), names.end()) {}
  std::vector<std::string> names;
};

/// A size in pixels.
struct HeightWidth {
  int64_t height, width;
};

/// Keys that nobody asked for, of all files of a model.
struct UnknownKeys {
  std::vector<std::string> ignored;               ///< the user's --ignore-config-key, nested keys by their full names
  std::set<std::string, std::less<>> needed = {}; ///< of `ignored`, by any file
  /// Texts that describe, and their files; see ConfigReader::unreadTexts.
  std::vector<std::pair<std::string, std::string>> texts = {};
};

/// Getters of one JSON object. An absent key and null are the same: the fallback where there is one, else an error.
/// After an error a getter returns the fallback or the lowest legal value, so that later arithmetic stays in range.
class ConfigReader {
public:
  ConfigReader() = default;
  /// `file` is named in every message. `unknown` is that of the model's other files; null: none is.
  ConfigReader(json::Value object, std::string file, std::shared_ptr<UnknownKeys> unknown = nullptr);

  /// Integers in [least, most]; an integral float counts as an integer.
  int64_t getInt(Keys keys, int64_t least, int64_t most);
  int64_t getInt(Keys keys, int64_t least, int64_t most, int64_t fallback);
  /// A size of the model, whose default is that of the family's class; sizes that are not given are remembered.
  int64_t getSize(Keys keys, int64_t least, int64_t most, int64_t fallback);
  /// "has no num_hidden_layers and vocab_size: taken are 32 and 32000, the defaults of the family"; empty where all
  /// sizes are given.
  std::string assumedSizes() const;
  /// No value for an absent key or null.
  std::optional<int64_t> getOptionalInt(Keys keys, int64_t least, int64_t most);
  /// A number for both, or a list of height and width; a size as of getSize.
  HeightWidth getHeightWidth(Keys keys, int64_t least, int64_t most, int64_t fallback);

  /// Finite numbers in [least, most].
  double getFloat(Keys keys, double least, double most);
  double getFloat(Keys keys, double least, double most, double fallback);
  /// Numbers in (0, most]: an epsilon, a base, a scale.
  double getPositive(Keys keys, double most);
  double getPositive(Keys keys, double most, double fallback);

  bool getBool(Keys keys, bool fallback);
  std::string getString(Keys keys, std::string fallback);
  /// One of `allowed`; anything else is an error that lists them.
  std::string getEnum(Keys keys, std::span<const std::string_view> allowed);
  std::string getEnum(Keys keys, std::span<const std::string_view> allowed, std::string_view fallback);
  std::string getEnum(Keys keys, std::initializer_list<std::string_view> allowed) {
    return getEnum(std::move(keys), std::span(allowed.begin(), allowed.size()));
  }
  std::string getEnum(Keys keys, std::initializer_list<std::string_view> allowed, std::string_view fallback) {
    return getEnum(std::move(keys), std::span(allowed.begin(), allowed.size()), fallback);
  }

  /// The value as it is, null when absent or null; counts as read. For lists and nested objects.
  const json::Value *getRaw(Keys keys);

  /// The value as it is, null when absent; it does not count as read.
  const json::Value *peek(std::string_view key) const { return root.find(key); }

  /// A reader of the object that the value is, nothing when absent or null. `close` it when all of it is read.
  std::optional<ConfigReader> open(Keys keys);
  /// Takes over the findings of a reader from `open`, keys among them that nobody asked for and that are not harmless.
  void close(ConfigReader nested, const std::vector<std::string_view> &harmless = {});

  /// The key is in the file, as null perhaps: for the few keys where null is not the class's default.
  bool names(std::string_view key) const { return root.find(key); }

  /// The object's keys, in the file's order.
  std::vector<std::string_view> keys() const;

  /// The key as messages show it: "rope_scaling.factor" of a reader from `open`.
  std::string nameOf(std::string_view key) const { return scope + std::string(key); }

  /// Records a finding about one or several keys: "n_embd 33 is not a multiple of n_head 2".
  void fail(std::string finding);
  /// Records that one; nothing while there are findings, with which the numbers may not be those of the file.
  void requireMultiple(std::string_view key, int64_t number, std::string_view divisorKey, int64_t divisor);

  /// A reader of a file beside this one, for which the user's --ignore-config-key count as well.
  ConfigReader beside(json::Value object, std::string file) const {
    return ConfigReader(std::move(object), std::move(file), unknown);
  }

  /// All errors recorded so far, and every key that was neither read, nor is in `harmless` (this family's) or in the
  /// list shared by all families, nor given to --ignore-config-key; null, false and empty values do not count, nor do
  /// texts that describe (unreadTexts). Success when there are none. Call it before the values are used to build
  /// anything.
  Status finish(const std::vector<std::string_view> &harmless);

  /// After finish: one line for each --ignore-config-key that was not needed, because there is no such key, because it
  /// is understood (and was used), or because it never changes the results.
  std::vector<std::string> needlessIgnores() const;

  /// After finish: one line for each file about texts, or lists of them, that nobody asked for, whose keys have no word
  /// of a model's parts: a license, a name, languages.
  std::vector<std::string> unreadTexts() const;

  /// finish without the check for unknown keys.
  Status errors() const;

  const std::string &file() const { return path; }

private:
  struct Found {
    std::string name;
    const json::Value *value = nullptr; // null: absent
  };
  Found find(const Keys &keys);
  std::optional<int64_t> readInt(const Keys &keys, int64_t least, int64_t most, bool required);
  std::optional<double> readFloat(const Keys &keys, double least, double most, bool required, bool positive);
  std::optional<std::string> readEnum(const Keys &keys, std::span<const std::string_view> allowed, bool required);
  void wrong(const Found &found, const std::string &needed);
  void checkUnknown(const std::vector<std::string_view> &harmless);

  json::Value root;
  std::string path;
  std::string scope; ///< put before the names of keys: "rope_scaling." in a nested object
  std::shared_ptr<UnknownKeys> unknown = std::make_shared<UnknownKeys>();
  std::set<std::string, std::less<>> read;
  std::vector<std::string> findings;
  std::vector<std::pair<std::string, int64_t>> assumed;
};

} // namespace rapt::huggingface
