#include <algorithm>
#include <set>

#include "config/codes.h"
#include "config_support.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::Findings;
using test::LoadText;
using test::Resource;

/// A text and the one finding about it.
struct Case {
  std::string text;
  std::string finding;
  std::string part_of_message;
  std::string part_of_hint;
};

std::string Daemon(std::string_view line) { return format("[daemon]\n{}\n{}", line, Resource("")); }
std::string Match(std::string_view lines) { return Resource("", lines); }
std::string Node(std::string_view lines, std::string_view match = "path = '/dev/x*'") {
  return Resource(format("[[resource.device_node]]\n{}", lines), match);
}
std::string Mount(std::string_view lines) {
  return Resource(format("[[resource.mount]]\n{}", lines));
}
std::string Env(std::string_view line) { return Resource(format("[resource.env]\n{}", line)); }
std::string Health(std::string_view lines, std::string_view match = "path = '/dev/x*'") {
  return Resource(format("[resource.health]\n{}", lines), match);
}
std::string Hook(std::string_view hook, std::string_view lines) {
  return Resource(format("[resource.hooks.{}]\n{}", hook, lines));
}
std::string Annotation(std::string_view line) {
  return Resource(format("[resource.annotations]\n{}", line));
}
/// A resource with a key of its own in line 2, the name in line 3, the match from line 4.
std::string Key(std::string_view line) {
  return format("[[resource]]\n{}\nname = 'a.com/x'\n[[resource.match]]\npath = '/dev/x*'\n", line);
}
std::string Named(std::string_view name) {
  return format("[[resource]]\nname = '{}'\n[[resource.match]]\npath = '/dev/x*'\n", name);
}

