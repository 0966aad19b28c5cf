//===- ValueReader.cpp - Values of a GGUF file's metadata -------------------------===//
#include "lib/Formats/GGUF/ValueReader.h"
#include "lib/Formats/GGUF/Limits.h"

using namespace rapt;
using namespace rapt::gguf;

Expected<std::string> gguf::readText(ByteCursor &cursor, uint64_t most) {
  uint64_t bytes = 0;
  RAPT_RETURN_IF_ERROR(cursor.read(bytes));
  if (bytes > most)
    return Error{"a text of " + std::to_string(bytes) + " bytes, more than the " + std::to_string(most) + " allowed"};
  std::string text;
  RAPT_RETURN_IF_ERROR(cursor.read(text, bytes));
  return text;
}

/// The bytes of an element, of a text the least.
static uint64_t leastBytesOf(ValueType type) {
  switch (type) {
  case ValueType::UInt8:
  case ValueType::Int8:
  case ValueType::Bool:
    return 1;
  case ValueType::UInt16:
  case ValueType::Int16:
    return 2;
  case ValueType::UInt32:
  case ValueType::Int32:
  case ValueType::Float32:
    return 4;
  default:
    return 8;
  }
}

template <typename T> static Status readAs(ByteCursor &cursor, int64_t &out) {
  T number = 0;
  RAPT_RETURN_IF_ERROR(cursor.read(number));
  out = int64_t(number);
  return {};
}

template <typename T> static Status readAs(ByteCursor &cursor, double &out) {
  T number = 0;
  RAPT_RETURN_IF_ERROR(cursor.read(number));
  out = double(number);
  return {};
}

/// Any integer but u64, and booleans, of which every number but 0 is true.
static Status readInteger(ByteCursor &cursor, ValueType type, int64_t &out) {
  switch (type) {
  case ValueType::UInt8:
    return readAs<uint8_t>(cursor, out);
  case ValueType::Int8:
    return readAs<int8_t>(cursor, out);
  case ValueType::UInt16:
    return readAs<uint16_t>(cursor, out);
  case ValueType::Int16:
    return readAs<int16_t>(cursor, out);
  case ValueType::UInt32:
    return readAs<uint32_t>(cursor, out);
  case ValueType::Int32:
    return readAs<int32_t>(cursor, out);
  case ValueType::Bool:
    RAPT_RETURN_IF_ERROR(readAs<uint8_t>(cursor, out));
    out = out != 0;
    return {};
  default:
    return readAs<int64_t>(cursor, out);
  }
}

static Status readNumber(ByteCursor &cursor, ValueType type, double &out) {
  return type == ValueType::Float32 ? readAs<float>(cursor, out) : readAs<double>(cursor, out);
}

static Expected<Value> readArray(ByteCursor &cursor) {
  uint32_t type = 0;
  uint64_t count = 0;
  RAPT_RETURN_IF_ERROR(cursor.read(type));
  RAPT_RETURN_IF_ERROR(cursor.read(count));
  const auto element = ValueType(type);
  if (nameOf(element).empty())
    return Error{"type " + std::to_string(type) + " of an array's elements is not known"};
  if (element == ValueType::Array)
    return Error{"an array of arrays, which is not supported"};
  if (count > mostArrayElements)
    return Error{"an array of " + std::to_string(count) + " elements, more than the " +
                 std::to_string(mostArrayElements) + " allowed"};
  if (count > cursor.left() / leastBytesOf(element))
    return Error{"an array of " + std::to_string(count) + " elements of " + std::to_string(leastBytesOf(element)) +
                 " bytes at least, but " + std::to_string(cursor.left()) + " bytes follow (truncated download?)"};
  if (element == ValueType::String) {
    Value::Texts texts(count);
    for (std::string &text : texts) {
      RAPT_ASSIGN_OR_RETURN(text, readText(cursor, mostStringBytes));
    }
    return Value(element, std::move(texts));
  }
  if (element == ValueType::Float32 || element == ValueType::Float64) {
    Value::Numbers numbers(count);
    for (double &number : numbers)
      RAPT_RETURN_IF_ERROR(readNumber(cursor, element, number));
    return Value(element, std::move(numbers));
  }
  Value::Integers integers(count);
  for (int64_t &integer : integers) {
    RAPT_RETURN_IF_ERROR(readInteger(cursor, element, integer));
    if (element == ValueType::UInt64 && integer < 0)
      return Error{"an array has " + std::to_string(uint64_t(integer)) + ", which is more than 2^63 - 1"};
  }
  return Value(element, std::move(integers));
}

Expected<Value> gguf::readValue(ByteCursor &cursor) {
  uint32_t number = 0;
  RAPT_RETURN_IF_ERROR(cursor.read(number));
  const auto type = ValueType(number);
  if (nameOf(type).empty())
    return Error{"type " + std::to_string(number) + " of its value is not known"};
  if (type == ValueType::Array)
    return readArray(cursor);
  if (type == ValueType::String) {
    RAPT_ASSIGN_OR_RETURN(std::string text, readText(cursor, mostStringBytes));
    return Value(type, std::move(text));
  }
  if (type == ValueType::Float32 || type == ValueType::Float64) {
    double real = 0;
    RAPT_RETURN_IF_ERROR(readNumber(cursor, type, real));
    return Value(type, real);
  }
  int64_t integer = 0;
  RAPT_RETURN_IF_ERROR(readInteger(cursor, type, integer));
  if (type == ValueType::UInt64 && integer < 0)
    return Value(type, uint64_t(integer));
  return Value(type, integer);
}
