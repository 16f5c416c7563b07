#include <brood/job.hpp>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

std::int64_t balance_in(const std::string& ledger) {
  std::ifstream file(ledger);
  std::int64_t balance = 0;
  for (std::int64_t amount = 0, then = 0; file >> amount >> then;) balance = then;
  return balance;
}

}  // namespace

// Appends an amount and the new balance to the ledger.  What it reads must not change until it has written: two at a
// time would both add to the same old balance.
struct Book {
  std::string ledger;
  std::int64_t amount = 0;

  static constexpr brood::JobOptions options{.queue = "ledger", .retry = 3};

  void perform() const {
    const std::int64_t balance = balance_in(ledger) + amount;
    std::ofstream file(ledger, std::ios::app);
    if (!(file << amount << ' ' << balance << '\n').flush()) throw std::runtime_error("cannot write " + ledger);
  }
};

BROOD_JOBS(Book)
