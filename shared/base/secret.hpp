#pragma once

#include <string.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <string_view>

namespace brood {

// Clears the processor's vector registers.
void forget_registers() noexcept;

// A password, in memory of its own, which is left out of core files and wiped before it is freed.  Copies share it.
class Secret {
 public:
  Secret() = default;
  Secret(std::string_view text) {
    if (!text.empty()) pages_ = std::make_shared<const Pages>(text);
  }
  Secret(const std::string& text) : Secret(std::string_view(text)) {}
  Secret(const char* text) : Secret(std::string_view(text)) {}

  std::string_view view() const { return pages_ ? std::string_view(pages_->begin, pages_->size) : std::string_view(); }
  bool empty() const { return pages_ == nullptr; }

  friend bool operator==(const Secret& one, std::string_view other) { return one.view() == other; }
  friend std::ostream& operator<<(std::ostream& out, const Secret& secret) {
    return out << (secret.empty() ? "" : "***");
  }

 private:
  struct Pages {
    explicit Pages(std::string_view text)
        : size(text.size()),
          begin(static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
      if (begin == MAP_FAILED) throw std::bad_alloc();
      madvise(begin, size, MADV_DONTDUMP);
      std::memcpy(begin, text.data(), size);
      forget_registers();
    }
    ~Pages() {
      explicit_bzero(begin, size);
      munmap(begin, size);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    const std::size_t size;
    char* const begin;
  };
  std::shared_ptr<const Pages> pages_;
};

// Overwrites a text that held a secret, and the registers that may hold parts of it.
void wipe(std::string& text);

}  // namespace brood
