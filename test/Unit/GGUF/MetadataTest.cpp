// Getters take every type that holds the value; what they refuse names file, key and both types.
#include "lib/Formats/GGUF/Metadata.h"
#include "lib/Formats/GGUF/Types.h"
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::gguf;

namespace {

class Values : public testing::Test {
protected:
  Values() {
    metadata.add("u8", Value(ValueType::UInt8, int64_t(7)));
    metadata.add("u64", Value(ValueType::UInt64, uint64_t(1) << 63));
    metadata.add("f32", Value(ValueType::Float32, double(1e-5f)));
    metadata.add("f64", Value(ValueType::Float64, double(1e-5f)));
    metadata.add("bool", Value(ValueType::Bool, int64_t(1)));
    metadata.add("text", Value(ValueType::String, std::string("x")));
    metadata.add("integers", Value(ValueType::Int32, Value::Integers{1, 0}));
    metadata.add("numbers", Value(ValueType::Float32, Value::Numbers{0.5, 2}));
    metadata.add("texts", Value(ValueType::String, Value::Texts{"a", "b"}));
    metadata.add("empty", Value(ValueType::UInt8, Value::Integers{}));
  }
  Metadata metadata{"a.gguf"};
};

template <typename T> std::string errorOf(const Expected<T> &value) { return value ? "" : value.error().message; }

} // namespace

TEST_F(Values, Numbers) {
  EXPECT_EQ(**metadata.integer("u8"), 7);
  EXPECT_EQ(**metadata.number("u8"), 7);
  EXPECT_EQ(**metadata.number("f32"), 1e-5);
  EXPECT_EQ(**metadata.number("f64"), double(1e-5f));
  EXPECT_FALSE(metadata.integer("absent")->has_value());
  EXPECT_EQ(errorOf(metadata.integer("u64")), "a.gguf: key \"u64\": 9223372036854775808 is more than 2^63 - 1");
  EXPECT_EQ(errorOf(metadata.integer("f32")), "a.gguf: key \"f32\": its value is of type f32, but must be an integer");
  EXPECT_EQ(errorOf(metadata.integer("bool")),
            "a.gguf: key \"bool\": its value is of type bool, but must be an integer");
  EXPECT_EQ(errorOf(metadata.number("texts")),
            "a.gguf: key \"texts\": its value is of type array of string, but must be a number");
}

TEST_F(Values, BooleansAndTexts) {
  EXPECT_TRUE(**metadata.boolean("bool"));
  EXPECT_EQ(errorOf(metadata.boolean("u8")), "a.gguf: key \"u8\": its value is 7, but must be a boolean");
  EXPECT_EQ(**metadata.text("text"), "x");
  EXPECT_EQ(errorOf(metadata.text("u8")), "a.gguf: key \"u8\": its value is of type u8, but must be a string");
}

TEST_F(Values, Lists) {
  EXPECT_EQ(**metadata.integers("integers"), (Value::Integers{1, 0}));
  EXPECT_EQ(**metadata.numbers("integers"), (Value::Numbers{1, 0}));
  EXPECT_EQ(**metadata.numbers("numbers"), (Value::Numbers{0.5, 2}));
  EXPECT_EQ(**metadata.texts("texts"), (Value::Texts{"a", "b"}));
  EXPECT_EQ(*metadata.texts("absent"), nullptr);
  EXPECT_TRUE((*metadata.texts("empty"))->empty());
  EXPECT_TRUE((*metadata.numbers("empty"))->empty());
  EXPECT_EQ(errorOf(metadata.integers("u8")),
            "a.gguf: key \"u8\": its value is of type u8, but must be an array of integers");
}

TEST_F(Values, OfLayers) {
  EXPECT_EQ(**metadata.integersOfLayers("u8", 3), (Value::Integers{7, 7, 7}));
  EXPECT_EQ(**metadata.integersOfLayers("integers", 2), (Value::Integers{1, 0}));
  EXPECT_EQ(errorOf(metadata.integersOfLayers("integers", 3)), "a.gguf: key \"integers\": an array of 2 for 3 layers");
}

TEST(TensorTypes, AreSortedAndWhole) {
  for (uint32_t number = 0; number < 43; ++number) {
    const TensorType *type = findType(number);
    ASSERT_TRUE(type) << number;
    EXPECT_EQ(type->number, number);
    EXPECT_EQ(type->use == TypeUse::Refused, type->elements == 0) << type->name;
    EXPECT_EQ(type->use == TypeUse::Refused, !type->reason.empty()) << type->name;
  }
  EXPECT_EQ(findType(43), nullptr);
}
