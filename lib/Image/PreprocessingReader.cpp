//===- PreprocessingReader.cpp - preprocessor_config.json ------------------===//
#include "lib/Image/Preprocess.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

namespace rapt::image {
namespace {

const std::string fileName = "preprocessor_config.json";

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

using Triple = std::array<double, 3>;
constexpr Triple imageNetMean = {0.485, 0.456, 0.406}, imageNetDeviation = {0.229, 0.224, 0.225};
constexpr Triple clipMean = {0.48145466, 0.4578275, 0.40821073}, clipDeviation = {0.26862954, 0.26130258, 0.27577711};
constexpr int64_t convNextCropped = 384; // the shorter side from which ConvNext's images are not cropped

/// A class of image processors: its defaults and how it reads the file.
struct Processor {
  Preprocessing defaults;
  bool sizeSquares = true;                        ///< a size of one number is both sides
  std::optional<double> cropShare;                ///< crop_pct: the share of the shorter side that a crop keeps
  std::optional<int64_t> leastPixels, mostPixels; ///< min_pixels and max_pixels, which come before `size`
};

void setColors(Preprocessing &how, const Triple &mean, const Triple &deviation) {
  std::copy_n(mean.begin(), 3, how.mean), std::copy_n(deviation.begin(), 3, how.deviation);
}

/// ViT's.
Processor plain() { return {}; }

Processor bicubic(int64_t side, bool crops) {
  Processor result;
  result.defaults.filter = Filter::Bicubic;
  result.defaults.crops = crops;
  result.defaults.size.width = result.defaults.size.height = side;
  return result;
}

Processor deit() {
  Processor result = bicubic(256, /*crops=*/true);
  setColors(result.defaults, imageNetMean, imageNetDeviation);
  return result;
}

/// CLIP's and BiT's.
Processor clip() {
  Processor result = bicubic(224, /*crops=*/true);
  result.defaults.size.shortestEdge = 224;
  result.sizeSquares = false;
  setColors(result.defaults, clipMean, clipDeviation);
  return result;
}

Processor convNext() {
  Processor result = bicubic(convNextCropped, /*crops=*/false);
  result.defaults.size.shortestEdge = convNextCropped;
  result.sizeSquares = false;
  result.cropShare = 224.0 / 256;
  return result;
}

Processor dinov3() {
  Processor result;
  result.defaults.rescalesFirst = true;
  setColors(result.defaults, imageNetMean, imageNetDeviation);
  return result;
}

/// Also Qwen3-VL's and Qwen3.5's.
Processor qwen2VL() {
  Processor result = clip();
  result.defaults.crops = false;
  result.defaults.squares.emplace();
  return result;
}

/// Whose sides depend on a number of vectors, and not on `size`.
Processor gemma4() {
  Processor result = bicubic(224, /*crops=*/false);
  result.defaults.squares = {.patch = 16, .inRow = 3, .budget = int64_t(280)};
  result.defaults.normalizes = false;
  setColors(result.defaults, {0, 0, 0}, {1, 1, 1});
  return result;
}

const std::map<std::string, Processor (*)(), std::less<>> processors = {
    {"BeitImageProcessor", [] { return bicubic(256, /*crops=*/true); }},
    {"BitImageProcessor", clip},
    {"CLIPImageProcessor", clip},
    {"ConvNextImageProcessor", convNext},
    {"DINOv3ViTImageProcessor", dinov3},
    {"DeiTImageProcessor", deit},
    {"Gemma4ImageProcessor", gemma4},
    {"Gemma4UnifiedImageProcessor", gemma4},
    {"Qwen2VLImageProcessor", qwen2VL},
    {"SiglipImageProcessor", [] { return bicubic(224, /*crops=*/false); }},
    {"ViTImageProcessor", plain}};

/// The processor that the file names; ViT's without one.
Expected<Processor> processorOf(const json::Value &root) {
  const json::Value *type = root.find("image_processor_type");
  type = type && !type->isNull() ? type : root.find("feature_extractor_type");
  if (!type || type->isNull())
    return plain();
  std::string name = type->asString() ? *type->asString() : json::write(*type), base = name;
  for (std::string_view end : {"Fast", "ImageProcessor", "FeatureExtractor"})
    if (base.ends_with(end))
      base.resize(base.size() - end.size());
  base += "ImageProcessor";
  if (auto found = processors.find(base); found != processors.end()) {
    Processor processor = found->second();
    if (processor.cropShare && name.ends_with("Fast"))
      processor.defaults.filter = Filter::Bilinear; // whose class differs from the first one in this
    return processor;
  }
  std::string known;
  for (const auto &entry : processors)
    known += (known.empty() ? "" : ", ") + entry.first;
  return Error{fileName + ": image_processor_type is " + json::printable(name, 80) +
               ", which is not supported; supported are " + known};
}

Status readShare(std::optional<double> &share, const json::Value &value, Where where) {
  share = value.asNumber();
  if (share && *share >= 1e-3 && *share <= 1e3)
    return {};
  return Error{where + " is " + json::printable(json::write(value), 60) + ", but must be a number from 0.001 to 1000"};
}

constexpr int64_t mostBudget = int64_t(1) << 28; // of pixels that a file may allow an image

Status readNumber(int64_t &number, const json::Value &value, Where where, int64_t most) {
  number = value.asInteger().value_or(0);
  if (number >= 1 && number <= most)
    return {};
  return Error{where + " is " + json::printable(json::write(value), 60) + ", but must be from 1 to " +
               std::to_string(most)};
}

/// Pixels of an image, of a class whose images have any size.
Status readPixels(Preprocessing &how, const json::Value &value, Where where) {
  const json::Value *least = value.find("shortest_edge"), *most = value.find("longest_edge");
  if (!least || !most || value.asObject()->size() != 2)
    return Error{where + " is " + json::printable(json::write(value), 80) +
                 ", but must have shortest_edge and longest_edge, which are numbers of pixels"};
  PixelBudget &budget = std::get<PixelBudget>(how.squares->budget);
  RAPT_RETURN_IF_ERROR(readNumber(budget.least, *least, where + ".shortest_edge", mostBudget));
  return readNumber(budget.most, *most, where + ".longest_edge", mostBudget);
}

constexpr int64_t mostPatch = 256, mostInRow = 16; // pixels of a patch, and patches of a square, side by side

/// Adds the keys of the extents of squares of patches, of which a class has `sideKey`.
void addSettersOfSquares(const char *sideKey, std::map<std::string_view, Setter> &setters) {
  auto extentOf = [](int64_t Squares::*extent, int64_t most) -> Setter {
    return [=](Preprocessing &how, const json::Value &value, Where where) {
      return readNumber(*how.squares.*extent, value, where, most);
    };
  };
  setters["patch_size"] = extentOf(&Squares::patch, mostPatch);
  setters[sideKey] = extentOf(&Squares::inRow, mostInRow);
}

/// Adds the keys of a class whose images have so many pixels.
void addSettersOfPixels(Processor &processor, std::map<std::string_view, Setter> &setters) {
  addSettersOfSquares("merge_size", setters);
  setters["size"] = readPixels;
  auto pixels = [](std::optional<int64_t> &number) -> Setter {
    return [&number](Preprocessing &, const json::Value &value, Where where) {
      return readNumber(number.emplace(), value, where, mostBudget);
    };
  };
  setters["min_pixels"] = pixels(processor.leastPixels);
  setters["max_pixels"] = pixels(processor.mostPixels);
  // The model repeats an image as often; a program's importer has compared the numbers.
  setters["temporal_patch_size"] = [](Preprocessing &, const json::Value &value, Where where) {
    int64_t frames;
    return readNumber(frames, value, where, 16);
  };
}

Status resolvePixels(Squares &squares, const Processor &processor) {
  auto *budget = std::get_if<PixelBudget>(&squares.budget);
  if (!budget)
    return {};
  budget->least = processor.leastPixels.value_or(budget->least);
  budget->most = processor.mostPixels.value_or(budget->most);
  if (budget->least > budget->most)
    return Error{fileName + ": the least pixels of an image, " + std::to_string(budget->least) +
                 ", are more than the most, " + std::to_string(budget->most)};
  const int64_t square = squares.side() * squares.side();
  if (square <= budget->most)
    return {};
  return Error{fileName + ": an image has at most " + std::to_string(budget->most) + " pixels, fewer than the " +
               std::to_string(square) + " of a square of patches"};
}

constexpr int64_t vectorCounts[] = {70, 140, 280, 560, 1120}; // that the class takes

Status readVectorCount(Preprocessing &how, const json::Value &value, Where where) {
  const int64_t most = value.asInteger().value_or(0);
  how.squares->budget = most;
  if (std::find(std::begin(vectorCounts), std::end(vectorCounts), most) != std::end(vectorCounts))
    return {};
  return Error{where + " is " + json::printable(json::write(value), 60) +
               ", but must be one of 70, 140, 280, 560 and 1120"};
}

std::map<std::string_view, Setter> settersFor(Processor &processor) {
  const bool sizeSquares = processor.sizeSquares;
  std::map<std::string_view, Setter> setters = {
      {"do_resize", flag(&Preprocessing::resizes)},
      {"do_rescale", flag(&Preprocessing::rescales)},
      {"do_normalize", flag(&Preprocessing::normalizes)},
      {"size", [=](Preprocessing &how, const json::Value &value,
                   Where where) { return SizeReader{sizeSquares}(how.size, value, where); }},
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
  const std::optional<Squares> &squares = processor.defaults.squares;
  if (squares && std::holds_alternative<PixelBudget>(squares->budget)) {
    addSettersOfPixels(processor, setters);
    return setters;
  }
  if (squares) {
    addSettersOfSquares("pooling_kernel_size", setters);
    setters["size"] = [](Preprocessing &, const json::Value &, Where) { return Status(); }; // of some files, never read
    setters["max_soft_tokens"] = readVectorCount;
    return setters;
  }
  if (processor.cropShare) {
    setters["crop_pct"] = [&processor](Preprocessing &, const json::Value &value, Where where) {
      return readShare(processor.cropShare, value, where);
    };
    return setters;
  }
  setters["do_center_crop"] = flag(&Preprocessing::crops);
  setters["crop_size"] = [](Preprocessing &how, const json::Value &value, Where where) {
    return SizeReader{true}(how.crop, value, where);
  };
  return setters;
}

/// A shorter side below 384 is that of a crop, which keeps `share` of the image's; a larger one is both sides.
Status resolveCropShare(Preprocessing &how, double share) {
  if (!how.size.shortestEdge)
    return Error{fileName + ": size has height and width, but needs shortest_edge"};
  const int64_t side = *how.size.shortestEdge;
  const double scaled = double(side) / share;
  how.size = {.width = side, .height = side, .shortestEdge = {}};
  if (!how.resizes || side >= convNextCropped)
    return {};
  if (scaled < 1 || scaled > double(mostResult))
    return Error{fileName + ": size / crop_pct is not from 1 to " + std::to_string(mostResult)};
  how.crops = true;
  how.crop = how.size;
  how.size.shortestEdge = int64_t(scaled);
  return {};
}

} // namespace

Expected<Preprocessing> readPreprocessing(std::string_view content) {
  RAPT_ASSIGN_OR_RETURN(json::Value root, withContext(fileName, json::parse(content)));
  if (!root.isObject())
    return Error{fileName + ": is not a JSON object"};
  RAPT_ASSIGN_OR_RETURN(Processor processor, processorOf(root));
  Preprocessing how = processor.defaults;
  std::map<std::string_view, Setter> setters = settersFor(processor);
  for (const auto &[key, value] : *root.asObject()) {
    const bool namesClass = key == "image_processor_type" || key == "feature_extractor_type";
    if (value.isNull() || namesClass || isHarmlessKey(fileName, key))
      continue;
    auto setter = setters.find(key);
    std::string where = fileName + ": " + json::printable(key);
    if (setter != setters.end()) {
      RAPT_RETURN_IF_ERROR(setter->second(how, value, where));
    } else if (value.asBool() != false) {
      return Error{where + " is " + json::printable(json::write(value), 60) +
                   ", which could change the numbers and is not supported"};
    }
  }
  if (how.squares)
    RAPT_RETURN_IF_ERROR(resolvePixels(*how.squares, processor));
  if (how.crops && how.crop.shortestEdge)
    return Error{fileName + ": crop_size has shortest_edge, but needs height and width"};
  if (processor.cropShare)
    RAPT_RETURN_IF_ERROR(resolveCropShare(how, *processor.cropShare));
  if (how.rescalesFirst && how.filter != Filter::Bilinear && how.filter != Filter::Bicubic)
    return Error{fileName + ": resample is " + std::to_string(int(how.filter)) +
                 ", but images that are rescaled first can be resized by 2 (bilinear) and 3 (bicubic)"};
  return how;
}

} // namespace rapt::image
