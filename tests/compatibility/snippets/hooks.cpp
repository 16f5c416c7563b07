#include <brood/job.hpp>
#include <chrono>
#include <stdexcept>
#include <string_view>

struct NoSuchCustomer : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void tell_somebody(std::string_view jid, std::string_view message);

struct Invoice {
  void perform();

  // SNIPPET
};

BROOD_JOBS(Invoice)