std::vector<Case> Cases() {
  const std::string long_dir = "/" + std::string(50, 'd');
  return {
      // files
      {std::string(kLargestSource + 1, '\n'), "0:0 file-too-large", "larger", "directory"},
      {"# ok\na = \"\xff\"\n", "2:6 not-utf8", "UTF-8", "UTF-8"},
      {"a = 1\nb = = 2\n", "2:5 syntax", "", ""},
      {"# é\n\"é\" = \"é\" x\n", "2:13 syntax", "saw 'x'", ""},
      {"a = 1\n\xEF\xAD\xA6 = 1\n", "2:1 syntax", "beyond ASCII", ""},
      {"a = \"x\n", "1:7 syntax", "", "closing quote"},
      {"a = hello\n", "1:5 syntax", "", "quotes"},
      {Match("regex = \"/dev/ttyUSB\\d+\""), "4:22 syntax", "escape sequence", "single quotes"},
      {Match("path = '/dev/x'\n[resource.match]\npath = '/dev/y'"), "5:1 syntax", "",
       "[[resource.match]]"},
      {"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1", "1:34 syntax", "too many parts", ""},
      // shape
      {Key("nmae = 1"), "2:1 unknown-key", "[[resource]] has no key \"nmae\"", "`name`"},
      {Key("exclude = 'x'"), "2:1 unknown-key", "", "it belongs to [[resource.match]]"},
      {Key("\"né\" = 1"), "2:1 unknown-key", "", ""},
      {Resource("") + "[[match]]\npath = 'y'", "6:3 unknown-key", "", "write [[resource.match]]"},
      {Resource("") + "[env]\nA = 'y'", "6:2 unknown-key", "", "write [resource.env]"},
      {"[demon]\n", "1:2 unknown-key", "the top level", "`daemon`"},
      {Daemon("sockets = ''"), "2:1 unknown-key", "[daemon]", "`listen`"},
      {Match("path = '/dev/x'\nnumber = 1"), "5:1 unknown-key", "[[resource.match]]", ""},
      {Match("udev = 'tty'"), "4:8 wrong-type", "a table, not a string", "udev = {"},
      {Match("udev = { subsystm = 'tty' }"), "4:10 unknown-key", "[resource.match.udev]",
       "`subsystem`"},
      {Match("udev = { subsystem = 'a', ID_BUS = 'usb' }"), "4:27 unknown-key", "",
       "properties = { ID_BUS = \"…\" }"},
      {Match("udev = { subsystem = 'a', DRIVERS = 'x' }"), "4:27 unknown-key", "", "`driver`"},
      {Match("udev = { subsystem = 'a', idVendor = 'x' }"), "4:27 unknown-key", "",
       "a sysfs attribute is written attributes = { idVendor = \"…\" }"},
      {Match("udev = { subsystem = 'a', type = '1' }"), "4:27 unknown-key", "",
       "[[resource.match]]; a sysfs attribute is written attributes = { type = \"…\" }"},
      {Match("udev = { properties = { ID_MODEL = 3 } }"), "4:36 wrong-type", "", ""},
      {Key("topology = 'yes'"), "2:12 wrong-type", "boolean", ""},
      {Key("preferred_allocation = 'near'"), "2:24 unknown-value", "", "`packed`"},
      {Resource("[resource.limits]\nopen = true"), "5:11 unknown-key", "limits", ""},
      {Key("replicas = '2'"), "2:12 wrong-type", "a whole number, not a string", "without quotes"},
      {Key("replicas = 1.5"), "2:12 wrong-type", "not a number with a fraction", ""},
      {Key("description = 2020-01-01"), "2:15 wrong-type", "a date", ""},
      {Key("on_nodes = 'a'"), "2:12 wrong-type", "list of strings, not a string", "on_nodes = ["},
      {Key("cdi_devices = [1]"), "2:16 wrong-type", "not an integer", ""},
      {Match("path = 3"), "4:8 wrong-type", "string or list of strings", ""},
      {Env("A = 1"), "6:5 wrong-type", "\"env.A\" takes a string", "env.A = \"…\""},
      {Resource("[resource.mount]\nhost_path = '/x'"), "5:1 wrong-type", "list of tables, not a",
       "[[resource.mount]]"},
      {Resource("[resource.device_node]\ncontainer_path = '/dev/{name}'"), "5:1 wrong-type",
       "list of tables, not a table", "[[resource.device_node]]"},
      {"[[resource]]\nname = 'a.com/x'\n[resource.match]\npath = '/dev/x'", "3:1 wrong-type",
       "list of tables, not a table", "write [[resource.match]]"},
      {Resource("[[resource.env]]\nA = 'x'"), "5:1 wrong-type", "table of templates, not a list",
       "write [resource.env]"},
      {"[[resource]]\nname = 'a.com/x'\nmatch = ['x']", "3:10 wrong-type", "not a string",
       "[[resource.match]]"},
      {Daemon("device_metrics = 0"), "2:18 wrong-type", "boolean", "true or false"},
      {"[[daemon]]\n" + Resource(""), "1:1 wrong-type", "takes a table, not a list", "[daemon]"},
      {"[[resource]]\n[[resource.match]]\npath = '/dev/x'", "1:1 missing-key", "no \"name\"",
       "name = "},
      {"\n[[resource]]\nname = 'a.com/x'\n", "2:1 missing-key", "no \"match\"",
       "[[resource.match]]"},
      {"[[resource]]\nname = 'a.com/x'\nmatch = []\n", "3:9 missing-key", "no \"match\"", ""},
      {Mount("container_path = '/x'"), "5:1 missing-key", "[[resource.mount]] has no \"host_path\"",
       ""},
      {Key("replicas = 0"), "2:12 out-of-range", "too little", "1 to 10000"},
      {Key("replicas = 10001"), "2:12 out-of-range", "too much", ""},
      {Key("max_per_container = -1"), "2:21 out-of-range", "", ""},
      {Match("count = 0"), "4:9 out-of-range", "", ""},
      {Match("count = 10001"), "4:9 out-of-range", "", ""},
      {Daemon("rescan = '999ms'"), "2:10 out-of-range", "999ms", "1s to 24h"},
      {Key("forget_after = '0s'"), "2:16 out-of-range", "", ""},
      {Match("path = '/dev/x'\ntype = 'devise'"), "5:8 unknown-value", "", "`device`"},
      {Match("path = '/dev/x'\ntype = 'whatever'"), "5:8 unknown-value", "",
       "`device`, `file`, `directory` or `any`"},
      {Daemon("rescan = '5 m'"), "2:10 bad-duration", "5 m", "30s"},
      {Key("forget_after = '10'"), "2:16 bad-duration", "", ""},
      {Key("forget_after = '-1s'"), "2:16 bad-duration", "", ""},
      // [daemon]
      {Daemon("listen = '9478'"), "2:10 bad-listen-address", "", "[::]:9478"},
      {Daemon("listen = '::1:9478'"), "2:10 bad-listen-address", "", ""},
      {Daemon("listen = '1.2.3:9478'"), "2:10 bad-listen-address", "", ""},
      {Daemon("listen = '[::]:65536'"), "2:10 bad-listen-address", "", ""},
      {Daemon("kubelet_dir = '" + long_dir + "'"), "2:15 socket-path-too-long", "51 bytes", "50"},
      {Daemon("kubelet_dir = 'x'"), "2:16 bad-path", "absolute", ""},
      {Daemon("host_root = '/a/../b'"), "2:17 bad-path", "..", ""},
      // names and matches
      {Named("noslash"), "2:8 bad-resource-name", "one slash", "example.com/serial"},
      {Named("x.kubernetes.io/y"), "2:8 bad-resource-name", "kubernetes.io", ""},
      {Named("A.com/x"), "2:8 bad-resource-name", "lower-case", ""},
      {Named("a.com/-x"), "2:8 bad-resource-name", "begin", ""},
      {Named("requests.a/b"), "2:8 bad-resource-name", "requests.", ""},
      {Named(""), "2:8 bad-resource-name", "", ""},
      {Named("a.com/x") + Resource("", "path = '/dev/y'"), "6:8 duplicate-resource",
       "already defined at test.toml:2", ""},
      {Match(""), "3:1 match-source", "no source", "may also stand beside"},
      {Match("path = '/dev/x'\nregex = '/dev/y'"), "3:1 match-source", "several",
       "keep `path` or `regex`;"},
      {Match("count = 3\ntype = 'any'"), "5:8 not-with-source", "\"type\"", ""},
      {Match("count = 3\nid = 'a'"), "5:6 not-with-source", "\"id\"", ""},
      {Match("count = 3\nexclude = '/dev/x'"), "5:11 not-with-source", "\"exclude\"", ""},
      {Match("count = 3\ngroup_by = 'name'"), "5:12 not-with-source", "\"group_by\"", ""},
      {Match("count = 3\nusb = '0403:6001'"), "5:7 not-with-source", "\"usb\"", ""},
      {Match("count = 3\nudev = { driver = 'x' }"), "5:8 not-with-source", "\"udev\"", ""},
      {Match("usb = '0403:6001'\ntype = 'any'"), "5:8 not-with-source", "\"type\"", ""},
      {Match("usb = '0403:6001'\npci = '10ee:5000'"), "3:1 match-source", "several",
       "keep `usb` or `pci`;"},
      {Match("path = '/dev/x*'\nserial = 'A*'"), "5:10 needs-key", "\"usb\"", "*:*"},
      {Match("command = ['x']\nusb = '0403:6001'"), "5:7 not-with-source", "\"command\"", ""},
      {Match("command = ['x']\npath = '/dev/x'"), "3:1 match-source", "several", ""},
      {Match("command = []"), "4:11 bad-command", "no program", "list-ports"},
      {Match("command = ['', 'x']"), "4:11 bad-command", "no program", ""},
      {Match("command = \"x\""), "4:11 wrong-type", "list of strings", "command = ["},
      {Match("command = [\"x\", \"a\\u0000\"]"), "4:17 bad-command", "NUL", ""},
      {Match("path = '/dev/x*'\ntimeout = '1s'"), "5:11 needs-key", "\"command\"", ""},
      {Match("command = ['x']\ntimeout = '10m'"), "5:11 out-of-range", "", ""},
      {Match("usb = '403:6001'"), "4:7 bad-device-numbers", "lsusb", "0403:6001"},
      {Match("usb = '0x0403:6001'"), "4:7 bad-device-numbers", "", ""},
      {Match("usb = '0403'"), "4:7 bad-device-numbers", "", ""},
      {Match("pci = '10ee:50g0'"), "4:7 bad-device-numbers", "lspci", "10ee:*"},
      {Match("path = '/dev/x*'\npci = '+123:5000'"), "5:7 bad-device-numbers", "", ""},
      {Match("usb = '*:*'\nserial = 'A['"), "5:12 bad-glob", "", ""},
      {Match("udev = {}"), "4:8 no-condition", "every device", "subsystem"},
      {Match("path = '/dev/x*'\nudev = { subsystem = [] }"), "5:8 no-condition", "", ""},
      {Match("udev = { subsystem = 'a', attributes = { '../x' = '1' } }"), "4:42 bad-path",
       "attribute", "idVendor"},
      {Match("udev = { subsystem = 'x['  }"), "4:24 bad-glob", "", ""},
      {Match("udev = { driver = 'ftdi_sio' }"), "4:8 needs-key", "all that it sits on",
       "subsystem"},
      {"[[resource]]\nname = 'a.com/x'\nexclusive = true\n[[resource.match]]\ncommand = ['x']\n",
       "3:13 not-with-source", "\"command\"", "exclude"},
      {Match("count = 3\nrequire = '/dev/x'"), "5:11 not-with-source", "\"require\"", ""},
      {Match("path = '/dev/x*'\nrequire = '/dev/['"), "5:17 bad-glob", "", ""},
      {Match("path = '/dev/x*'\ngroup_by = '{name}'"), "5:12 unknown-variable", "not a template",
       "without braces"},
      {Match("path = '/dev/x*'\ngroup_by = 'nam'"), "5:12 unknown-variable", "", "`name`"},
      {Match("path = '/dev/x*'\ngroup_by = 'slot'"), "5:12 unknown-variable", "not known", ""},
      {Match("path = ['/dev/x', 'dev/y']"), "4:20 bad-glob", "begin with", "the whole path"},
      {Match("path = '/dev/x/../y*'"), "4:16 bad-glob", "\"..\"", "that it leads to"},
      {Match("path = '/dev/[a'"), "4:14 bad-glob", "never closed", "globs know"},
      {Match("path = \"/dev/\\u0041[a\""), "4:8 bad-glob", "", ""},
      {Match("path = '''/dev/[a'''"), "4:8 bad-glob", "", ""},
      {Match("path = '/dev/x*'\nexclude = ['/dev/x1', '/dev/{a']"), "5:29 bad-glob", "", ""},
      {Key("on_nodes = ['rack-[']"), "2:19 bad-glob", "", ""},
      {Match("regex = '/dev/[z-a]'"), "4:16 bad-regex", "range", "RE2"},
      {Match("regex = 'dev/x'"), "4:10 bad-regex", "begin with", "the directory"},
      {Match("regex = '^/dev/x$'"), "4:10 bad-regex", "begin with", "leave out ^ and $"},
      {Match("regex = \"/dev/\\\\d[\""), "4:9 bad-regex", "", ""},
      {Match("regex = '/dev/(?P<name>.)'"), "4:19 reserved-variable", "\"name\"", "another name"},
      {Match("path = '/dev/foo/'"), "4:17 matches-nothing", "slash", ""},
      {Match("path = []"), "4:8 matches-nothing", "empty", ""},
      {Match("path = '/dev/x*'\nexclude = '/dev/x*'"), "5:11 matches-nothing", "excluded",
       "test.toml:4"},
      {Match("path = ['/dev/x1', '/dev/x2']\nexclude = '/dev/x?'"), "5:11 matches-nothing",
       "excluded", ""},
      {Match("regex = '/dev//x\\d'"), "4:14 matches-nothing", "//", ""},
      {Match("regex = '/dev/\\.\\./x'"), "4:10 matches-nothing", "..", ""},
      {Match("path = '/dev/x*'\nudev = { subsystem = 'net' }"), "5:8 matches-nothing",
       "no path is a network interface", "udev finds it alone"},
      {Match("regex = '/dev/x/'"), "4:16 matches-nothing", "slash", ""},
      {Key("on_nodes = []"), "2:12 matches-nothing", "empty", "all nodes"},
      // templates
      {Env("A = 'x{'"), "6:7 bad-template", "never closed", "{slot:02}"},
      {Env("A = 'x}'"), "6:7 bad-template", "closes nothing", ""},
      {Env("A = '{0}'"), "6:7 bad-template", "positions", ""},
      {Env("A = \"x\\u0000\""), "6:5 bad-template", "NUL", ""},
      {Env("A = '" + std::string(4097, 'x') + "'"), "6:5 bad-template", "longer", ""},
      {Match("path = '/dev/x*'\nid = ''"), "5:6 bad-template", "empty", ""},
      {Env("A = 'x{pth}'"), "6:8 unknown-variable", "\"pth\"", "`path`"},
      {Env("A = '{card}'"), "6:7 unknown-variable", "", "`real_path`"},
      {Env("A = '{pci_address}'"), "6:7 unknown-variable", "", "add usb = \"*:*\", pci"},
      {Env("A = '{ID_SERIAL}'"), "6:7 unknown-variable", "", "{ properties = { ID_SERIAL"},
      {Match("path = '/dev/x*'\nid = '{usb_port}'"), "5:8 unknown-variable", "", "to the match"},
      {Resource("[resource.env]\nA = '{usb_port}'", "count = 2"), "6:7 unknown-variable", "",
       "there are `id`"},
      {Resource("[resource.env]\nA = '{path}'", "count = 2"), "6:7 unknown-variable", "",
       "use {id} or {index}"},
      {Resource("[resource.env]\nA = '{numa_node}'", "count = 2"), "6:7 unknown-variable",
       "no match supplies", "there are `id`"},
      {Resource("[resource.env]\nA = '{name}'", "udev = { subsystem = 'net' }"),
       "6:7 unknown-variable", "\"name\"", "use {INTERFACE} or {id}"},
      {Resource("[resource.env]\nA = '{path}'", "pci = '*:*'\nudev = { subsystem = ['net'] }"),
       "7:7 unknown-variable", "\"path\"", "use {INTERFACE} or {id}"},
      {Match("udev = { subsystem = 'net' }\nid = '{name}'"), "5:8 unknown-variable", "",
       "use {INTERFACE}"},
      {Env("A = \"\\t{pth}\""), "6:5 unknown-variable", "", ""},
      {Env("'A_{crd}' = 'x'"), "6:5 unknown-variable", "", ""},
      {Match("path = '/dev/x*'\nid = '{slot}'"), "5:8 unknown-variable", "not known yet", "path"},
      {Env("A = 'é{pth}'"), "6:9 unknown-variable", "", ""},
      {Env("A = '{name:d}'"), "6:7 bad-format", "text", ""},
      {Env("A = '{slot:s}'"), "6:7 bad-format", "a number", ""},
      {Env("A = '{slot:99999}'"), "6:7 bad-format", "width", ""},
      {Env("A = '{slot:9999}'"), "6:7 bad-format", "", ""},
      // paths and permissions
      {Node("host_path = 'dev/{slot}'"), "6:14 bad-path", "absolute", ""},
      {Node("host_path = '{name}'"), "6:14 bad-path", "absolute", ""},
      {Node("host_path = '/dev/../{name}'"), "6:19 bad-path", "..", ""},
      {Node("container_path = ''"), "6:19 bad-path", "empty", ""},
      {Mount("host_path = '/a/..'"), "6:17 bad-path", "..", ""},
      {Mount("host_path = '/'"), "6:14 bad-path", "root", ""},
      {Mount("host_path = '/a'\ncontainer_path = 'a'"), "7:19 bad-path", "absolute", ""},
      {Mount("host_path = \"/a\\u0001\""), "6:13 bad-path", "control", ""},
      {Node("permissions = ''"), "6:15 bad-permissions", "", "\"rw\""},
      {Node("permissions = 'rx'"), "6:15 bad-permissions", "", ""},
      {Node("permissions = 'rr'"), "6:15 bad-permissions", "", ""},
      {Node("permissions = 'rw'", "count = 2"), "5:1 no-host-node", "no node", "host_path"},
      {Node("permissions = 'rw'", "udev = { subsystem = 'net' }"), "5:1 no-host-node", "no node",
       "host_path"},
      // env, annotations, CDI
      {Env("'9A' = 'x'"), "6:2 bad-env-name", "", ""},
      {Env("'A-B' = 'x'"), "6:3 bad-env-name", "", ""},
      {Env("'' = 'x'"), "6:2 bad-env-name", "empty", ""},
      {Env("PATH = 'x'"), "6:1 reserved-env", "PATH", ""},
      {Env("LD_LIBRARY_PATH = 'x'"), "6:1 reserved-env", "", ""},
      {Env("LD_PRELOAD = 'x'"), "6:1 reserved-env", "", ""},
      {Annotation("'a b' = 'x'"), "6:3 bad-annotation-key", "", ""},
      {Annotation("'A.com/x' = 'x'"), "6:2 bad-annotation-key", "before the slash", ""},
      {Annotation("'a.com/x/y' = 'x'"), "6:9 bad-annotation-key", "", ""},
      {Annotation("'" + std::string(64, 'x') + "' = 'x'"), "6:2 bad-annotation-key", "63", ""},
      {Key("cdi_devices = ['vendor.com/class']"), "2:17 bad-cdi-name", "vendor/class=name", ""},
      {Key("cdi_devices = ['9v/class=x']"), "2:17 bad-cdi-name", "vendor", ""},
      {Key("cdi_devices = ['v/c=x y']"), "2:22 bad-cdi-name", "", ""},
      {Key("cdi_devices = ['v/c=']"), "2:20 bad-cdi-name", "empty", ""},
      // warnings
      {"# nothing\n", "0:0 no-resources", "", "[[resource]]"},
      {Match("path = '/dev/x*'\nid = 'x'"), "5:6 constant-id", "same ID", "{name}"},
      {Node("container_path = '/dev/c{c}-{slot}'", R"(regex = '/dev/(?P<k>\w)(?P<c>\d)'
group_by = 'c')"),
       "7:18 container-path-clash", "a device with several nodes", "one node this does no harm"},
      {Node("container_path = '/dev/c{slot}'", "usb = '*:*'"), "6:18 container-path-clash",
       "a device with several nodes", "{name}"},
      {Env("A = '{name}'") + "[[resource.match]]\ncount = 3", "7:1 missing-variable", "\"name\"",
       "{id}"},
      {Node("container_path = '/dev/x'"), "6:18 container-path-clash", "two devices",
       "max_per_container = 1"},
      {Mount("host_path = '/a/{name}'\ncontainer_path = '/a'"), "7:18 container-path-clash", "",
       ""},
      {Mount("host_path = '/a'\n[[resource.mount]]\nhost_path = '/b'\ncontainer_path = '/a'"),
       "9:18 container-path-clash", "already taken at test.toml:6", ""},
      {Health("period = '10s'"), "5:1 probe-kind", "no way", "exactly one"},
      {Health("open = false"), "5:1 probe-kind", "no way", ""},
      {Health("open = true\nfile = '/x'\nequals = ''"), "5:1 probe-kind", "more than one", ""},
      {Health("command = []"), "6:11 bad-command", "no program", "card-ok"},
      {Health("command = ['/bin/x', '{slot}']"), "6:24 unknown-variable", "in a container", "path"},
      {Health("command = ['/bin/x', '{nam}']"), "6:24 unknown-variable", "\"nam\"", "name"},
      {Health("command = ['/bin/x', '{']"), "6:23 bad-template", "", ""},
      {Health("open = true", "count = 3"), "6:8 no-host-node", "no node", "command or a file"},
      {Health("open = true\nequals = 'x'"), "7:10 needs-key", "\"file\"", ""},
      {Health("file = '/sys/x'"), "6:8 needs-key", "\"equals\" or \"matches\"", "up"},
      {Health("file = '/sys/x'\nequals = 'a'\nmatches = 'b'"), "6:8 needs-key", "exclude", ""},
      {Health("file = 'sys/{name}'\nequals = 'a'"), "6:9 bad-path", "", "whole path"},
      {Health("file = '/sys/x'\nmatches = 'a('"), "7:12 bad-regex", "", "RE2"},
      {Health("open = true\nperiod = '1ms'"), "7:10 out-of-range", "too little", "100ms"},
      {Health("open = true\nbefore_first = 'unknown'"), "7:16 unknown-value", "", "unhealthy"},
      {Health("open = true\nfailure_threshold = 0"), "7:21 out-of-range", "", ""},
      {Health("http = 'x'\nopen = true"), "6:1 unknown-key", "http", ""},
      {Hook("pre_start", "timeout = '1s'"), "5:1 missing-key", "command", ""},
      {Hook("pre_start", "command = ['x']\ntimeout = '30s'"), "7:11 out-of-range", "too much",
       "27s"},
      {Hook("release", "command = ['x', '{replica}']"), "6:19 unknown-variable", "container", ""},
      {Hook("pre_start", "command = ['mkfs {path}']"), "6:17 bad-command", "blank", "no shell"},
      {Hook("pre_start", "command = ['bin/x', '{path}']"), "6:12 bad-command", "not absolute",
       "PATH"},
      {Hook("pre_start", "command = 'x'"), "6:11 wrong-type", "", ""},
      {Resource("[resource.hooks]"), "5:1 needs-key", "no hook", "leave the section out"},
      {Health("command = 'x'"), "6:11 wrong-type", "", ""},
      {Hook("release", "command = ['']"), "6:11 bad-command", "", "card-wipe"},
      {Hook("allocate", "command = ['x', '{slot}']"), "5:1 slow-admission", "5s", "pre_start"},
      {"[daemon]\npod_resources = ''\n" + Hook("release", "command = ['x']"), "7:1 needs-key",
       "turned off", ""},
      {"[daemon]\npod_resources = 'x'\n" + Resource(""), "2:18 bad-path", "", "whole path"},
      {Named("a.com/y") + Resource(""), "8:8 shared-node", "a.com/y, by test.toml:4", "exclude"},
      {Named("a.com/y") + Resource("", "path = '/dev/x1'"), "4:8 shared-node", "/dev/x1", ""},
  };
}

