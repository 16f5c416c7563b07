#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <brood/abi.hpp>
#include "shared/config/config.hpp"
#include "shared/encryption/key_ring.hpp"

namespace brood {

// A job library that cannot be used: missing, not a shared object, built for another ABI, a class twice.  what() is one
// sentence with the library's path.  Also thrown for a command whose class is in a library.
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The code of a library threw before any job: in a static constructor, in brood_setup or in a handler of startup.  Or
// there was not enough memory, or too few descriptors.  It may work later: for example, a database that the library
// needs may not be there yet.
class StartupError : public LibraryError {
 public:
  using LibraryError::LibraryError;
};

// The code or the program of each class, by its name.  Only workers and children of recovery have one: the supervisor
// loads no job library.
class JobRegistry {
 public:
  // A copy of the library's own description, as far as both sides know its members; the others are null.
  struct Registered {
    abi::JobClass job_class;
    const abi::Library* library;  // the original, in the library
    std::string path;

    bool has_hooks() const { return job_class.retry_in != nullptr || job_class.exhausted != nullptr; }
  };

  struct Library {
    abi::Library abi;
    const abi::Library* origin;  // the original, in the library
    std::string path;
    std::uint64_t registered;  // abi::Registered
    std::string file;          // the path by which it was loaded

    bool serves_all() const { return abi.job_count == 0; }
    bool has(abi::EventKind event) const { return (registered & std::uint64_t{abi::registered_event} << event) != 0; }
  };

  // Loads the library, checks its description of itself, runs its brood_setup and adds its classes.  A library that was
  // loaded before is left alone.  Libraries are never unloaded.  Throws LibraryError, and then adds nothing.  If a
  // static constructor throws, this throws StartupError, or logs the exception and ends the process, depending on how
  // glibc and the library were built.
  void load(const std::filesystem::path& path);

  // The same for a library that is a part of this program; messages call it `name`.
  void add(const abi::Library* library, const std::string& name) { add(library, name, name); }

  // Loads the keys of [encryption], every library of `require`, then `commands`, which must live as long as this
  // registry.  Uses the files that the configuration holds open, if it holds any.  Throws LibraryError.
  struct LoadSteps {
    std::function<void(const std::string& path)> begins = {};  // before any code of that library runs
    std::function<void()> ended = {};                          // when it is loaded
  };
  void load(const Config& config) { load(config, {}); }
  void load(const Config& config, const LoadSteps& steps);
  // Parts of load(), for a process that does not need all of it.
  void read_keys(const Config& config);  // throws LibraryError
  void load_libraries(const Config& config, const LoadSteps& steps);
  // Throws LibraryError if [classes.NAME] asks for a sandbox or a process of its own for a class that is not known
  // here: otherwise a misspelt name would let the class run without them.
  void require_isolated_classes(const Config& config) const;

  // The keys that encrypt arguments of jobs; empty until load() has read a configuration.
  const KeyRing& keys() const { return keys_; }
  void forget_keys() { keys_ = {}; }

  const Registered* find(std::string_view job_class) const;               // nullptr: unknown, or a program
  const CommandSettings* find_program(std::string_view job_class) const;  // nullptr: unknown, or in a library
  std::vector<std::string> class_names() const;                           // sorted, programs too
  bool knows(std::string_view job_class) const { return find(job_class) || find_program(job_class); }
  // A sentence about an unknown class: the classes that are known, and those of them with a similar name.
  std::string describe_unknown(std::string_view job_class) const;

  // A line of JSON for each library.
  std::string periodic_jobs() const;

  const std::deque<Library>& libraries() const { return libraries_; }  // in the order in which they were loaded
  // The libraries with middleware around every job, the outermost first.
  const std::vector<const abi::Library*>& middleware() const { return middleware_; }
  // The libraries whose handlers are called for a job: its own, and those that serve all classes.  If its class is
  // unknown, all libraries.
  std::vector<const Library*> libraries_told(std::string_view job_class) const;
  // Whether a handler runs at a failed or crashed attempt of this class.
  bool has_failure_handlers(std::string_view job_class) const;
  bool has(abi::EventKind event) const;

 private:
  void load(const std::string& name, const std::string& file);
  void add(const abi::Library* library, const std::string& name, const std::string& file);

  std::map<std::string, Registered, std::less<>> classes_;
  std::deque<Library> libraries_;  // a deque, so that they are not moved
  std::vector<const abi::Library*> middleware_;
  std::map<std::string, const CommandSettings*, std::less<>> programs_;
  KeyRing keys_;
};

}  // namespace brood
