#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace brood {

// `brood <arguments>` on a terminal of its own, as a person sits before it.
class OnTerminal {
 public:
  explicit OnTerminal(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::string>& environment = {});
  ~OnTerminal();  // SIGKILL, if it still runs
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(const std::string& keys);
  // Reads until the terminal has shown it; false: the program ended first, or `patience` did.
  bool shows(const std::string& text, std::chrono::milliseconds patience = std::chrono::seconds(20));
  // Reads until the program has ended; 128 + signal when killed by one.
  int status();

  const std::string& text() const { return text_; }
  pid_t pid() const { return pid_; }

 private:
  bool read_some(std::chrono::milliseconds patience);

  pid_t pid_ = -1;
  int fd_ = -1;
  std::string text_;
};

}  // namespace brood