TEST(Diagnostics, PointAtEachMistake) {
  for (const Case& c : Cases()) {
    const std::string shown = c.text.substr(0, 400);
    const Loaded loaded = LoadText(c.text);
    ASSERT_EQ(Findings(loaded), std::vector<std::string>{c.finding})
        << shown << "\n"
        << loaded.diagnostics.RenderText();
    const Diagnostic d = loaded.diagnostics.Sorted().front();
    EXPECT_EQ(loaded.model.has_value(), d.severity == Severity::kWarning) << shown;
    EXPECT_NE(d.message.find(c.part_of_message), std::string::npos) << d.message;
    EXPECT_NE(d.hint.find(c.part_of_hint), std::string::npos) << shown << "\nhint: " << d.hint;
    EXPECT_FALSE(d.message.empty() || d.message.ends_with('.')) << d.message;
  }
}

/// Codes whose tests need files, or more text than fits in a table; see load_test.cc.
constexpr std::string_view kTestedElsewhere[] = {"unreadable-file",    "no-files",
                                                 "input-too-large",    "duplicate-section",
                                                 "too-many-resources", "too-many-findings"};

TEST(Diagnostics, EveryCodeIsTested) {
  std::set<std::string_view> missing;
  for (const CodeInfo& code : AllCodes()) missing.insert(code.name);
  const std::vector<Case> cases = Cases();
  for (const Case& c : cases) {
    missing.erase(std::string_view(c.finding).substr(c.finding.find(' ') + 1));
  }
  for (const std::string_view name : kTestedElsewhere) missing.erase(name);
  EXPECT_TRUE(missing.empty()) << *missing.begin();
}

