#include "lib/Support/NumberList.h"
#include <gtest/gtest.h>

using namespace rapt;

TEST(NumberList, IsReadAndShown) {
  using List = std::vector<int64_t>;
  EXPECT_EQ(parseNumberList("0,2-5"), (List{0, 2, 3, 4, 5}));
  EXPECT_EQ(parseNumberList("65535"), List{65535});
  EXPECT_EQ(parseNumberList("3-3,7"), (List{3, 7}));
  EXPECT_EQ(parseNumberList("all"), List{});
  EXPECT_EQ(parseNumberList(""), List{});
  EXPECT_EQ(showNumberList(List{0, 2, 3, 4, 5}), "0,2-5");
  EXPECT_EQ(showNumberList(List{7}), "7");
  EXPECT_EQ(showNumberList(List{}), "");
}

TEST(NumberList, NothingElseIsOne) {
  for (const char *text : {"x", "1,", ",1", "1-", "-1", "2-1", "1,1", "2,1", "0-3,3", "1--2", "1 ,2", "+1", "65536",
                           "1.0", "0x1", "99999999999999999999", "all,1", "1-2-3"})
    EXPECT_EQ(parseNumberList(text), std::nullopt) << text;
}
