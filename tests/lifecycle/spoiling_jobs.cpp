// A class that corrupts the memory of its worker and ends well, one that crashes because of that, and unrelated ones.
#include <brood/job.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

bool spoiled = false;

}  // namespace

struct Spoils {
  void perform() const { spoiled = true; }
};

struct Crashes {
  void perform() const {
    if (spoiled) std::abort();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
};

struct Sends {
  void perform() const {}
};

struct Counts {
  void perform() const {}
};

struct Prints {
  void perform() const {}
};

struct Cleans {
  void perform() const {}
};

BROOD_JOBS(Spoils, Crashes, Sends, Counts, Prints, Cleans)
