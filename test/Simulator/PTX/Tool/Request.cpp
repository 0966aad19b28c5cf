//===- Request.cpp - Arguments of ptx-run ------------------------------------===//
#include "test/Simulator/PTX/Tool/Request.h"
#include "lib/Support/CommandLine.h"
#include "test/Simulator/PTX/TensorMap.h"
#include <algorithm>
#include <cstring>
#include <functional>
using namespace rapt;
using namespace rapt::ptx;

namespace {

struct Option {
  OptionName name;
  bool (*apply)(Request &request, std::string_view text);
};

/// "a,b,c"; false where it is no list of numbers.
bool parseList(std::string_view text, std::vector<int64_t> &values) {
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::optional<int64_t> value = parseWholeNumber(text.substr(begin, end - begin), 0, int64_t(1) << 40);
    if (!value)
      return false;
    values.push_back(*value);
    begin = end + 1;
  }
  return true;
}

bool parseTriple(std::string_view text, std::array<uint32_t, 3> &triple) {
  std::vector<int64_t> values;
  if (!parseList(text, values) || values.empty() || values.size() > 3)
    return false;
  triple = {1, 1, 1};
  std::ranges::copy(values, triple.begin());
  return true;
}

/// The two parts of "name=value".
std::optional<std::pair<std::string, std::string>> split(std::string_view text, char mark = '=') {
  size_t at = text.find(mark);
  if (at == text.npos)
    return std::nullopt;
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

bool addBuffer(Request &request, std::string_view text) {
  auto parts = split(text);
  Expected<NpyTensor> tensor = parts ? readNpy(parts->second) : Expected<NpyTensor>(Error{""});
  if (!tensor)
    return false;
  request.buffers.push_back({parts->first, "", std::move(*tensor)});
  return true;
}

bool addEmpty(Request &request, std::string_view text) {
  auto parts = split(text);
  auto shape = parts ? split(parts->second, ':') : std::nullopt;
  if (!shape)
    return false;
  Buffer buffer;
  buffer.name = parts->first;
  buffer.isEmpty = true;
  for (NpyType type : {NpyType::F32, NpyType::F64, NpyType::I32, NpyType::I64, NpyType::F16, NpyType::U16, NpyType::I8})
    if (shape->first == nameOf(type))
      buffer.tensor.type = type;
  if (!parseList(shape->second, buffer.tensor.shape))
    return false;
  uint64_t bytes = sizeOf(buffer.tensor.type);
  for (int64_t extent : buffer.tensor.shape)
    bytes *= uint64_t(extent);
  buffer.tensor.data.resize(bytes);
  request.buffers.push_back(std::move(buffer));
  return true;
}

bool setOutput(Request &request, std::string_view text) {
  auto parts = split(text);
  if (!parts)
    return false;
  auto buffer = std::ranges::find(request.buffers, parts->first, &Buffer::name);
  if (buffer != request.buffers.end())
    buffer->outputPath = parts->second;
  return buffer != request.buffers.end();
}

bool parseMode(std::string_view text, AsyncMode &mode) {
  mode = text == "lazy" ? AsyncMode::Lazy : AsyncMode::Eager;
  return text == "lazy" || text == "eager";
}

template <typename T> bool parseNumber(std::string_view text, T &value) {
  std::optional<int64_t> number = parseWholeNumber(text, 0, int64_t(1) << 40);
  value = T(number.value_or(0));
  return number.has_value();
}

constexpr Option options[] = {
    {{"kernel", "", "NAME", ""},
     [](Request &request, std::string_view text) {
       request.kernel = text;
       return true;
     }},
    {{"grid", "", "X,Y,Z", ""},
     [](Request &request, std::string_view text) { return parseTriple(text, request.options.grid); }},
    {{"threads", "", "X,Y,Z", ""},
     [](Request &request, std::string_view text) { return parseTriple(text, request.options.threads); }},
    {{"shared", "", "BYTES", ""},
     [](Request &request, std::string_view text) { return parseNumber(text, request.options.dynamicSharedBytes); }},
    {{"buffer", "", "NAME=FILE", ""}, addBuffer},
    {{"empty", "", "NAME=TYPE:SHAPE", ""}, addEmpty},
    {{"output", "", "NAME=FILE", ""}, setOutput},
    {{"arg", "", "VALUE", ""},
     [](Request &request, std::string_view text) {
       request.arguments.emplace_back(text);
       return true;
     }},
    {{"copies", "", "MODE", ""},
     [](Request &request, std::string_view text) { return parseMode(text, request.options.copies); }},
    {{"matmuls", "", "MODE", ""},
     [](Request &request, std::string_view text) { return parseMode(text, request.options.matmuls); }},
    {{"overlaps", "", "0|1", ""},
     [](Request &request, std::string_view text) {
       request.options.overlaps = text == "1";
       return text == "0" || text == "1";
     }},
    {{"seed", "", "N", ""},
     [](Request &request, std::string_view text) { return parseNumber(text, request.options.seed); }},
    {{"limit", "", "N", ""},
     [](Request &request, std::string_view text) { return parseNumber(text, request.options.mostInstructions); }}};

/// "NAME:box=64,128:swizzle=128": the tensor map of a buffer, whose last dimension is the map's first.
Expected<TensorMap> makeMap(const Request &request, std::string_view text) {
  auto rest = split(text, ':');
  auto buffer = std::ranges::find(request.buffers, rest ? rest->first : "", &Buffer::name);
  if (buffer == request.buffers.end() || buffer->tensor.shape.size() > TensorMap::mostDims)
    return Error{"'" + std::string(text) + "' names no buffer"};
  TensorMap map;
  map.address = buffer->address;
  map.elementSize = uint8_t(sizeOf(buffer->tensor.type));
  uint64_t stride = map.elementSize;
  for (size_t dim = buffer->tensor.shape.size(); dim-- > 0; ++map.rank) {
    map.extents[map.rank] = uint64_t(buffer->tensor.shape[dim]);
    map.strides[map.rank] = stride;
    stride *= uint64_t(buffer->tensor.shape[dim]);
  }
  for (std::string field = rest->second; !field.empty();) {
    auto next = split(field, ':');
    auto parts = split(next ? next->first : field);
    std::vector<int64_t> values;
    if (!parts || !parseList(parts->second, values) || values.size() > map.rank)
      return Error{"invalid tensor map '" + std::string(text) + "'"};
    if (parts->first == "box")
      std::ranges::copy(values, map.box.begin());
    else
      map.swizzle = values[0] == 128  ? Swizzle::Bytes128
                    : values[0] == 64 ? Swizzle::Bytes64
                    : values[0] == 32 ? Swizzle::Bytes32
                                      : Swizzle::None;
    field = next ? next->second : "";
  }
  if (const char *problem = map.problem())
    return Error{"tensor map '" + std::string(text) + "': " + problem};
  return map;
}

/// The bytes of one argument; none where it cannot be read.
Expected<std::vector<std::byte>> bytesOf(const Request &request, const std::string &text) {
  auto copy = [](const auto &value) {
    std::vector<std::byte> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  };
  auto parts = split(text);
  if (!parts) {
    auto buffer = std::ranges::find(request.buffers, text, &Buffer::name);
    if (buffer == request.buffers.end())
      return Error{"argument '" + text + "' names no buffer"};
    return copy(buffer->address);
  }
  if (parts->first == "map") {
    RAPT_ASSIGN_OR_RETURN(TensorMap map, makeMap(request, parts->second));
    std::vector<std::byte> bytes(TensorMap::bytes);
    map.encode(std::span<std::byte, TensorMap::bytes>(bytes));
    return bytes;
  }
  if (std::optional<double> real = parts->first == "f32" ? parseRealNumber(parts->second) : std::nullopt)
    return copy(float(*real));
  std::optional<int64_t> number = parseWholeNumber(parts->second, INT64_MIN, INT64_MAX);
  if (number && parts->first == "u64")
    return copy(*number);
  if (number && parts->first == "u32")
    return copy(uint32_t(*number));
  return Error{"invalid argument '" + text + "'"};
}

} // namespace