TEST(Diagnostics, AreAllReportedAtOnceAndInOrder) {
  const Loaded loaded = LoadText(R"([daemon]
rescan = "soon"

[[resource]]
name = "example.com/serial"
replicas = "two"
  [[resource.match]]
  regex = '/dev/tty(?P<port>\d+'
  [[resource.device_node]]
  container_pth = "/dev/serial"
  permissions = "rwx"
)");
  EXPECT_EQ(Findings(loaded),
            (std::vector<std::string>{"2:10 bad-duration", "6:12 wrong-type", "8:12 bad-regex",
                                      "10:3 unknown-key", "11:17 bad-permissions"}));
}

TEST(Diagnostics, DoNotFollowFromOneAnother) {
  // What a broken match would have supplied is not unknown, and a mistyped source not missing.
  EXPECT_EQ(Findings(LoadText(Resource("[resource.env]\nA = '{card}'", "regex = '/dev/(?P<card>'")))
                .size(),
            1u);
  EXPECT_EQ(Findings(LoadText(Resource("[resource.env]\nA = '{ID_SERIAL}'", "udev = {}"))),
            (std::vector<std::string>{"4:8 no-condition"}));
  EXPECT_EQ(Findings(LoadText(Node("host_pth = '/dev/x'", "count = 2"))),
            (std::vector<std::string>{"6:1 unknown-key"}));
}

