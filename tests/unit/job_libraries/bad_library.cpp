// A job library with a wrong description of itself; BAD selects the mistake.
#include <brood/abi.hpp>
#include <stdexcept>

using namespace brood;

namespace {

enum Wrong {
  nothing,
  foreign_abi,
  small_library,
  null_library,
  no_jobs,
  null_jobs,
  null_job,
  small_job,
  empty_name,
  unsafe_name,
  long_name,
  null_name,
  null_perform,
  same_name_twice,
  wrong_result,
  null_texts,
  exception_out,
  untouched_result,
  static_throw,
  duplicate,
  lost_function,
  unknown_registration,
  countless_jobs,
  endless_name,
  garbage,
  wild_pointer
};
constexpr Wrong bad = BAD;

constexpr auto name_of(const char* text) {
  std::size_t size = 0;
  while (text[size] != '\0') ++size;
  return abi::Text{text, size};
}

const char long_text[300] = {'a'};

void perform(const abi::Call*, abi::Result* result) {
  if (bad == exception_out) throw std::runtime_error("out of the library");
  if (bad == untouched_result) return;
  result->kind = bad == wrong_result ? 99 : abi::result_failed;
  result->error_class = {nullptr, 1000};
  result->message = bad == null_texts ? abi::Text{nullptr, 5} : name_of("\xff\xfe");
}

void set_up(abi::Result* result) { result->kind = abi::result_succeeded; }
std::uint64_t registered() {
  if (bad == unknown_registration) return std::uint64_t{1} << 40;
  return bad == lost_function ? abi::registered_death_handler : 0;
}

abi::JobClass make_job(const char* name) {
  abi::JobClass job{};
  job.size = bad == small_job ? 8 : sizeof job;
  job.name = name_of(bad == empty_name ? "" : bad == unsafe_name ? "<b>Bad</b>" : name);
  if (bad == long_name) job.name = {long_text, sizeof long_text};
  if (bad == null_name) job.name = {nullptr, 3};
  if (bad == endless_name) job.name.size = ~std::size_t{0};
  job.perform = bad == null_perform ? nullptr : perform;
  return job;
}

const abi::JobClass first = make_job(bad == duplicate ? "ResizeImage" : "BadFirst");
const abi::JobClass second = make_job(bad == same_name_twice ? "BadFirst" : "BadSecond");
const abi::JobClass* const jobs[] = {&first, bad == null_job ? nullptr : &second};

const abi::Library library{bad == foreign_abi ? 7u : abi::version,
                           bad == small_library ? 16u : static_cast<std::uint32_t>(sizeof(abi::Library)),
                           {nullptr, 0},
                           bad == no_jobs          ? 0u
                           : bad == countless_jobs ? ~std::size_t{0}
                                                   : 2u,
                           bad == null_jobs      ? nullptr
                           : bad == wild_pointer ? reinterpret_cast<const abi::JobClass* const*>(8)
                                                 : jobs,
                           set_up,
                           bad == no_jobs ? nullptr : registered,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr};

// This symbol has the wrong type.
alignas(8) const
    char words[] = "a library that returns its name in place of what it says of itself, of 88 bytes and more";

struct Thrower {
  Thrower() {
    if (bad == static_throw) throw std::runtime_error("thrown by a static constructor");
  }
} const thrower;

}  // namespace

extern "C" const abi::Library* brood_job_library() {
  if (bad == garbage) return reinterpret_cast<const abi::Library*>(words);
  return bad == null_library ? nullptr : &library;
}
