#include "shared/http/name_lookup.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

NameLookup::End look_up(const std::string& host, std::uint16_t port, int flags, NameLookup::Resolver resolver) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = resolver(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    const std::string reason = error == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(error);
    return {.trouble = fmt::format("{}: {}", host, reason)};
  }
  NameLookup::End end;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    NameLookup::Address& address = end.addresses.emplace_back();
    address.size = std::min<socklen_t>(one->ai_addrlen, sizeof address.to);
    std::memcpy(&address.to, one->ai_addr, address.size);
    address.family = one->ai_family;
  }
  freeaddrinfo(found);
  return end;
}

}  // namespace

struct NameLookup::Shared {
  UniqueFd ended{};
  std::mutex mutex{};  // of `end`
  std::optional<End> end{};
};

NameLookup::NameLookup(const std::string& host, std::uint16_t port, Resolver resolver)
    : shared_(std::make_shared<Shared>()) {
  if (End end = look_up(host, port, AI_NUMERICHOST, &getaddrinfo); !end.addresses.empty()) {
    shared_->end = std::move(end);
    return;
  }
  try {
    shared_->ended = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!shared_->ended) throw std::system_error(errno, std::generic_category());
    std::thread([host, port, resolver, shared = shared_] {
      End end = look_up(host, port, 0, resolver);
      const std::lock_guard hold(shared->mutex);
      shared->end = std::move(end);
      eventfd_write(shared->ended.get(), 1);
    }).detach();
  } catch (const std::system_error& error) {
    shared_->ended.reset();
    shared_->end = End{.trouble = fmt::format("{}: it cannot be looked up: {}", host, error.code().message())};
  }
}

int NameLookup::fd() const { return shared_->ended.get(); }

std::optional<NameLookup::End> NameLookup::end() const {
  const std::lock_guard hold(shared_->mutex);
  return shared_->end;
}

}  // namespace brood
