// A job library that needs another, which needs a third.
#include <fcntl.h>
#include <unistd.h>

#include <brood/job.hpp>
#include <stdexcept>
#include <string>

int roll_part();

// Records which of the other libraries it uses.
struct Parted {
  std::string path;
  void perform() {
    const std::string line = "ran " + std::to_string(roll_part()) + "\n";
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, line.data(), line.size()) < 0) throw std::runtime_error("cannot write " + path);
    close(fd);
  }
};

BROOD_JOBS(Parted)
