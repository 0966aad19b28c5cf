//===- PreprocessingReader.cpp - preprocessor_config.json ------------------===//
#include "lib/Image/Preprocess.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace rapt::image {
namespace {

const std::string fileName = "preprocessor_config.json";

/// Members that name things or say what is done here anyway.
const std::set<std::string_view> harmlessKeys = {"image_processor_type", "feature_extractor_type", "processor_class",
                                                 "do_convert_rgb",       "_valid_processor_keys",  "return_tensors",
                                                 "disable_grouping",     "default_to_square"};

constexpr int64_t mostResult = 16384; // a side

using Where = const std::string &;
using Setter = std::function<Status(Preprocessing &, const json::Value &, Where)>;

struct SizeReader {
  bool squares; ///< one number is both sides, not the shorter one

  Status operator()(Preprocessing::Size &size, const json::Value &value, Where where) const {
    Error error{where + " is " + json::printable(json::write(value), 80) +
                ", but must be a number, {\"height\", \"width\"} or {\"shortest_edge\"}, from 1 to " +
                std::to_string(mostResult)};
    auto side = [](const json::Value *value) -> int64_t {
      std::optional<int64_t> number = value ? value->asInteger() : std::nullopt;
      return number && *number >= 1 && *number <= mostResult ? *number : 0;
    };
    size = {};
    if (const json::Object *object = value.asObject()) {
      int64_t width = side(value.find("width")), height = side(value.find("height"));
      int64_t edge = side(value.find("shortest_edge"));
      int64_t given = std::count_if(object->begin(), object->end(), [](const auto &m) { return !m.second.isNull(); });
      if (given == 2 && width && height)
        size.width = width, size.height = height;
      else if (given == 1 && edge)
        size.shortestEdge = edge;
      else
        return error;
      return {};
    }
    int64_t number = side(&value);
    if (!number)
      return error;
    size.width = size.height = number;
    if (!squares)
      size.shortestEdge = number;
    return {};
  }
};

Setter flag(bool Preprocessing::*member) {
  return [=](Preprocessing &how, const json::Value &value, Where where) -> Status {
    how.*member = value.asBool().value_or(false);
    return value.asBool() ? Status() : Status(Error{where + ": is neither true nor false"});
  };
}

Setter threeNumbers(double (Preprocessing::*member)[3], bool nonzero) {
  return [=](Preprocessing &how, const json::Value &value, Where where) -> Status {
    const json::Array *list = value.asArray();
    for (size_t i = 0; i < 3; ++i) {
      const json::Value &entry = list && list->size() == 3 ? (*list)[i] : value; // one number stands for all three
      std::optional<double> number = entry.asNumber();
      if (!number || !std::isfinite(float(*number)) || (nonzero && float(*number) == 0))
        return Error{where + " is " + json::printable(json::write(value), 80) + ", but must be three " +
                     (nonzero ? "finite numbers other than 0" : "finite numbers")};
      (how.*member)[i] = *number;
    }
    return {};
  };
}

Status readFilter(Preprocessing &how, const json::Value &value, Where where) {
  std::optional<int64_t> number = value.asInteger();
  if (!number || *number < 0 || *number > 5)
    return Error{where + " is " + json::printable(json::write(value), 60) +
                 ", but must be one of Pillow's filters 0-5"};
  how.filter = Filter(*number);
  return {};
}

Status readFactor(Preprocessing &how, const json::Value &value, Where where) {
  how.rescaleFactor = value.asNumber().value_or(NAN);
  if (std::isfinite(how.rescaleFactor))
    return {};
  return Error{where + " is " + json::printable(json::write(value), 60) + ", but must be a finite number"};
}

/// The processors' defaults differ; `sizeSquares` tells how one reads a size of one number.
Expected<Preprocessing> defaultsOf(const json::Value &root, bool &sizeSquares) {
  Preprocessing how;
  sizeSquares = true;
  const json::Value *type = root.find("image_processor_type");
  type = type && !type->isNull() ? type : root.find("feature_extractor_type");
  if (!type || type->isNull())
    return how;
  std::string name = type->asString() ? *type->asString() : json::write(*type), base = name;
  for (std::string_view end : {"Fast", "ImageProcessor", "FeatureExtractor"})
    if (base.ends_with(end))
      base.resize(base.size() - end.size());
  base += "ImageProcessor";
  if (base == "ViTImageProcessor")
    return how;
  how.crops = true;
  how.filter = Filter::Bicubic;
  if (base == "DeiTImageProcessor") {
    how.size.width = how.size.height = 256;
    constexpr double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    std::copy_n(mean, 3, how.mean), std::copy_n(deviation, 3, how.deviation);
    return how;
  }
  if (base == "CLIPImageProcessor") {
    how.size.shortestEdge = 224;
    sizeSquares = false;
    constexpr double mean[] = {0.48145466, 0.4578275, 0.40821073};
    constexpr double deviation[] = {0.26862954, 0.26130258, 0.27577711};
    std::copy_n(mean, 3, how.mean), std::copy_n(deviation, 3, how.deviation);
    return how;
  }
  return Error{fileName + ": image_processor_type is " + json::printable(name, 80) +
               ", which is not supported; ViT, DeiT and CLIP image processors are"};
}

std::map<std::string_view, Setter> settersFor(bool sizeSquares) {
  return {{"do_resize", flag(&Preprocessing::resizes)},
          {"do_center_crop", flag(&Preprocessing::crops)},
          {"do_rescale", flag(&Preprocessing::rescales)},
          {"do_normalize", flag(&Preprocessing::normalizes)},
          {"size", [=](Preprocessing &how, const json::Value &value,
                       Where where) { return SizeReader{sizeSquares}(how.size, value, where); }},
          {"crop_size", [](Preprocessing &how, const json::Value &value,
                           Where where) { return SizeReader{true}(how.crop, value, where); }},
          {"resample", readFilter},
          {"rescale_factor", readFactor},
          {"image_mean", threeNumbers(&Preprocessing::mean, false)},
          {"image_std", threeNumbers(&Preprocessing::deviation, true)},
          {"data_format", [](Preprocessing &, const json::Value &value, Where where) {
             return value.asString() && *value.asString() == "channels_first"
                        ? Status()
                        : Status(Error{where + " is " + json::printable(json::write(value), 60) +
                                       ", but only channels_first is supported"});
           }}};
}

} // namespace

Expected<Preprocessing> readPreprocessing(std::string_view content) {
  Expected<json::Value> root = json::parse(content);
  if (!root)
    return Error{fileName + ": " + root.error().message};
  if (!root->isObject())
    return Error{fileName + ": is not a JSON object"};
  bool sizeSquares;
  Expected<Preprocessing> how = defaultsOf(*root, sizeSquares);
  if (!how)
    return how;
  std::map<std::string_view, Setter> setters = settersFor(sizeSquares);
  for (const auto &[key, value] : *root->asObject()) {
    if (value.isNull() || harmlessKeys.count(key))
      continue;
    auto setter = setters.find(key);
    std::string where = fileName + ": " + json::printable(key);
    if (setter != setters.end()) {
      if (Status status = setter->second(*how, value, where); !status)
        return status.error();
    } else if (value.asBool() != false) {
      return Error{where + " is " + json::printable(json::write(value), 60) +
                   ", which could change the numbers and is not supported"};
    }
  }
  if (how->crops && how->crop.shortestEdge)
    return Error{fileName + ": crop_size has shortest_edge, but needs height and width"};
  return how;
}

} // namespace rapt::image
