//===- Translation.h - Keys of a GGUF file as those of config.json ---*- C++ -*-===//
//
// Each architecture of GGUF is a family of Hugging Face under other names. A function for each
// writes the members of config.json from the file's keys; what the family's reader makes of them
// is the same as of a directory. Getters record errors instead of returning them, as those of
// ConfigReader do, and each key that was read; one that was not becomes a member of its own name,
// which the family's reader refuses as it does other unknown keys.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/GGUF/File.h"
#include "lib/Support/Json.h"
#include <set>

namespace rapt::importing {

/// The largest sizes that are read.
inline constexpr int64_t mostHeads = 1 << 12, mostChannels = 1 << 12, mostWindow = int64_t(1) << 30,
                         mostExperts = 1 << 12, mostInner = 1 << 20, mostPositions = 1 << 24, mostRank = 1 << 16,
                         mostLayers = 1 << 17;

/// Sizes that every decoder has. 1 where the file's are wrong, which is recorded.
struct DecoderSizes {
  int64_t layers = 1, width = 1, heads = 1, keyHeads = 1;
  int64_t allLayers = 1;                 ///< with those behind them that predict further tokens
  int64_t channels = 1;                  ///< of a head
  int64_t valueChannels = 1;             ///< of its values
  std::vector<bool> attends;             ///< for each layer, if some have no attention
  std::vector<int64_t> keyHeadsOfLayers; ///< if they differ; `keyHeads` is that of the first that attends
  int64_t vocabulary = 1;
};

/// Names of members of config.json in which families differ; empty: the family has no such member.
struct MemberNames {
  std::string_view inner = "intermediate_size", keyHeads = "num_key_value_heads", headDim = "head_dim",
                   positions = "max_position_embeddings", epsilon = "rms_norm_eps";
  bool hasRmsNorms = epsilon.starts_with("rms");
  bool hasOtherLayers = false;  ///< some layers may be without attention
  bool haveOwnKeyHeads = false; ///< layers may have different numbers of heads of keys
  bool haveOwnValues = false;   ///< heads of values may have other channels than those of keys
};

/// Members of config.json that the user sets.
using GivenMembers = std::vector<std::pair<std::string, json::Value>>;

class Translation {
public:
  /// Reads the sizes. `architecture` is that of the file; `given` are members that the user sets.
  Translation(const gguf::File &file, std::string_view architecture, const GivenMembers &given);

  const gguf::File &file() const { return source; }
  const DecoderSizes &sizes() const { return sizesOfDecoder; }

  // Values of the architecture's keys, which are named without it: "block_count".
  std::optional<int64_t> integer(std::string_view key, int64_t least, int64_t most);
  std::optional<double> number(std::string_view key);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key);
  /// One value for each layer, of a list or of one number for all; nothing without the key.
  std::optional<std::vector<int64_t>> ofLayers(std::string_view key, int64_t least, int64_t most);
  /// For each layer; nothing without the key, or where it is not a list.
  std::optional<std::vector<int64_t>> list(std::string_view key);
  /// An integer, or a list of equal ones: layers of different sizes are recorded as an error.
  std::optional<int64_t> integerOfLayers(std::string_view key, int64_t least, int64_t most);
  /// The same of a key that must be there.
  int64_t required(std::string_view key, int64_t least, int64_t most);
  /// The key is known, and nothing depends on it.
  void pass(std::string_view key) { read.insert(fullName(key)); }

  /// The file has the tensor.
  bool has(std::string_view tensor) const { return source.find(tensor); }
  bool hasInLayers(std::string_view tensor) const { return has("blk.0." + std::string(tensor)); }
  /// Of layers that are not all alike.
  bool hasInSomeLayer(std::string_view tensor) const;
  /// The numbers of a vector of `count` f32, which needs no other reader then. Absent, it is recorded as an error.
  std::vector<double> takeVector(std::string_view tensor, int64_t count);
  bool isTaken(std::string_view tensor) const { return taken.contains(tensor); }
  /// An encoder that classifies texts.
  bool classifies() const { return hasClasses; }

  /// Sets a member of config.json.
  template <typename T> void set(std::string_view member, T value) {
    json::setMember(members, member, json::Value(std::move(value)));
  }
  /// Sets a member of rope_scaling. False where there is none of YaRN.
  bool setInRotaryScaling(std::string_view member, json::Value value);
  /// model_type, sizes, positions, epsilon, whether the head is tied, and ids of tokens with a role.
  void setDecoder(const char *modelType, const MemberNames &names = {});
  /// The same of an encoder, whose class is `classes`Model, or classifies with the tensor cls.output.
  void setEncoder(const char *modelType, const char *classes, const MemberNames &names);

  /// The ids of tokens with a role.
  void setRoles();

  /// "FILE: tensor "NAME": WHAT".
  void failOfTensor(std::string_view name, const std::string &what);
  /// "FILE: key "llama.KEY": WHAT".
  void fail(std::string_view key, const std::string &what);
  void warn(const std::string &line);
  /// Says what was assumed, unless the user has set the member.
  void assume(std::string_view member, const std::string &line);
  Status status() const { return failure; }
  /// The members, and the keys of the architecture that nothing read.
  json::Object takeConfig();
  std::vector<std::string> warnings;

private:
  std::string fullName(std::string_view key) const { return prefix + std::string(key); }
  void record(Error error);
  template <typename T> std::optional<T> take(Expected<std::optional<T>> value);
  std::optional<int64_t> within(std::string_view key, std::optional<int64_t> value, int64_t least, int64_t most);
  void readSizes();
  void readKeyHeads();
  void setModel(const char *modelType, const MemberNames &names);
  void setLabels();

  const gguf::File &source;
  const GivenMembers &given;
  std::string prefix;
  DecoderSizes sizesOfDecoder;
  bool hasClasses = false;
  std::set<std::string, std::less<>> read, taken;
  json::Object members;
  Status failure;
};

/// Which channels of a head rotate.
enum class Rotated : uint8_t {
  All,
  Share, ///< the first of them, partial_rotary_factor
  Apart, ///< qk_rope_head_dim beside those of the head
};

/// What yarn's factor for scores is, mscale_all_dim, and that for cosines and sines, mscale, which files do not have.
enum class Magnitudes : uint8_t {
  None,
  OfScores, ///< the file's; mscale is 1
  Equal,    ///< ten times the file's, which is mscale, too
};

/// rope_theta, rope_scaling, and what tells `rotated`.
void setRotary(Translation &t, Rotated rotated = Rotated::All, Magnitudes magnitudes = Magnitudes::None);

} // namespace rapt::importing
