#include "lib/Support/ModelFacts.h"

namespace rapt {

namespace {

constexpr int64_t mostNumber = int64_t(1) << 40;

struct Writer {
  json::Object object;

  void operator()(const FactRow &row, const auto &fact) {
    if (row.manifest == InManifest::Always || (row.manifest == InManifest::WhereGiven && isGiven(fact)))
      object.emplace_back(row.key, valueOf(fact));
  }
  static json::Value valueOf(const fact::Text &text) { return json::Value(text); }
  static json::Value valueOf(fact::Number number) { return json::Value(number); }
  static json::Value valueOf(const fact::Id &id) { return json::Value(id.value_or(-1)); }
  template <typename T> static json::Value valueOf(const std::vector<T> &items) {
    json::Array list;
    for (const T &item : items)
      list.emplace_back(item);
    return json::Value(std::move(list));
  }
};

struct Reader {
  const json::Value &model;
  Status status = {};

  void operator()(const FactRow &row, auto &fact) {
    const json::Value *value = row.manifest == InManifest::Never ? nullptr : model.find(row.key);
    if (status && value)
      status = read(*value, row.key, fact);
  }
  static Status read(const json::Value &value, const char *key, fact::Text &text) {
    RAPT_ASSIGN_OR_RETURN(text, json::textOf(value, key));
    return {};
  }
  static Status read(const json::Value &value, const char *key, fact::Number &number) {
    RAPT_ASSIGN_OR_RETURN(number, json::integerOf(value, key, 0, mostNumber));
    return {};
  }
  static Status read(const json::Value &value, const char *key, fact::Id &id) {
    RAPT_ASSIGN_OR_RETURN(id, json::integerOf(value, key, 0, INT32_MAX));
    return {};
  }
  static Status read(const json::Value &value, const char *key, fact::Numbers &numbers) {
    RAPT_ASSIGN_OR_RETURN(const json::Array *list, json::listOf(value, key));
    for (const json::Value &item : *list) {
      RAPT_ASSIGN_OR_RETURN(const int64_t number, json::integerOf(item, key, 0, INT32_MAX));
      numbers.push_back(number);
    }
    return {};
  }
  static Status read(const json::Value &value, const char *key, fact::Names &names) {
    RAPT_ASSIGN_OR_RETURN(const json::Array *list, json::listOf(value, key));
    for (const json::Value &item : *list) {
      RAPT_ASSIGN_OR_RETURN(std::string name, json::textOf(item, key));
      names.push_back(std::move(name));
    }
    return {};
  }
};

} // namespace

json::Object describeFacts(const ModelFacts &facts) {
  Writer writer;
  visitFacts(facts, [&](const FactRow &row, const auto &fact) { writer(row, fact); });
  return std::move(writer.object);
}

Status readFacts(const json::Value &model, ModelFacts &facts) {
  Reader reader{model};
  visitFacts(facts, [&](const FactRow &row, auto &fact) { reader(row, fact); });
  return std::move(reader.status);
}

} // namespace rapt