TEST(Diagnostics, OfTheGoodPartsOfABrokenValueAreReportedToo) {
  EXPECT_EQ(Findings(LoadText(Match("path = [3, '/dev/[']"))),
            (std::vector<std::string>{"4:9 wrong-type", "4:18 bad-glob"}));
  EXPECT_EQ(
      Findings(LoadText(Env("A = 3\nPATH = '{nme}'"))),
      (std::vector<std::string>{"6:5 wrong-type", "7:1 reserved-env", "7:10 unknown-variable"}));
}

TEST(Diagnostics, RenderAsText) {
  EXPECT_EQ(
      LoadText(Env("\tCARD = 'é{crd:02}'  # card")).diagnostics.RenderText(),
      "test.toml:6:13: error[unknown-variable]: no match supplies the variable \"crd\"\n"
      "    \tCARD = 'é{crd:02}'  # card\n"
      "    \t          ^\n"
      "    hint: there are `id`, `resource`, `node_name`, `index`, `slot`, `replica`, `path`, "
      "`real_path`, `name`, `major`, `minor` or `numa_node`\n");
}

TEST(Diagnostics, OfVeryManyStopAtALimit) {
  std::string text = Resource("");
  for (int i = 0; i < 5000; ++i) text += format("k{} = 1\n", i);
  const Loaded loaded = LoadText(text);
  const auto findings = Findings(loaded);
  ASSERT_EQ(findings.size(), 201u);
  EXPECT_EQ(findings.back(), "206:1 too-many-findings");
  EXPECT_FALSE(loaded.model);
}

TEST(Diagnostics, OfVeryManyWarningsDoNotBecomeErrors) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += Named(format("a.com/x{}", i));
  const Loaded loaded = LoadText(text);
  EXPECT_EQ(Findings(loaded).size(), 201u);
  EXPECT_TRUE(loaded.model);
}

}  // namespace
}  // namespace patchbay
