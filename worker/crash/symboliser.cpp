#include "worker/crash/symboliser.hpp"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "worker/crash/demangle.hpp"

namespace brood {
namespace {

// No real code has a deeper nesting of inlined calls.
constexpr std::size_t max_inlined = 50;

std::vector<int> also_from;  // see symbolise_also_from()

// Opens the program or shared object at `path`.  The result is empty for any other file.  The kind of file is checked
// before it is opened, since opening a FIFO or a device may block or have effects.
UniqueFd open_elf(const std::string& path) {
  struct stat file {};
  if (!path.starts_with('/') || stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return UniqueFd();
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return fd;
  // Only the identification and the type are checked.  libdwfl would unpack compressed files and relocate object files.
  Elf64_Ehdr header{};
  const bool whole = pread(fd.get(), &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header);
  const bool loadable = header.e_type == ET_DYN || header.e_type == ET_EXEC;
  if (!whole || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || !loadable) return UniqueFd();
  return fd;
}

std::string hex(const unsigned char* bytes, int size) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

int find_no_elf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

// Returns the name of an inlined call.  It is made from the mangled name if the compiler noted one, else from the plain
// name and those of its class and namespaces.
std::string name_of(Dwarf_Die* call) {
  Dwarf_Attribute attribute;
  for (const unsigned linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    const char* mangled = dwarf_formstring(dwarf_attr_integrate(call, linkage, &attribute));
    if (mangled != nullptr) return demangled(mangled);
  }
  const char* plain = dwarf_diename(call);
  std::string name = plain != nullptr ? plain : "";
  // Use the origin: only the declaration surely lies within its class and namespaces.
  Dwarf_Die origin = *call;
  for (int i = 0; i < 4; ++i) {
    const bool refers = dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) != nullptr ||
                        dwarf_attr(&origin, DW_AT_specification, &attribute) != nullptr;
    if (!refers || dwarf_formref_die(&attribute, &origin) == nullptr) break;
  }
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&origin, &scopes);
  const std::unique_ptr<Dwarf_Die, void (*)(void*)> free_scopes(scopes, std::free);
  for (int i = 1; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type) continue;
    const char* around = dwarf_diename(&scopes[i]);
    name.insert(0, std::string(around != nullptr ? around : "(anonymous namespace)") + "::");
  }
  return demangled(name);
}

// One file of the dead process, open.
class Module {
 public:
  static std::unique_ptr<Module> open(const CapturedStack::Module& recorded, const std::string& debug_directory) {
    if (auto module = open(recorded, recorded.path, debug_directory)) return module;
    if (recorded.build_id.empty()) return nullptr;
    for (const int held : also_from) {
      if (auto module = open(recorded, "/proc/self/fd/" + std::to_string(held), debug_directory)) return module;
    }
    return nullptr;
  }

  // Appends `place` with its names, after the calls that were inlined into it.
  void append(Frame place, std::vector<Frame>& frames) {
    const char* symbol = dwfl_module_addrname(module_, place.offset);
    if (symbol != nullptr) place.function = demangled(symbol);
    // For abort() and similar functions the name is enough: reading libc's debug information would take longer than
    // all other frames.
    if (is_machinery(place)) return frames.push_back(std::move(place));

    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = unit_at(place.offset, bias);
    if (unit == nullptr) return frames.push_back(std::move(place));
    const Dwarf_Addr address = place.offset - bias;
    if (Dwarf_Line* line = dwarf_getsrc_die(unit, address); line != nullptr) {
      const char* file = dwarf_linesrc(line, nullptr, nullptr);
      if (file != nullptr) place.file = file;
      dwarf_lineno(line, &place.line);
    }
    append_scopes(unit, address, std::move(place), frames);
  }

 private:
  static std::unique_ptr<Module> open(const CapturedStack::Module& recorded, const std::string& file,
                                      const std::string& debug_directory) {
    UniqueFd fd = open_elf(file);
    if (!fd) return nullptr;
    std::unique_ptr<Module> module(new Module(debug_directory));
    if (!module->report(recorded.path, std::move(fd)) || module->build_id() != recorded.build_id) return nullptr;
    return module;
  }

  explicit Module(std::string debug_directory)
      : debug_directory_(std::move(debug_directory)), debug_path_(debug_directory_.data()) {
    callbacks_.find_elf = find_no_elf;
    callbacks_.find_debuginfo = dwfl_build_id_find_debuginfo;  // the standard one would ask the network
    callbacks_.section_address = dwfl_offline_section_address;
    callbacks_.debuginfo_path = &debug_path_;
    dwfl_.reset(dwfl_begin(&callbacks_));
  }