Expected<Request> rapt::ptx::parseRequest(int argc, char **argv) {
  std::vector<OptionName> names = optionNames(options);
  RAPT_ASSIGN_OR_RETURN(std::vector<Argument> arguments, readArguments(argc, argv, names));
  Request request;
  for (const Argument &argument : arguments) {
    if (!argument.option) {
      request.path = argument.text;
      continue;
    }
    const Option &option = options[argument.option - names.data()];
    if (!option.apply(request, argument.text))
      return Error{"invalid value '" + argument.text + "' for --" + std::string(option.name.name)};
  }
  if (request.path.empty() || request.kernel.empty())
    return Error{"a PTX file and --kernel are needed"};
  return request;
}

Expected<std::vector<std::byte>> rapt::ptx::packArguments(const Kernel &kernel, const Request &request) {
  if (request.arguments.size() != kernel.parameters.size())
    return Error{"kernel '" + kernel.name + "' has " + std::to_string(kernel.parameters.size()) + " parameters"};
  std::vector<std::byte> packed(kernel.parameterBytes);
  for (size_t place = 0; place < kernel.parameters.size(); ++place) {
    RAPT_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, bytesOf(request, request.arguments[place]));
    const Parameter &parameter = kernel.parameters[place];
    if (bytes.size() != parameter.size)
      return Error{"parameter '" + parameter.name + "' has " + std::to_string(parameter.size) + " bytes"};
    std::ranges::copy(bytes, packed.begin() + parameter.offset);
  }
  return packed;
}
