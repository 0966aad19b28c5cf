//===- Describe.cpp - What a GGUF file holds, for people ------------------------===//
#include "lib/Formats/GGUF/Describe.h"
#include "lib/Formats/HuggingFace/SafeTensors.h"
#include "lib/Support/Json.h"
#include "lib/Support/Units.h"

using namespace rapt;
using namespace rapt::gguf;

static constexpr size_t mostElements = 4, mostTextBytes = 60;

static std::string shown(ValueType type, double number) {
  return json::shownNumber(type == ValueType::Float32 ? shortestDecimal(float(number)) : number);
}

static std::string shown(const Value &value) {
  if (const std::string *text = value.asText())
    return "\"" + json::printable(*text, mostTextBytes) + "\"";
  if (const double *number = value.asNumber())
    return shown(value.type(), *number);
  if (const uint64_t *number = value.asUnsigned())
    return std::to_string(*number);
  if (const int64_t *number = value.asInteger())
    return value.type() == ValueType::Bool ? (*number ? "true" : "false") : std::to_string(*number);
  std::string list;
  for (size_t i = 0; i < value.size() && i < mostElements; ++i) {
    list += i ? ", " : "";
    if (const Value::Texts *texts = value.asTexts())
      list += "\"" + json::printable((*texts)[i], mostTextBytes) + "\"";
    else
      list +=
          value.asNumbers() ? shown(value.type(), (*value.asNumbers())[i]) : std::to_string((*value.asIntegers())[i]);
  }
  const std::string rest = value.size() > mostElements ? ", ... (" + grouped(value.size()) + ")" : "";
  return "[" + list + rest + "]";
}

std::string gguf::describe(const File &file) {
  const auto &values = file.metadata().values();
  std::string text = shownPath(file.path()) + ": GGUF, " + counted(file.parts().size(), "file") + ", " +
                     counted(values.size(), "key") + ", " + counted(file.tensors().size(), "tensor") + "\n";
  for (const auto &[key, value] : values)
    text += "  " + key + ": " + value.describeType() + " " + shown(value) + "\n";
  struct Sum {
    size_t tensors = 0;
    uint64_t bytes = 0; // the tensors of a file do not overlap, so that it fits
  };
  std::map<std::string_view, Sum> types;
  for (const auto &[name, tensor] : file.tensors()) {
    text += "  " + json::printable(name) + ": " + std::string(tensor.type->name) + " " +
            huggingface::shownShape(tensor.shape()) + "\n";
    Sum &sum = types[tensor.type->name];
    ++sum.tensors;
    sum.bytes += tensor.bytes;
  }
  for (const auto &[name, sum] : types)
    text += "of type " + std::string(name) + ": " + counted(sum.tensors, "tensor") + ", " + inUnits(sum.bytes) + "\n";
  return text;
}
