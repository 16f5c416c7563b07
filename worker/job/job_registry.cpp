#include "worker/job/job_registry.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <link.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/nearest.hpp"
#include "shared/base/scarcity.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/password_files.hpp"
#include "worker/job/shared_object.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_class_name = 255;
constexpr std::size_t most_periodic_bytes = 1 << 20;

// The library that is being loaded, for the message if a static constructor throws and ends the process.
std::string loading_path;
std::terminate_handler handler_before = nullptr;

[[noreturn]] void terminate_while_loading() {
  std::string why = "no exception";
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
    why = "no std::exception";
  }
  log::error("library_failed", {{"path", loading_path}, {"why", "a static constructor threw"}, {"message", why}});
  log::flush();
  if (handler_before != nullptr) handler_before();
  std::abort();
}

class LastWordsOfLoading {
 public:
  explicit LastWordsOfLoading(const std::string& path) {
    loading_path = path;
    handler_before = std::set_terminate(terminate_while_loading);
  }
  ~LastWordsOfLoading() { std::set_terminate(handler_before); }
  LastWordsOfLoading(const LastWordsOfLoading&) = delete;
  LastWordsOfLoading& operator=(const LastWordsOfLoading&) = delete;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw LibraryError("job library " + path + ": " + why);
}

[[noreturn]] void give_up_for_now(const std::string& path, const std::string& why) {
  throw StartupError("job library " + path + ": " + why);
}

std::string own_text(const abi::Text& text) {
  return text.data == nullptr ? std::string() : std::string(text.data, std::min<std::size_t>(text.size, 4096));
}

bool is_class_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_class_name && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
  });
}

// A path that is the same file for other processes: a debugger opens the library by the path by which we loaded it.
std::string path_for_everybody(const std::string& file) {
  constexpr std::string_view own = "/proc/self/";
  return file.starts_with(own) ? "/proc/" + std::to_string(getpid()) + "/" + file.substr(own.size()) : file;
}

