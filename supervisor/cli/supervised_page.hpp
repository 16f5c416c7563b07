#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/base/held_files.hpp"
#include "shared/config/config.hpp"

namespace brood {

// Holds the page program of this version open.  Installing a package replaces its file, and a page of another version
// does not understand this version's scoreboards.
class PageProgram {
 public:
  // `left` comes from a supervisor of this version in the same process; nullopt: looks the program up.
  explicit PageProgram(const std::optional<HeldFiles::Entry>& left);

  // For a program of the same version that gets this process back.  nullopt if the program was missing.
  std::optional<HeldFiles::Entry> entry() const;
  std::vector<int> descriptors() const { return file_.descriptors(); }
  // The path by which it can be executed now.  Throws CompanionMissing.
  std::string path() const;

 private:
  std::string path_;  // empty if it was missing
  HeldFiles file_;
};

// In a child of the supervisor: becomes the page that [web] configures, which uses the running configuration and ends
// with the supervisor.  The other arguments are from the command line.  Returns an exit status only if that fails.
int become_page(const PageProgram& program, const Config& config, const std::string& config_path,
                const std::vector<std::string>& libraries, const std::optional<std::string>& redis_url);

}  // namespace brood
