#include "worker/crash/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "shared/json/json.hpp"
#include "shared/scoreboard/stack_record.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_name = 64, longest_function = 260;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Replaces control characters: the names of a job's files must neither break a line nor colour a terminal.
std::string printable(std::string_view text, std::size_t max_characters) {
  std::string out = utf8_prefix(text, max_characters);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return out;
}

bool calls_the_job(const Frame& frame) {
  // Functions of the library's headers that are around a job, with and without middleware.
  constexpr std::string_view around[] = {"brood::detail::run_job<", "brood::detail::run_in_own_middleware(",
                                         "brood::detail::perform_job<"};
  return frame.function.starts_with("brood::perform(") || frame.function.starts_with("brood::run_worker(") ||
         std::any_of(std::begin(around), std::end(around),
                     [&](std::string_view name) { return frame.function.find(name) != std::string::npos; });
}

}  // namespace

std::string to_text(int number, const Frame& frame) {
  std::string place;
  if (!frame.module.empty()) place = fmt::format("{}+{:#x}", printable(frame.module, longest_name), frame.offset);
  if (frame.function.empty()) {
    if (place.empty()) return fmt::format("#{} {:#x}", number, frame.address);
    if (frame.build_id.empty()) return fmt::format("#{} {}", number, place);
    return fmt::format("#{} {} [build id {}]", number, place, frame.build_id);
  }
  std::string text = fmt::format("#{} {}", number, printable(frame.function, longest_function));
  if (!frame.file.empty()) text += fmt::format(" at {}:{}", printable(file_name(frame.file), longest_name), frame.line);
  if (frame.inlined) place += place.empty() ? "inlined" : ", inlined";
  return place.empty() ? text : text + " (" + place + ")";
}

std::vector<Frame> raw_frames(const CapturedStack& stack) {
  std::vector<std::uint64_t> addresses = stack.frames;
  if (addresses.empty() && stack.any() && stack.pc != 0) addresses = {stack.pc};
  std::vector<Frame> frames;
  for (const std::uint64_t address : addresses) {
    Frame frame;
    // If a call is the last instruction of its function, its return address is the first one of the next function.
    frame.address = frames.empty() || address == 0 ? address : address - 1;
    for (const CapturedStack::Module& module : stack.modules) {
      if (frame.address < module.begin || frame.address >= module.end) continue;
      frame.offset = frame.address - module.bias;
      frame.module = file_name(module.path);
      if (frame.module.empty()) frame.module = "?";
      frame.build_id = module.build_id;
      break;
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::vector<Frame> frames_of_job(std::vector<Frame> frames) {
  const auto caller = std::find_if(frames.begin(), frames.end(), calls_the_job);
  if (caller != frames.end()) {
    // A job may have been inlined into its caller without a trace.  Then the caller's frame is the only one to show.
    const bool job_is_seen = std::any_of(frames.begin(), caller, [](const Frame& f) { return !is_machinery(f); });
    frames.erase(job_is_seen ? caller : caller + 1, frames.end());
  }
  const auto outermost = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& f) { return !is_machinery(f); });
  if (outermost != frames.rend()) frames.erase(outermost.base(), frames.end());
  return frames;
}

bool is_machinery(const Frame& frame) { return is_machinery(frame.module); }

}  // namespace brood