  bool report(const std::string& path, UniqueFd fd) {
    if (!dwfl_) return false;
    dwfl_report_begin(dwfl_.get());
    // The base is 0, so that addresses are those of the file.
    module_ = dwfl_report_elf(dwfl_.get(), path.c_str(), path.c_str(), fd.get(), 0, true);
    if (module_ != nullptr) fd.release();  // libdwfl's from here on
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    return module_ != nullptr;
  }

  std::string build_id() const {
    const unsigned char* bytes = nullptr;
    GElf_Addr where = 0;
    const int size = dwfl_module_build_id(module_, &bytes, &where);
    return size > 0 ? hex(bytes, std::min(size, 20)) : "";
  }

  // Returns the compilation unit of an address.  clang writes no table of the units, so then each unit is searched.
  Dwarf_Die* unit_at(Dwarf_Addr address, Dwarf_Addr& bias) {
    Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias);
    if (unit != nullptr) return unit;
    while ((unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr) {
      if (dwarf_haspc(unit, address - bias) > 0) return unit;
    }
    return nullptr;
  }

  static void append_scopes(Dwarf_Die* unit, Dwarf_Addr address, Frame place, std::vector<Frame>& frames) {
    Dwarf_Die* scopes = nullptr;
    int count = dwarf_getscopes(unit, address, &scopes);
    if (count > 0) {
      // For an inlined call libdw continues with the scopes of the function's definition.  The report needs the scopes
      // of the place where it was inlined.
      Dwarf_Die innermost = scopes[0];
      std::free(std::exchange(scopes, nullptr));
      count = dwarf_getscopes_die(&innermost, &scopes);
    }
    const std::unique_ptr<Dwarf_Die, void (*)(void*)> free_scopes(scopes, std::free);

    Dwarf_Files* files = nullptr;
    std::size_t files_count = 0;
    if (dwarf_getsrcfiles(unit, &files, &files_count) != 0) files = nullptr;
    const std::size_t first = frames.size();
    for (int i = 0; i < count && frames.size() < first + max_inlined; ++i) {
      const int tag = dwarf_tag(&scopes[i]);
      if (tag == DW_TAG_subprogram) {
        if (place.function.empty()) place.function = name_of(&scopes[i]);
        break;
      }
      if (tag != DW_TAG_inlined_subroutine) continue;
      Frame call = place;
      call.inlined = true;
      call.function = name_of(&scopes[i]);
      if (!call.function.empty()) frames.push_back(std::move(call));
      // The function around it was at the line of this call.
      const auto file = number(&scopes[i], DW_AT_call_file);
      const char* source = files != nullptr && file ? dwarf_filesrc(files, *file, nullptr, nullptr) : nullptr;
      place.file = source != nullptr ? source : "";
      place.line = static_cast<int>(number(&scopes[i], DW_AT_call_line).value_or(0));
    }
    frames.push_back(std::move(place));
  }

  static std::optional<Dwarf_Word> number(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return std::nullopt;
    return value;
  }

  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  std::string debug_directory_;
  char* debug_path_;
  Dwfl_Callbacks callbacks_{};
  std::unique_ptr<Dwfl, End> dwfl_;
  Dwfl_Module* module_ = nullptr;
};

std::chrono::nanoseconds processor_time() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

const CapturedStack::Module* module_at(const CapturedStack& stack, std::uint64_t address) {
  for (const CapturedStack::Module& module : stack.modules) {
    if (address >= module.begin && address < module.end) return &module;
  }
  return nullptr;
}

}  // namespace

std::vector<Frame> symbolise(const CapturedStack& stack, const SymboliserOptions& options) {
  const SteadyTime deadline = steady_now() + options.longest;
  const std::chrono::nanoseconds budget = processor_time() + options.budget;
  unsetenv("DEBUGINFOD_URLS");
  std::map<const CapturedStack::Module*, std::unique_ptr<Module>> opened;
  std::map<std::uint64_t, std::vector<Frame>> known;  // by address: a recursion has the same address many times
  std::vector<Frame> frames;
  for (Frame& raw : raw_frames(stack)) {
    if (const auto again = known.find(raw.address); again != known.end()) {
      frames.insert(frames.end(), again->second.begin(), again->second.end());
      continue;
    }
    const CapturedStack::Module* recorded = module_at(stack, raw.address);
    if (recorded == nullptr || processor_time() >= budget || steady_now() >= deadline) {
      frames.push_back(std::move(raw));
      continue;
    }
    auto place = opened.find(recorded);
    if (place == opened.end()) place = opened.emplace(recorded, Module::open(*recorded, options.debug_directory)).first;
    std::vector<Frame>& named = known[raw.address];
    if (place->second == nullptr)
      named.push_back(std::move(raw));
    else
      place->second->append(std::move(raw), named);
    frames.insert(frames.end(), named.begin(), named.end());
    if (options.frame_done) options.frame_done();
  }
  return frames;
}

void symbolise_also_from(std::vector<int> descriptors) { also_from = std::move(descriptors); }

}  // namespace brood
