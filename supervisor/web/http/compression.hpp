#pragma once

#include <string_view>

#include "supervisor/web/http/http_message.hpp"

namespace brood {

// Whether a client with this Accept-Encoding (RFC 9110, 12.5.3) accepts gzip.
bool takes_gzip(std::string_view accept_encoding);

// The answer as gzip, where it is a text that gets shorter by it and the client takes it.  What another site may have
// asked for stays as it is: an eavesdropper on an encrypted line learns from the length of a compressed answer whether
// words which that site chose are in it as well as its own (BREACH).  Browsers say who asked; files that everybody may
// have are compressed for all.
HttpResponse compressed_for(const HttpRequest& request, HttpResponse response);

}  // namespace brood
