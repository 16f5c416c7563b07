#pragma once

#include <string>

namespace brood {

// A private directory of one benchmark, removed with all it holds by the process that made it.
class BenchDirectory {
 public:
  // Below `parent`.  Throws std::system_error.
  explicit BenchDirectory(const std::string& parent);
  ~BenchDirectory();
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Where shared memory lies when this machine has such a place, as the runtime directory of a service does.
std::string memory_directory();

}  // namespace brood
