#include <brood/testing.hpp>
#include <optional>
#include <string>

struct ResizeImage {
  std::string path;
  int width = 0;
  void perform(brood::Context& job);
};

struct ImportRow {
  int row = 0;
  void perform();
};

struct RaiseAlarm {
  std::string file;
  void perform();
};

void import_rows(const std::string& file);

void check(bool fact);
#define CHECK(fact) check(fact)

void test_of_images() {
  // SNIPPET
}
