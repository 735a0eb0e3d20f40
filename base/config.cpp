// SPDX-License-Identifier: Apache-2.0
#include "base/config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/message.hpp"

namespace paceline::base {
namespace {

struct Descriptor {
  int fd = -1;
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

/// Adds `shift` to the file numbers of a tree; with `forget`, makes its places those of --set.
void renumber(Value& value, int shift, bool forget) {
  const auto change = [&](Place& place) {
    place = forget ? Place{} : Place{place.line, place.column, place.file + shift};
  };
  change(value.place);
  for (Value& item : value.items) renumber(item, shift, forget);
  for (Field& field : value.fields) {
    change(field.place);
    renumber(field.value, shift, forget);
  }
}

Field* find_field(Value& map, std::string_view key) {
  const auto found = std::find_if(map.fields.begin(), map.fields.end(),
                                  [&](const Field& f) { return f.key == key; });
  return found == map.fields.end() ? nullptr : &*found;
}

/// The item a path part names, or null.
const Value* child(const Value& value, std::string_view part) {
  if (value.kind == Value::Kind::Map) {
    for (const Field& field : value.fields) {
      if (field.key == part) return &field.value;
    }
    return nullptr;
  }
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool whole = code == std::errc() && end == part.data() + part.size() && !part.empty();
  return whole && index < value.items.size() ? &value.items[index] : nullptr;
}

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return parts;
}

/// A part of a path as people type it: printable, without spaces.
bool plain_key(std::string_view part) {
  for (std::size_t i = 0; i < part.size();) {
    const std::size_t length = utf8_length(part, i);
    if (length == 0 || static_cast<unsigned char>(part[i]) <= 0x20 || part[i] == 0x7F) return false;
    i += length;
  }
  return !part.empty() && part.size() <= 256;
}

/// Text that YAML reads back as the same plain scalar wherever it stands.
bool plain_scalar(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (text.empty() || text.size() > 256 || text.back() == ' ' || text == "null" || text == "Null" ||
      text == "NULL") {
    return false;
  }
  std::string_view rest = text;
  while (!rest.empty() && (rest[0] == '-' || rest[0] == '+' || rest[0] == '.')) {
    rest.remove_prefix(1);
  }
  if (rest.empty() || !letter(rest[0])) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || std::string_view("_./+- ").find(c) != std::string_view::npos;
  });
}

void print_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
}

void print(std::string& out, const Value& value) {
  const auto text = [&](const std::string& s, bool quoted) {
    if (!quoted && plain_scalar(s)) {
      out += s;
    } else {
      print_quoted(out, s);
    }
  };
  switch (value.kind) {
    case Value::Kind::Null:
      out += "null";
      return;
    case Value::Kind::Scalar:
      text(value.text, value.quoted);
      return;
    case Value::Kind::List:
      out += '[';
      for (const Value& item : value.items) {
        if (&item != &value.items.front()) out += ", ";
        print(out, item);
      }
      out += ']';
      return;
    case Value::Kind::Map:
      break;
  }
  std::vector<const Field*> order;
  for (const Field& field : value.fields) order.push_back(&field);
  std::sort(order.begin(), order.end(),
            [](const Field* a, const Field* b) { return a->key < b->key; });
  out += '{';
  for (const Field* field : order) {
    if (field != order.front()) out += ", ";
    text(field->key, false);
    out += ": ";
    print(out, field->value);
  }
  out += '}';
}

}  // namespace

