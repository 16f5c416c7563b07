#include <brood/job.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

// However many workers there are, on however many machines.
const brood::Limiter erp = brood::Limiter::concurrent("erp", 4, {.wait = 10s});

// Stands in for a connection to a system that allows four.
class Connection {
 public:
  Connection() { note("open"); }
  ~Connection() { note("close"); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const std::string& document) {
    std::this_thread::sleep_for(20ms);
    note("sent " + document);
  }

 private:
  static void note(const std::string& line) { std::ofstream("erp.log", std::ios::app) << line + "\n" << std::flush; }
};

}  // namespace

struct SendInvoice {
  int number = 0;

  void perform() const {
    const std::string invoice = "invoice " + std::to_string(number);  // as many at a time as there are workers
    erp.within_limit([&] { Connection().send(invoice); });
  }
};

struct ImportOrders {
  int day = 0;

  static constexpr brood::JobOptions options{.queue = "imports"};

  void perform() const {
    erp.within_limit([&] { Connection().send("orders of day " + std::to_string(day)); });
  }
};

BROOD_JOBS(SendInvoice, ImportOrders)