// Loads an object.  An exception of a static constructor leaves dlopen or ends the process, depending on how glibc and
// the library were built.
void* load_object(const std::string& path, const std::string& file) {
  const LastWordsOfLoading last_words(path);
  // dlopen is declared as throwing nothing, so the compiler would leave out the catch: call it through a volatile
  // pointer.
  void* (*const volatile open)(const char*, int) = dlopen;
  try {
    return open(path_for_everybody(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (const std::exception& error) {
    give_up_for_now(path, std::string("a static constructor threw: ") + error.what());
  } catch (...) {
    give_up_for_now(path, "a static constructor threw no std::exception");
  }
}

// Whether dlopen failed for lack of memory or descriptors.  It gives its reason only as text.  The text ends with the
// system's error if a file could not be opened; if memory was lacking, it names only the step that failed.
bool lacks_something_now(const std::string& why) {
  for (const int error : {ENOMEM, EMFILE, ENFILE}) {
    if (why.ends_with(std::strerror(error))) return true;
  }
  if (why.find("failed to map segment") == why.npos && why.find("cannot map zero-fill pages") == why.npos) return false;
  struct statvfs place {};  // of the object that could not be loaded, which may be one that the library needs
  return statvfs(why.substr(0, why.find(": ")).c_str(), &place) != 0 || (place.f_flag & ST_NOEXEC) == 0;
}

// Loads `file`; messages call it `path`.
abi::Entry open_library(const std::string& path, const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) refuse(path, "no such file");
  if (!std::filesystem::is_regular_file(file, ignored)) refuse(path, "is no regular file");
  if (!UniqueFd(open(file.c_str(), O_RDONLY | O_CLOEXEC)) && is_scarcity(errno))
    give_up_for_now(path, std::string("cannot be read now: ") + std::strerror(errno));
  if (const auto flaw = flaw_of_shared_object(file)) refuse(path, *flaw);

  // RTLD_NOW: an undefined symbol fails here, not in the middle of a job.  RTLD_LOCAL: two libraries may
  // each have a function of the same name.
  void* const handle = load_object(path, file);
  if (handle == nullptr) {
    const char* const said = dlerror();
    const std::string why = said == nullptr ? "" : said;
    if (lacks_something_now(why)) give_up_for_now(path, "cannot be loaded now: " + why);
    refuse(path, why.empty() ? "cannot be loaded" : "cannot be loaded: " + why);
  }
  void* symbol = dlsym(handle, abi::entry_symbol);
  if (symbol == nullptr) refuse(path, "names no jobs; does one of its files have a BROOD_JOBS(...) line?");
  return reinterpret_cast<abi::Entry>(symbol);
}

// Loads the objects that the libraries need before these, since the dynamic linker would not find them any more.  While
// this lives, each object has the name by which libraries ask for it, even if its own name differs.
class NeededBefore {
 public:
  explicit NeededBefore(const HeldFiles& held) {
    for (const NeededObject& object : held.needed()) {
      if (void* const loaded = dlopen(object.name.c_str(), RTLD_NOW | RTLD_NOLOAD); loaded != nullptr) continue;
      void* const handle = load_object(object.path, held.path_of(object.path));
      link_map* map = nullptr;
      // If it cannot be loaded, the library that needs it fails to load with a message.
      if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) continue;
      renamed_.push_back({map, map->l_name, object.name});
      map->l_name = renamed_.back().name.data();
    }
  }
  ~NeededBefore() {
    for (const Renamed& one : renamed_) one.map->l_name = one.as_it_was;
  }
  NeededBefore(const NeededBefore&) = delete;
  NeededBefore& operator=(const NeededBefore&) = delete;

 private:
  struct Renamed {
    link_map* map;
    char* as_it_was;
    std::string name;
  };
  std::deque<Renamed> renamed_;  // a deque, so that they are not moved
};

// A copy of a library's struct, with the members that both sides know; the others are null.
template <typename Struct>
Struct known_part(const Struct& theirs) {
  Struct known{};
  std::memcpy(&known, &theirs, std::min<std::size_t>(theirs.size, sizeof known));
  return known;
}

abi::Library check_library(const std::string& path, const abi::Library* theirs) {
  if (theirs == nullptr) refuse(path, "brood_job_library() returned null");
  if (theirs->abi != abi::version) {
    refuse(path, "is built for ABI " + std::to_string(theirs->abi) + ", this brood speaks ABI " +
                     std::to_string(abi::version) + "; build it again with this brood's headers");
  }
  if (theirs->size < abi::least_library_size) {
    refuse(path, "says that its abi::Library has " + std::to_string(theirs->size) + " bytes, at least " +
                     std::to_string(abi::least_library_size) + " are needed");
  }
  const abi::Library library = known_part(*theirs);
  if (library.job_count == 0 && library.registered == nullptr) refuse(path, "has no job class");
  if (library.job_count > abi::most_jobs) {
    refuse(path, "says that it has " + std::to_string(library.job_count) + " job classes, at most " +
                     std::to_string(abi::most_jobs) + " are possible");
  }
  if (library.jobs == nullptr && library.job_count > 0) refuse(path, "has a null pointer for its job classes");
  return library;
}

abi::JobClass check_job_class(const std::string& path, std::size_t i, const abi::JobClass* theirs) {
  const std::string which = "job class " + std::to_string(i + 1);
  if (theirs == nullptr) refuse(path, which + " is a null pointer");
  if (theirs->size < abi::least_job_class_size) {
    refuse(path, which + " says that its abi::JobClass has " + std::to_string(theirs->size) + " bytes, at least " +
                     std::to_string(abi::least_job_class_size) + " are needed");
  }
  const abi::JobClass job_class = known_part(*theirs);
  // The size comes first: with a wrong one we would read beyond the struct.
  const bool readable = job_class.name.data != nullptr && job_class.name.size <= longest_class_name;
  if (!readable || !is_class_name({job_class.name.data, job_class.name.size})) {
    refuse(path, which + " has no usable name: 1 to 255 characters of A-Z a-z 0-9 _ : are needed");
  }
  const std::string name = own_text(job_class.name);
  if (job_class.perform == nullptr) refuse(path, "job class " + name + " has no perform function");
  if (job_class.retry_kind > abi::retry_count || job_class.timeout_ms < 0) {
    refuse(path, "job class " + name + " has an impossible retry or timeout");
  }
  return job_class;
}

constexpr std::uint64_t registered_events =
    (std::uint64_t{abi::registered_event} << (abi::event_preload + 1)) - abi::registered_event;
constexpr std::uint64_t known_registrations = abi::registered_middleware | abi::registered_error_handler |
                                              abi::registered_death_handler | abi::registered_periodic |
                                              registered_events;

// Refuses a library that registers something without having a function for it.
void check_registered(const std::string& path, const abi::Library& library, std::uint64_t registered) {
  if ((registered & ~known_registrations) != 0)
    refuse(path, "registers what this brood does not know; it needs a newer one");
  const auto check = [&](std::uint64_t bits, bool has_function, const char* what) {
    if ((registered & bits) != 0 && !has_function)
      refuse(path, std::string("registers ") + what + ", and has a null pointer for the function that runs them");
  };
  check(abi::registered_middleware, library.run_middleware != nullptr, "middleware");
  check(abi::registered_error_handler, library.run_error_handlers != nullptr, "error handlers");
  check(abi::registered_death_handler, library.run_death_handlers != nullptr, "death handlers");
  check(abi::registered_periodic, library.periodic != nullptr, "periodic jobs");
  check(registered_events, library.run_event_handlers != nullptr, "handlers of events");
}

JobRegistry::Library set_up(const std::string& path, const abi::Library& library, const abi::Library* origin,
                            const std::string& file) {
  abi::Result result{};
  result.size = sizeof result;
  if (library.set_up != nullptr) library.set_up(&result);
  if (result.kind != abi::result_succeeded) {
    give_up_for_now(path, "brood_setup threw " + own_text(result.error_class) + ": " + own_text(result.message));
  }
  const std::uint64_t registered = library.registered == nullptr ? 0 : library.registered();
  check_registered(path, library, registered);
  return {library, origin, path, registered, file};
}

}  // namespace

