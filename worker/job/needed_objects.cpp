#include "worker/job/needed_objects.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "worker/job/shared_object.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_listing = 10s;
constexpr std::size_t longest_list = 1 << 20;
constexpr std::size_t most_names = 4096;

// The path of the dynamic linker that loads this program.
std::string path_of_linker() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *static_cast<std::string*>(result) =
                reinterpret_cast<const char*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
        return 1;  // the program itself comes first
      },
      &path);
  return path;
}

pid_t start_listing(const std::string& linker, const std::string& library, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string list = "--list", program = linker, object = library;
  char* const words[] = {program.data(), list.data(), object.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, linker.c_str(), &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : 0;
}

std::string read_until(int from, SteadyTime deadline) {
  std::string text;
  char chunk[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_now());
    pollfd waits{.fd = from, .events = POLLIN, .revents = 0};
    const int ready = poll(&waits, 1, static_cast<int>(std::max(left, 0ms).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return text;
    const ssize_t got = read(from, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || text.size() > longest_list) return text;
    text.append(chunk, static_cast<std::size_t>(got));
  }
}

std::string ask_linker(const std::string& linker, const std::string& library) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t pid = start_listing(linker, library, to.get());
  to.reset();
  if (pid == 0) return "";
  std::string printed = read_until(from.get(), steady_now() + longest_listing);
  kill(pid, SIGKILL);  // it has closed its output, or took too long
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return printed;
}

// Whether this process has loaded an object of that name.
bool has_already(const std::string& name) {
  void* const loaded = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (loaded != nullptr) dlclose(loaded);
  return loaded != nullptr;
}

// Reads a file that flaw_of_shared_object() has checked, so that its numbers can be trusted.
class Elf {
 public:
  explicit Elf(const std::string& path) : file_(path, std::ios::binary) {
    ElfW(Ehdr) header{};
    if (!read(0, &header, sizeof header)) return;
    segments_.resize(header.e_phnum);
    if (!read(header.e_phoff, segments_.data(), segments_.size() * sizeof(ElfW(Phdr)))) segments_.clear();
  }

  std::vector<std::string> needed() {
    std::vector<std::uint64_t> at;
    std::uint64_t names = 0, size = 0;
    for (const ElfW(Dyn) & entry : dynamic()) {
      if (entry.d_tag == DT_NEEDED) at.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) names = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    }
    std::string table(std::min<std::uint64_t>(size, longest_list), '\0');
    if (!read(offset_of(names), table.data(), table.size())) return {};
    std::vector<std::string> found;
    for (const std::uint64_t begin : at) {
      if (begin < table.size()) found.emplace_back(table.c_str() + begin);
    }
    return found;
  }

 private:
  bool read(std::uint64_t at, void* into, std::size_t size) {
    file_.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(file_.read(static_cast<char*>(into), static_cast<std::streamsize>(size)));
  }

  std::vector<ElfW(Dyn)> dynamic() {
    for (const ElfW(Phdr) & segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      std::vector<ElfW(Dyn)> entries(std::min<std::size_t>(segment.p_filesz / sizeof(ElfW(Dyn)), most_names));
      if (read(segment.p_offset, entries.data(), entries.size() * sizeof(ElfW(Dyn)))) return entries;
    }
    return {};
  }

  std::uint64_t offset_of(std::uint64_t address) const {
    for (const ElfW(Phdr) & segment : segments_) {
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    }
    return 0;
  }

  std::ifstream file_;
  std::vector<ElfW(Phdr)> segments_;
};

// Puts each object behind those that it needs.
class InOrder {
 public:
  explicit InOrder(const std::vector<NeededObject>& listed) {
    for (const NeededObject& object : listed) paths_.emplace(object.name, object.path);
  }

  void visit(const std::string& path) {
    for (const std::string& name : names_needed_by(path)) {
      const auto found = paths_.find(name);
      if (found == paths_.end() || !seen_.insert(name).second) continue;
      visit(found->second);
      ordered_.push_back({found->first, found->second});
    }
  }

  std::vector<NeededObject> take() { return std::move(ordered_); }

 private:
  std::map<std::string, std::string> paths_;
  std::set<std::string> seen_;
  std::vector<NeededObject> ordered_;
};

}  // namespace

std::vector<NeededObject> parse_list_of_linker(const std::string& printed) {
  std::vector<NeededObject> objects;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t"), end = line.rfind(" (0x"), arrow = line.find(" => ");
    if (begin == line.npos || end == line.npos || end < begin) continue;
    const bool is_named = arrow != line.npos && arrow + 4 <= end;
    NeededObject object{line.substr(begin, (is_named ? arrow : end) - begin),
                        is_named ? line.substr(arrow + 4, end - arrow - 4) : line.substr(begin, end - begin)};
    if (object.path.starts_with('/')) objects.push_back(std::move(object));
  }
  return objects;
}

std::vector<std::string> names_needed_by(const std::string& path) {
  if (flaw_of_shared_object(path)) return {};
  return Elf(path).needed();
}

std::vector<NeededObject> find_needed_objects(const std::vector<std::string>& libraries) {
  std::vector<NeededObject> all;
  std::set<std::string> names;
  const std::string linker = path_of_linker();
  for (const std::string& library : libraries) {
    std::error_code unresolved;
    const std::string path = std::filesystem::canonical(library, unresolved);
    if (linker.empty() || unresolved || flaw_of_shared_object(path)) continue;
    std::vector<NeededObject> listed = parse_list_of_linker(ask_linker(linker, path));
    std::erase_if(listed, [](const NeededObject& object) { return has_already(object.name); });
    InOrder order(listed);
    order.visit(path);
    for (NeededObject& object : order.take()) {
      if (names.insert(object.name).second) all.push_back(std::move(object));
    }
  }
  return all;
}

}  // namespace brood
