#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <brood/argument.hpp>

namespace brood {

// The GlobalID of a record of a Rails application, as an argument of an Active Job: "gid://shop/Order/7".  brood loads
// no record; the job asks the application's database for it.
//
//   struct ChargeOrder {
//     static constexpr const char* name = "ChargeOrder";   // ChargeOrder.perform_later(order)
//     brood::GlobalId order;                               // app "shop", model "Order", id "7"
//     void perform();
//   };
struct GlobalId {
  std::string app, model, id;  // without the escapes of a URI

  // Throws std::invalid_argument if `text` is no GlobalID.
  static GlobalId parse(std::string_view text) {
    constexpr std::string_view scheme = "gid://";
    if (!text.starts_with(scheme)) throw std::invalid_argument("is no GlobalID: it does not begin with gid://");
    text.remove_prefix(scheme.size());
    text = text.substr(0, text.find('?'));
    const std::size_t app_end = text.find('/'), model_end = text.find('/', app_end + 1);
    if (app_end == text.npos || model_end == text.npos || app_end == 0 || model_end == app_end + 1 ||
        model_end + 1 == text.size())
      throw std::invalid_argument("is no GlobalID: gid://app/Model/id is one");
    return {unescaped(text.substr(0, app_end)), unescaped(text.substr(app_end + 1, model_end - app_end - 1)),
            unescaped(text.substr(model_end + 1))};
  }

  // Returns "gid://app/model/id", with the escapes of a URI.
  std::string text() const { return "gid://" + escaped(app) + "/" + escaped(model) + "/" + escaped(id); }

  // Whether both name the same record.
  friend bool operator==(const GlobalId&, const GlobalId&) = default;

 private:
  static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  }
  static std::string unescaped(std::string_view part) {
    std::string plain;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool is_escape = part[i] == '%' && i + 2 < part.size() && hex(part[i + 1]) >= 0 && hex(part[i + 2]) >= 0;
      plain += is_escape ? static_cast<char>(hex(part[i + 1]) * 16 + hex(part[i + 2])) : part[i] == '+' ? ' ' : part[i];
      if (is_escape) i += 2;
    }
    return plain;
  }
  static std::string escaped(std::string_view part) {
    std::string text;
    for (const char c : part) {
      const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                            c == '-' || c == '.' || c == ':' || c == '~';
      const auto byte = static_cast<unsigned char>(c);
      if (is_plain) {
        text += c;
      } else {
        text += '%';
        text += "0123456789ABCDEF"[byte / 16];
        text += "0123456789ABCDEF"[byte % 16];
      }
    }
    return text;
  }
};

// A GlobalId as a field: its text.
template <>
struct Argument<GlobalId> {
  // The type in JSON.
  using Wire = std::string;
  // Returns "gid://app/model/id".
  static Wire write(const GlobalId& id) { return id.text(); }
  // Throws std::invalid_argument if `text` is no GlobalID.
  static GlobalId read(const Wire& text) { return GlobalId::parse(text); }
};

}  // namespace brood
