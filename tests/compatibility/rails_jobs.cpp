#include <unistd.h>
#include <brood/global_id.hpp>
#include <brood/job.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace {

// Appends one whole line.
void note(const std::string& path, const std::string& line) {
  std::ofstream(path, std::ios::app) << line + "\n" << std::flush;
}

// As Journal in rails_app/lib/journal.rb.
void work(const std::string& path, const std::string& id, const std::string& facts) {
  const std::string pid = std::to_string(getpid());
  note(path, "S " + id + " " + pid);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  note(path, "D " + id + " " + pid + " " + facts);
}

}  // namespace

// The classes of rails_app/app/jobs, with the same arguments.
struct CropImage {
  struct Size {
    std::int64_t width;
    std::string format;
  };

  std::string path;
  std::int64_t number;
  Size size;

  void perform() { work(path, "crop-" + std::to_string(number), std::to_string(size.width) + size.format); }
};

struct BillOrder {
  std::string path;
  brood::GlobalId order;
  std::chrono::system_clock::time_point due;

  void perform() {
    const auto millis = std::chrono::floor<std::chrono::milliseconds>(due.time_since_epoch()).count();
    work(path, "bill-" + order.id, order.model + "@" + std::to_string(millis));
  }
};

struct RemindBuyer {
  std::string path;
  std::int64_t number;
  std::chrono::seconds after;

  void perform() { work(path, "remind-" + std::to_string(number), std::to_string(after.count()) + "s"); }
};

BROOD_JOBS(CropImage, BillOrder, RemindBuyer)
