#pragma once

#include <string>

namespace brood {

// A private directory of one benchmark.  The process that made it removes it with its content.
class BenchDirectory {
 public:
  // Makes it below `parent`.  Throws std::system_error.
  explicit BenchDirectory(const std::string& parent);
  ~BenchDirectory();
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The directory of shared memory if this machine has one: the runtime directory of a service lies in memory, too.
std::string memory_directory();

}  // namespace brood