void JobRegistry::load(const std::filesystem::path& path) {
  std::error_code unresolved;
  std::string name = std::filesystem::weakly_canonical(path, unresolved).string();
  if (unresolved) name = std::filesystem::absolute(path).string();

  load(name, name);
}

void JobRegistry::load(const std::string& name, const std::string& file) {
  add(open_library(name, file)(), name, file);
}

void JobRegistry::add(const abi::Library* origin, const std::string& name, const std::string& file) {
  const abi::Library library = check_library(name, origin);
  if (std::any_of(libraries_.begin(), libraries_.end(), [&](const Library& loaded) { return loaded.origin == origin; }))
    return;

  std::map<std::string, Registered, std::less<>> added;
  for (std::size_t i = 0; i < library.job_count; ++i) {
    const abi::JobClass job = check_job_class(name, i, library.jobs[i]);
    const std::string job_class = own_text(job.name);
    if (const Registered* before = find(job_class)) {
      refuse(name, "job class " + job_class + " is already defined by " + before->path);
    }
    if (!added.try_emplace(job_class, Registered{job, origin, name}).second) {
      refuse(name, "names job class " + job_class + " twice");
    }
  }
  libraries_.push_back(set_up(name, library, origin, file));
  classes_.merge(added);
  if (libraries_.back().serves_all() && (libraries_.back().registered & abi::registered_middleware) != 0)
    middleware_.push_back(&libraries_.back().abi);
}

std::string JobRegistry::periodic_jobs() const {
  std::string lines;
  for (const Library& library : libraries_) {
    if ((library.registered & abi::registered_periodic) == 0) continue;
    const abi::Text text = library.abi.periodic();
    if (text.data != nullptr) lines.append(text.data, std::min(text.size, most_periodic_bytes));
  }
  return lines;
}

