#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace brood {

// `brood <arguments>` on a terminal of its own, as for a user.
class OnTerminal {
 public:
  explicit OnTerminal(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::string>& environment = {});
  ~OnTerminal();  // kills it if it still runs
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(const std::string& keys);
  // Reads until the terminal has shown the text.  Returns false if the program ended before, or `patience` is over.
  bool shows(const std::string& text, std::chrono::milliseconds patience = std::chrono::seconds(20));
  // Reads until the program has ended.  Returns its exit status, 128 + signal if it was killed.
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
