#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <brood/abi.hpp>
#include "shared/config.hpp"

namespace brood {

// A job library that cannot be used: missing, no shared object, built for another ABI, a class twice, a brood_setup
// that threw.  what() is one sentence with the library's path.  Also a command that takes the class of a library.
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Class name -> code, or program.  Lives in workers and autopsies alone: the supervisor loads no job library.
class JobRegistry {
 public:
  struct Registered {
    const abi::JobClass* job_class;
    const abi::Library* library;
    std::string path;

    bool has_hooks() const { return job_class->retry_in != nullptr || job_class->exhausted != nullptr; }
    bool has_death_handlers() const { return library->death_handler_count() > 0; }
  };

  // Loads the library, checks all that it says of itself, runs its brood_setup and adds its classes; a library that was
  // loaded before is left alone.  Libraries are never unloaded.  Throws LibraryError, and then adds nothing.  A static
  // constructor that throws ends the process (no exception passes the dynamic linker); its words are logged first.
  void load(const std::filesystem::path& path);

  // Every library of `require`, then `commands`, which must live as long as this registry.  Throws LibraryError.
  void load(const Config& config);

  const Registered* find(std::string_view job_class) const;               // nullptr: unknown, or a program
  const CommandSettings* find_program(std::string_view job_class) const;  // nullptr: unknown, or in a library
  std::vector<std::string> class_names() const;                           // sorted, programs too
  const std::vector<const abi::Library*>& libraries() const { return libraries_; }

 private:
  std::map<std::string, Registered, std::less<>> classes_;
  std::vector<const abi::Library*> libraries_;
  std::map<std::string, const CommandSettings*, std::less<>> programs_;
};

}  // namespace brood