std::string place_text(const Document& document, Place place) {
  if (place.line == 0) return "--set";
  const auto merged = static_cast<std::size_t>(place.file);
  const std::string& file = place.file == 0 ? document.file : document.merged.at(merged - 1);
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string read_file(const std::string& path, std::size_t max_bytes) {
  const std::string shown = path.empty() ? "''" : one_line(path);
  if (path.find('\0') != std::string::npos) throw Error(shown, "no such file");
  // Non-blocking: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.fd < 0) {
    if (errno == ENOENT) throw Error(shown, "no such file");
    throw Error(shown, std::string("cannot be opened: ") + std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) {
    throw Error(shown, std::string("cannot be read: ") + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) throw Error(shown, "is a folder, not a file");
  if (!S_ISREG(status.st_mode)) throw Error(shown, "is a device or pipe, not a regular file");
  std::string text;
  const std::string too_large = "larger than " + std::to_string(max_bytes) + " bytes";
  if (static_cast<std::size_t>(status.st_size) > max_bytes) throw Error(shown, too_large);
  text.reserve(static_cast<std::size_t>(status.st_size) + 1);
  const auto buffer = std::make_unique<char[]>(1 << 16);
  while (true) {
    const ssize_t got = ::read(file.fd, buffer.get(), 1 << 16);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(shown, std::string("cannot be read: ") + std::strerror(errno));
    text.append(buffer.get(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) throw Error(shown, too_large);
  }
}

Document read_document(const std::string& path, const Limits& limits) {
  const std::string text = read_file(path, limits.bytes);
  const std::string shown = one_line(path);
  return path.ends_with(".json") ? parse_json(text, shown, limits)
                                 : parse_yaml(text, shown, limits);
}

void set_path(Document& document, std::string_view path, std::string_view yaml_value) {
  const std::string where = "--set " + one_line(path);
  const std::vector<std::string_view> parts = split(path);
  if (parts.size() > static_cast<std::size_t>(Limits{}.depth)) throw Error(where, "path too long");
  for (const std::string_view part : parts) {
    if (!plain_key(part)) {
      throw Error(where, "not a path", "write it as parallel.tp=4");
    }
  }
  Value value = parse_yaml(yaml_value, where).root;
  renumber(value, 0, true);
  Value* node = &document.root;
  std::string done;
  for (const std::string_view part : parts) {
    if (node->kind == Value::Kind::Null) node->kind = Value::Kind::Map;
    if (node->kind == Value::Kind::Scalar) {
      throw Error(where, (done.empty() ? "the document" : done) + " is neither a map nor a list");
    }
    if (node->kind == Value::Kind::Map) {
      Field* field = find_field(*node, part);
      if (field == nullptr) {
        node->fields.push_back({std::string(part), {}, {}});
        field = &node->fields.back();
      }
      node = &field->value;
    } else {
      const Value* item = child(*node, part);
      if (item == nullptr) {
        throw Error(where, quote(part) + " is no item of the list " + done,
                    "it has " + std::to_string(node->items.size()) + " items, counted from 0");
      }
      node = &node->items[static_cast<std::size_t>(item - node->items.data())];
    }
    if (!done.empty()) done += '.';
    done += part;
  }
  *node = std::move(value);
}

const Value* find_path(const Value& root, std::string_view path) {
  const Value* node = &root;
  for (const std::string_view part : split(path)) {
    node = child(*node, part);
    if (node == nullptr) return nullptr;
  }
  return node;
}

void merge(Value& base, const Value& overlay) {
  if (base.kind != Value::Kind::Map || overlay.kind != Value::Kind::Map) {
    base = Value(overlay);  // a copy first: overlay may be a part of base
    return;
  }
  for (const Field& field : overlay.fields) {
    if (Field* mine = find_field(base, field.key)) {
      mine->place = field.place;
      merge(mine->value, field.value);
    } else {
      base.fields.push_back(field);
    }
  }
}

void merge(Document& base, const Document& overlay) {
  Value values = overlay.root;
  renumber(values, static_cast<int>(base.merged.size()) + 1, false);
  base.merged.push_back(overlay.file);
  base.merged.insert(base.merged.end(), overlay.merged.begin(), overlay.merged.end());
  merge(base.root, values);
}

std::string canonical_text(const Value& value) {
  std::string out;
  print(out, value);
  return out;
}

std::string hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(hash >> shift) & 15u];
  return out;
}

}  // namespace paceline::base
