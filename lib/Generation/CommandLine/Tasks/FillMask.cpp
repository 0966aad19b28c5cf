// The likeliest tokens at the masked positions of a text; of ids without a tokenizer, which alone knows the mask, at
// all positions.
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Generation/CommandLine/TextTask.h"
#include <algorithm>

namespace rapt::run {
namespace {

class FillMask final : public TextTask {
public:
  using TextTask::TextTask;
  std::vector<std::string> outputs() const override { return {"logits"}; }
  Outcome plan(TextRow row, std::vector<TextRow> &rows) const override;
  Outcome judge(const TextRow &row, size_t index, std::span<const RowOutput> outputs,
                json::Value &result) const override;
  int64_t columns() const override { return model.info.vocabulary; }
  std::string show(const json::Value &result) const override;

private:
  /// Where tokens are to be filled in.
  std::vector<size_t> masked(const Ids &ids) const;
  int32_t mask() const;
  Outcome fill(const TextRow &row, size_t place, std::span<const float> logits, bool isOnly, json::Value &result) const;
};

std::vector<size_t> FillMask::masked(const Ids &ids) const {
  std::vector<size_t> masked;
  const int32_t id = text.tokenizer ? mask() : -1;
  for (size_t place = 0; place < ids.size(); ++place)
    if (!text.tokenizer || ids[place] == id)
      masked.push_back(place);
  return masked;
}

int32_t FillMask::mask() const {
  int32_t id = text.tokenizer.role(RAPT_TOKEN_MASK);
  for (std::string_view usual : {"[MASK]", "<mask>"})
    id = id < 0 ? text.tokenizer.find(usual) : id;
  return id;
}

Outcome FillMask::plan(TextRow row, std::vector<TextRow> &rows) const {
  const int32_t id = text.tokenizer ? mask() : -1;
  if (text.tokenizer && id < 0)
    return {RAPT_UNSUPPORTED, std::string(model.info.name) + ": its tokenizer has no mask_token"};
  if (masked(row.ids).empty()) {
    std::string token;
    RAPT_RETURN_IF_ERROR(tokenText(id, token));
    return {RAPT_INVALID, "the text has no " + token + ", the token to fill in"};
  }
  rows.push_back(std::move(row));
  return {};
}

Outcome FillMask::fill(const TextRow &row, size_t place, std::span<const float> logits, bool isOnly,
                       json::Value &result) const {
  const std::vector<double> scores = score(logits, Scoring::Softmax);
  json::Array list;
  for (size_t id : largest(std::span(scores).first(size_t(text.vocabulary)), wanted(5))) {
    if (options.tokens) {
      list.emplace_back(json::Object{{"score", json::Value(scores[id])}, {"token", json::Value(int64_t(id))}});
      continue;
    }
    std::string token, sequence;
    Ids filled = row.ids;
    filled[place] = int32_t(id);
    RAPT_RETURN_IF_ERROR(tokenText(int32_t(id), token));
    // Where other masks remain they are shown.
    RAPT_RETURN_IF_ERROR(text.writer.decode(filled, sequence, isOnly ? 0 : RAPT_DECODE_KEEP_SPECIAL));
    list.emplace_back(json::Object{{"score", json::Value(scores[id])},
                                   {"token", json::Value(int64_t(id))},
                                   {"token_str", json::Value(token)},
                                   {"sequence", json::Value(sequence)}});
  }
  result = json::Value(std::move(list));
  return {};
}

/// A list for each place, in their order.
Outcome FillMask::judge(const TextRow &row, size_t index, std::span<const RowOutput> outputs,
                        json::Value &result) const {
  const std::vector<size_t> all = masked(row.ids);
  json::Array masks;
  for (size_t place : all)
    RAPT_RETURN_IF_ERROR(fill(row, place, outputs[0].token(index, place), all.size() == 1, masks.emplace_back()));
  result = json::Value(std::move(masks));
  return {};
}

std::string FillMask::show(const json::Value &result) const {
  const json::Array &masks = *result.asArray();
  std::string lines;
  for (size_t i = 0; i < masks.size(); ++i)
    for (const json::Value &one : *masks[i].asArray()) {
      lines +=
          (masks.size() > 1 ? std::to_string(i + 1) + "\t" : "") + shownScore(*one.find("score")->asNumber()) + "\t";
      lines += options.tokens ? std::to_string(*one.find("token")->asInteger()) + "\n"
                              : *one.find("token_str")->asString() + "\t" + *one.find("sequence")->asString() + "\n";
    }
  return lines;
}

} // namespace

std::unique_ptr<Job> makeFillMask(const Options &options, Model model) {
  return makeTextJob<FillMask>(options, std::move(model));
}

} // namespace rapt::run
