#include <brood/testing.hpp>
#include <optional>
#include <string>

struct ResizeImage {
  std::string path;
  int width = 0;
  void perform(brood::Context& job);
};

struct Shop {
  void take_order(int order);
};

void check(bool fact);
#define CHECK(fact) check(fact)

void test_of_orders(Shop& shop, int order) {
  // SNIPPET
}
