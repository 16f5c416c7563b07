#include <brood/client.hpp>

struct Invoice {
  int number = 0;
  static constexpr std::string_view job_class = "Invoice";
  void perform();
};

void enqueue(brood::Client& client) {
  // SNIPPET
}