void JobRegistry::load_libraries(const Config& config, const LoadSteps& steps) {
  const HeldFiles none, &held = config.held ? *config.held : none;
  const std::set<std::string> moved = held.moved();
  const NeededBefore needed(moved.empty() ? none : held);
  for (const std::string& path : config.require) {
    if (steps.begins) steps.begins(path);
    if (config.held)
      load(held.name_of_library(path), held.path_of_library(path));
    else
      load(path);
    if (steps.ended) steps.ended();
  }
  // The dynamic linker searches by itself, so it may have found a file that a deploy has put there meanwhile.
  for (const std::string& path : held.moved()) {
    if (!moved.contains(path)) give_up_for_now(path, "was replaced while it was loaded");
  }
}

void JobRegistry::load(const Config& config, const LoadSteps& steps) {
  read_keys(config);
  load_libraries(config, steps);
  for (const auto& [name, command] : config.commands) {
    if (const Registered* library = find(name)) {
      throw LibraryError(command.place + ": job class " + name + " is already defined by the job library " +
                         library->path);
    }
    programs_.emplace(name, &command);
  }
}

void JobRegistry::require_isolated_classes(const Config& config) const {
  if (classes_.empty() && programs_.empty()) return;  // no job runs at all
  for (const auto& [name, settings] : config.classes) {
    if (settings.isolation != Isolation::process || knows(name)) continue;
    throw LibraryError(
        fmt::format("{}: {}; correct the name, or take the section out", settings.place, describe_unknown(name)));
  }
}

void JobRegistry::read_keys(const Config& config) {
  EncryptionSettings settings = config.encryption;
  if (config.held) {
    for (auto& [version, key] : settings.keys) key.path = config.held->path_of(credential_path(key.path));
  }
  try {
    keys_ = KeyRing::read(settings);
  } catch (const KeyError& error) {
    throw LibraryError(error.what());
  }
}

const JobRegistry::Registered* JobRegistry::find(std::string_view job_class) const {
  const auto found = classes_.find(job_class);
  return found == classes_.end() ? nullptr : &found->second;
}

const CommandSettings* JobRegistry::find_program(std::string_view job_class) const {
  const auto found = programs_.find(job_class);
  return found == programs_.end() ? nullptr : found->second;
}

std::string JobRegistry::describe_unknown(std::string_view job_class) const {
  const std::vector<std::string> names = class_names();
  const auto meant = nearest(job_class, names);
  return fmt::format("no job class \"{}\" is loaded; {}known: {}", job_class,
                     meant ? fmt::format("did you mean \"{}\"? ", *meant) : "",
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

std::vector<const JobRegistry::Library*> JobRegistry::libraries_told(std::string_view job_class) const {
  const Registered* known = find(job_class);
  const bool whose_is_unknown = known == nullptr && find_program(job_class) == nullptr;
  std::vector<const Library*> told;
  for (const Library& library : libraries_) {
    if (whose_is_unknown || library.serves_all() || (known != nullptr && library.origin == known->library))
      told.push_back(&library);
  }
  return told;
}

bool JobRegistry::has_failure_handlers(std::string_view job_class) const {
  return std::any_of(libraries_.begin(), libraries_.end(), [&](const Library& library) {
    if (library.has(abi::event_crash)) return true;
    if ((library.registered & (abi::registered_death_handler | abi::registered_error_handler)) == 0) return false;
    if (library.serves_all()) return true;
    const Registered* known = find(job_class);
    return known != nullptr && library.origin == known->library;
  });
}

bool JobRegistry::has(abi::EventKind event) const {
  return std::any_of(libraries_.begin(), libraries_.end(), [&](const Library& library) { return library.has(event); });
}

std::vector<std::string> JobRegistry::class_names() const {
  std::vector<std::string> names;
  for (const auto& [name, registered] : classes_) names.push_back(name);
  for (const auto& [name, command] : programs_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace brood
