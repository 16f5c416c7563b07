#include <brood/testing.hpp>
#include <optional>
#include <string>

struct ResizeImage {
  std::string path;
  int width = 0;
  void perform(brood::Context& job);
};

void check(bool fact);
#define CHECK(fact) check(fact)

void test_of_images() {
  // SNIPPET
}
