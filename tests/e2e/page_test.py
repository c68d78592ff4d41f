"""The status page in a real browser, with a running daemon.

    page_test.py --write    updates the pictures in docs/images; review them before you commit
"""

import json
import os
import pathlib
import socket
import sys
import unittest

import host_tree
import support
from browser import Browser, skip_unless_browser
from support import SOURCE, Cluster, Daemon, Kubelet, resource

HERE = pathlib.Path(__file__).parent / "page"
IMAGES = SOURCE / "docs/images"

# Prints the faults of the cards to stderr, from a file next to it.
CARD_OK = """#!/bin/sh
grep "^$1 " "$(dirname "$0")/broken" | cut -d ' ' -f 2- | grep . && exit 1
exit 0
"""

# WCAG AA: 4.5 to 1, 3 to 1 for large text. Names each text that has less.
PARSE = "const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);"
GROUND = f"""(element) => {{
  {PARSE}
  for (let at = element; at; at = at.parentElement) {{
    const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
    if (a === 1) return [r, g, b];
  }}
  return [255, 255, 255];
}}"""
CONTRAST = """(() => {
  """ + PARSE + """
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = """ + GROUND + """;
  const poor = [];
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
    if (!text || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [one, two] = [light(parse(style.color)), light(ground(element))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) poor.push(`${text}: ${ratio.toFixed(2)}`);
  }
  return poor;
})()"""

RING_BOTTOM = """(({ outlineStyle, outlineWidth, outlineOffset }) =>
  document.activeElement.getBoundingClientRect().bottom +
    (outlineStyle === "none" ? Infinity : parseFloat(outlineWidth) + parseFloat(outlineOffset))
)(getComputedStyle(document.activeElement))"""

ROOM_FOR_PLACEHOLDER = """(() => {
  const [input, pen] = [at("text"), document.createElement("canvas").getContext("2d")];
  const { fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(input);
  pen.font = `${fontSize} ${fontFamily}`;
  return input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) -
    pen.measureText(input.placeholder).width;
})()"""

# How far the middle of a chevron, a corner of a square, is from where its square is, in px.
OFF = """((element) => {
  const { transform, width, height } = getComputedStyle(element, "::before");
  const { x, y } = new DOMMatrix(transform)
    .transformPoint({ x: parseFloat(width) / 4, y: parseFloat(height) / 4 });
  return Math.hypot(x, y);
})"""


class PageTest(support.TestCase):
    browser = None  # one for all tests

    def setUp(self):
        super().setUp()
        skip_unless_browser()
        if PageTest.browser is None:
            PageTest.browser = Browser()
            unittest.addModuleCleanup(PageTest.browser.__exit__)

    def open(self, daemon, address="", **more):
        answer = self.browser.do(open=f"http://{daemon.address()}/{address}", **more)
        if more.get("scripts", True):
            self.await_see("status !== null")
        return answer

    def await_see(self, expression, what=""):
        self.await_true(lambda: self.browser.see(expression), what or expression)

    def ask_again(self, expression):
        """Makes the page request the status without its pause until it shows the expected content."""
        self.await_true(lambda: self.browser.see(f"ask().then(() => {expression})"), expression)

    def assert_no_problems(self):
        self.assertEqual(self.browser.do(problems=True), [])

    def take(self, name):
        """Takes a picture, for the documents with --write."""
        into = IMAGES if "--write" in ARGUMENTS else self.dir
        into.mkdir(exist_ok=True)
        picture = into / f"{name}.png"
        self.browser.do(picture=str(picture))
        self.assertLess(picture.stat().st_size, 200_000, name)

    def files(self, *names):
        """Creates files that represent devices. Returns the match that finds them."""
        directory = self.dir / "host/srv"
        directory.mkdir(parents=True, exist_ok=True)
        for name in names:
            (directory / name).touch()
        return 'path = "/srv/*"\ntype = "file"'

    def daemon(self, text, *more, **env):
        config = self.config(f'[daemon]\nhost_root = "{self.dir}/host"\n{text}')
        return self.enterContext(Daemon(config, self.kubelet_dir, *more, **env))

    def card_ok(self, broken):
        script = self.dir / "card-ok"
        script.write_text(CARD_OK)
        script.chmod(0o755)
        self.break_cards(broken)
        return (f'[resource.health]\ncommand = ["{script}", "{{id}}"]\nperiod = "1s"\n'
                'failure_threshold = 1\n')

    def break_cards(self, broken):
        path = self.dir / "broken.new"
        path.write_text("".join(f"{card} {reason}\n" for card, reason in broken.items()))
        path.rename(self.dir / "broken")


class Page(PageTest):
    def test_filters_by_text_and_health(self):
        match = self.files(*(f"card{i}" for i in range(12)), "tape0")
        daemon = self.daemon(resource("example.com/card", match) +
                             self.card_ok({"card3": "no link", "card11": "too hot"}))
        self.open(daemon)
        self.ask_again("resources[0]?.sick === 2")
        self.assertEqual(len(self.browser.devices()), 13)
        self.browser.do(click="#text")
        self.browser.do(type="card1")
        self.assertEqual(self.browser.devices(), ["card1", "card10", "card11"])
        self.assertEqual(self.browser.texts("#count"), ["3 of 13 devices"])
        self.browser.do(choose=["#health", "unhealthy"])
        self.assertEqual(self.browser.devices(), ["card11"])
        self.await_see("location.hash === '#q=card1&health=unhealthy'")
        self.browser.do(click="#clear")
        self.assertEqual(len(self.browser.devices()), 13)
        self.browser.do(type="HOT")  # of the reason; the filter has the focus again
        self.assertEqual(self.browser.devices(), ["card11"])
        self.browser.do(type=" nothing")
        self.assertEqual(self.browser.devices(), [])
        self.assertEqual(len(self.browser.texts("#empty")), 1)
        self.open(daemon, "#q=srv/card&health=healthy")
        self.assertEqual(len(self.browser.devices()), 10)
        self.assert_no_problems()

    def test_supports_keyboard_navigation(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0", "card1")))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 2")
        self.browser.do(press="/")
        self.browser.do(type="card1")
        self.assertEqual(self.browser.devices(), ["card1"])
        self.browser.do(press="Escape")
        self.assertEqual(len(self.browser.devices()), 2)
        focus = "document.activeElement.textContent.trim()"
        for _ in range(20):
            self.browser.do(press="Tab")
            if self.browser.see(focus) == "card0":
                break
        self.assertEqual(self.browser.see(focus), "card0")
        self.assertNotEqual(self.browser.see(
            "getComputedStyle(document.activeElement).outlineStyle"), "none")
        self.browser.do(press="Enter")
        self.assertIn("/srv/card0", self.browser.texts(".details dd"))
        self.assertEqual(self.browser.see("document.activeElement.ariaExpanded"), "true")
        self.browser.do(press="Enter")
        self.assertEqual(self.browser.texts(".details"), [])

    def test_expanded_rows_do_not_change_column_widths(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0", "card1")))
        config = self.dir / "patchbay.toml"
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 2")
        heads = "[...document.querySelectorAll('th')].filter((e) => e.checkVisibility())"
        places = f"{heads}.map((e) => [e.offsetLeft, e.offsetWidth])"
        widths = ("['.resource', 'table', 'thead tr', 'tr.device', '.more']"
                  ".map((s) => document.querySelector(s).clientWidth)")
        for more, shown in (("", 4), (self.card_ok({}), 5)):  # without NUMA; with the last probe
            config.write_text(config.read_text() + more)
            self.ask_again(f"{heads}.length === {shown}")
            if more:  # an added row next to an open one
                self.assertEqual(len(set(self.browser.see(widths))), 1)
                self.browser.do(click=".toggle")
            closed = self.browser.see(places)
            self.browser.do(click=".toggle")
            self.assertEqual(self.browser.see(places), closed)
            self.assertEqual(len(set(self.browser.see(widths))), 1)

    def test_has_landmarks_and_roles_for_screen_readers(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")))
        for width in (1280, 390):
            self.open(daemon, width=width)
            self.ask_again("resources[0]?.devices.length === 1")
            self.assertEqual(self.browser.see("document.documentElement.lang"), "en")
            self.assertEqual(len(self.browser.texts("h1")), 1)
            self.assertEqual(self.browser.texts("h2"), ["example.com/card"])
            for selector in ("header", "main", "footer", "[role=search]", "#count[role=status]",
                             "#toast[role=status]",
                             '[role=table][aria-label="Devices of example.com/card"]',
                             "label[for=text]", "label[for=health]"):
                self.assertEqual(self.browser.see(
                    f"document.querySelectorAll({json.dumps(selector)}).length"), 1, selector)
            self.assertEqual(self.browser.see(
                "[...document.querySelectorAll('td')].map((e) => e.role)"),
                ["rowheader", *["cell"] * 5])

    def test_has_contrast_in_light_and_dark_mode(self):
        match = self.files(*(f"card{i}" for i in range(4)))
        (self.dir / "host/srv/gone").symlink_to("nowhere")
        daemon = self.daemon(resource("example.com/card", match) +
                             self.card_ok({"card3": "no link"}) +
                             resource("example.com/none", 'path = "/dev/none*"'))
        self.open(daemon)
        config = self.dir / "patchbay.toml"
        config.write_text(config.read_text() + "nonsense = 1\n")
        grounds = set()
        for dark in (False, True):
            self.open(daemon, dark=dark)
            self.ask_again("!status.config.successful && resources[0]?.sick === 1")
            self.browser.do(click="tr.sick .toggle")
            self.await_see("(([red, green]) => red > green)"  # and not green, as for healthy devices
                           f"(({GROUND})(document.querySelector('tr.sick.chosen td')))")
            self.assertEqual(self.browser.see(CONTRAST), [])
            grounds.add(self.browser.see("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(grounds), 2)

    def test_escapes_untrusted_markup(self):
        bad = "<img src=x onerror=alert(1)>"
        self.files("<script>alert(2)<", "&amp;<b>", "x' onclick='alert(3)")
        (self.dir / "host/srv/<svg onload=alert(4)>").symlink_to("nowhere")
        daemon = self.daemon(resource("example.com/card", 'path = "/srv/*"\ntype = "file"',
                                      f'description = "{bad}"') +
                             self.card_ok({".*": f"{bad}<script>alert(5)</script>"}) +
                             resource("example.com/none", f'path = "/dev/{bad}/*"') +
                             resource("example.com/lab", "count = 1",
                                      f'description = "{bad}"\non_nodes = ["elsewhere"]'),
                             NODE_NAME="<b>node")
        script = self.dir / "card-ok"
        script.write_text(f"#!/bin/sh\necho '{bad}'\nexit 1\n")
        self.open(daemon)
        self.ask_again("resources[0]?.sick === 3")
        for toggle in range(3):
            self.browser.see(f"document.querySelectorAll('.toggle')[{toggle}].click()")
        self.ask_again("status.transitions.length >= 3")
        self.browser.see("void document.querySelectorAll('.use').forEach((e) => e.click())")
        self.browser.see("void (at('hidden').open = true)")
        self.assertIn(bad, self.browser.texts(".transitions .reason")[0])
        self.assertIn(bad, self.browser.texts(".hidden-resources li")[0])
        self.assertIn(bad, self.browser.texts(".match .path")[0])
        self.assertEqual(self.browser.texts(".about"), [bad, ""])
        self.assertEqual(self.browser.texts("#node"), ["<b>node"])
        paths = self.browser.texts("td .path")
        self.assertEqual(sorted(paths), sorted(
            ["/srv/<script>alert(2)<", "/srv/&amp;<b>", "/srv/x' onclick='alert(3)"]))
        self.assertTrue(any(bad in reason for reason in self.browser.texts(".reason")))
        self.assertEqual(self.browser.texts(".rejected .path"), ["/srv/<svg onload=alert(4)>"])
        self.assertEqual(self.browser.see(
            "document.querySelectorAll('main img, main script, main svg, main b:not(.tile b)').length"), 0)
        self.browser.see(f"void (location.hash = '#q=' + encodeURIComponent({json.dumps(bad)}))")
        self.browser.see("void (location.hash = '#resource=" + "%3Cb%3E&device=%3Cb%3E')")
        self.assert_no_problems()

    def test_isolates_bidirectional_text(self):
        turning = "card\u202egnp.exe"
        match = self.files(turning)
        (self.dir / "host/srv/\u202egone").symlink_to("nowhere")
        daemon = self.daemon(resource("example.com/card", match))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 1")
        self.browser.do(click=".toggle")
        self.assertIn(f"/srv/{turning}", self.browser.texts("td .path"))
        for selector in ("td .path", ".reason", ".toggle", ".details dd", ".rejected .path"):
            self.assertEqual(self.browser.see(
                f"getComputedStyle(document.querySelector({json.dumps(selector)})).unicodeBidi"),
                "isolate", selector)

    def test_reports_a_missing_device_of_the_url(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")))
        self.open(daemon, "#resource=example.com%2Fcard&device=card7")
        self.ask_again("resources[0]?.devices.length === 1")
        said = ["example.com/card has no device card7"]
        self.assertEqual(self.browser.texts("#count"), said)
        self.ask_again("(etag = '', true)")
        self.ask_again("true")  # renewed and shown
        self.assertEqual(self.browser.texts("#count"), said)
        self.browser.do(click="#text")
        self.browser.do(type="card")
        self.assertEqual(self.browser.texts("#count"), ["1 of 1 device"])

    def test_filters_if_the_url_cannot_change(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0", "card1")))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 2")
        self.browser.see("void (tried = 0, history.replaceState ="
                         " () => { ++tried; throw new DOMException('too many', 'SecurityError'); })")
        self.browser.do(click="#text")
        self.browser.do(type="card1")
        self.assertEqual(self.browser.devices(), ["card1"])
        self.await_see("tried > 0")
        self.assert_no_problems()

    def test_retries_after_a_rendering_error(self):
        match = self.files("card0")
        daemon = self.daemon(resource("example.com/card", match))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 1")
        self.browser.see("void (kept = show, show = () => { show = kept; throw new Error('once'); })")
        self.files("card1")
        self.ask_again("document.querySelectorAll('tr.device').length === 2")

    def test_enforces_the_content_security_policy(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")))
        headers = self.open(daemon)["headers"]
        self.assertEqual(headers["x-content-type-options"], "nosniff")
        self.assertEqual(headers["referrer-policy"], "no-referrer")
        policy = headers["content-security-policy"]
        self.assertTrue(policy.startswith("default-src 'none'; "), policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("http", policy)
        self.assert_no_problems()
        for forbidden in ("document.body.innerHTML = '<b>x</b>'",
                          "new Function('return 1')()",
                          "document.body.append(Object.assign(document.createElement('script'), "
                          "{textContent: 'window.ran = 1'}))"):
            self.browser.see(f"void (() => {{ try {{ {forbidden} }} catch {{}} }})()")
        self.assertEqual(self.browser.see("typeof window.ran"), "undefined")
        self.assertNotEqual(self.browser.do(problems=True), [])

    def test_refresh_keeps_scroll_position_and_focus(self):
        match = self.files(*(f"card{i}" for i in range(150)))
        daemon = self.daemon(resource("example.com/card", match) + self.card_ok({}))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 150 &&"
                       " resources[0].devices.every((d) => d.last_probe)")
        self.browser.do(press="/")
        self.browser.do(type="card1")
        self.browser.see("rows = document.querySelectorAll('tr.device'); rows[30].scrollIntoView();"
                         "rows[31].querySelector('.toggle').click();"
                         "rows[31].querySelector('.toggle').focus();"
                         "getSelection().selectAllChildren(rows[33].querySelector('.path')); 1")
        place = ("({y: scrollY, filter: text.value, focus: document.activeElement.textContent,"
                 " open: [...document.querySelectorAll('.more')].length,"
                 " selection: String(getSelection())})".replace("text.value", "at('text').value"))
        before = self.browser.see(place)
        self.assertGreater(before["y"], 0)
        self.assertEqual(before["open"], 1)
        self.assertTrue(before["selection"].startswith("/srv/card1"), before)
        self.break_cards({"card1": "no link", "card140": "too hot"})
        self.ask_again("resources[0]?.sick === 2")
        self.files("card1000")
        self.ask_again("resources[0]?.devices.length === 151")
        after = self.browser.see(place)
        # A reason adds a line, so the visible rows may move slightly.
        self.assertLess(abs(after.pop("y") - before.pop("y")), 60)
        self.assertEqual(after, before)
        self.assertTrue(any("no link" in reason for reason in self.browser.texts(".reason")))

    def test_lists_problems_first_without_reordering(self):
        (self.dir / "host/srv").mkdir(parents=True)
        names = ("healthy", "link", "most", "sick")
        (self.dir / "host/srv/link0").symlink_to("nowhere")
        for name in ("healthy0", *(f"most{i}" for i in range(400)), "sick0"):
            (self.dir / "host/srv" / name).touch()
        daemon = self.daemon("".join(
            resource(f"example.com/{name}", f'path = "/srv/{name}*"\ntype = "file"') +
            self.card_ok({"sick0": "no link"}) * (name in ("sick", "healthy")) for name in names))
        self.open(daemon)
        self.ask_again("resources[3]?.sick === 1 && resources.every((r) => r.last_scan)")
        self.browser.see("void setFilter('', '')")  # the page began before the first probes ended

        def order():
            return [name.removeprefix("example.com/") for name in self.browser.texts(".resource h2")]

        self.assertEqual(order(), ["sick", "link", "healthy", "most"])
        self.break_cards({"healthy0": "too hot"})
        self.ask_again("resources[0].sick === 1 && resources[3].sick === 0")
        self.assertEqual(order(), ["sick", "link", "healthy", "most"])
        self.browser.do(click="button.tile.bad")
        self.assertEqual(order(), ["healthy"])
        self.browser.do(click="#clear")
        self.assertEqual(order(), ["healthy", "link", "most", "sick"])
        self.open(daemon)
        self.ask_again("resources[0]?.sick === 1")
        self.assertEqual(order(), ["healthy", "link", "most", "sick"])

    def test_filter_tiles_look_like_buttons(self):
        self.open(self.daemon(resource("example.com/card", self.files("card0"))))
        looks = self.browser.see("""[...document.querySelectorAll('.tile')].map((e) =>
            [e.tagName, getComputedStyle(e.querySelector('span')).textDecorationLine])""")
        self.assertEqual(looks, [["DIV", "none"], *[["BUTTON", "underline"]] * 4])

    def test_says_which_pod_has_an_interface(self):
        self.open(self.daemon(resource("example.com/lan", self.files("eth0"))))
        for in_pod, holders, place in ((False, [], "eth0"), (True, [], "eth0 (in a pod)"),
                                       (True, [{"namespace": "plant", "pod": "plc", "container": "c"}],
                                        "eth0 (in pod plant/plc)")):
            self.browser.see(f"""(() => {{
                const next = structuredClone(status);
                Object.assign(next.resources[0].devices[0], {{ in_pod: {json.dumps(in_pod)}, paths: [],
                  in_use_by: {json.dumps(holders)}, variables: {{ INTERFACE: "eth0" }} }});
                take(next);
              }})()""")
            self.assertEqual(self.browser.texts("tr.device .path"), [place])

    def fill_all_devices(self):
        """Adds a probe result, a holder and a reason to each device of a response. For the rendering time, the
        origin of the data does not matter."""
        self.browser.see("""void (kept = take, take = (next) => {
            for (const resource of next.resources) {
              for (const [i, device] of resource.devices.entries()) {
                device.health = i % 3 ? "Healthy" : "Unhealthy";
                device.reason = i % 3 ? "" : `${device.id}: no link`;
                device.last_probe = { at: next.generated_at, seconds: 0.01 * i, message: device.reason,
                                      result: i % 3 ? "success" : "failure" };
                device.in_use_by = [{ namespace: "default", pod: `pod-${i}`, container: "main" }];
              }
            }
            kept(next);
          }, etag = "")""")
        self.ask_again("resources.every((r) => r.devices.every((d) => d.held && d.last_probe))")

    def refresh_with_a_change(self, device):
        """A response with a new probe of all devices, in which `device` is unhealthy."""
        spent = self.browser.see(f"""(async () => {{
            const next = structuredClone(status);
            const later = new Date(Date.parse(next.generated_at) + 5000).toISOString();
            for (const one of next.resources.flatMap((r) => r.devices)) one.last_probe.at = later;
            Object.assign(next.resources[0].devices.find((d) => d.id === {json.dumps(device)}),
              {{ health: "Unhealthy", reason: "pulled out" }});
            const row = [...document.querySelectorAll("tr.device")]
              .find((row) => row.querySelector(".toggle").textContent === {json.dumps(device)});
            const shown = new Promise((resolve) =>
              new MutationObserver(resolve).observe(row, {{ subtree: true, childList: true }}));
            const began = performance.now();
            kept(next);
            await shown;
            void document.body.offsetHeight;
            return Math.round(performance.now() - began);
          }})()""")
        print(f"milliseconds for a refresh in which everything was probed: {spent}")
        self.assertIn("pulled out", self.browser.texts("tr.device .reason"))

    def test_handles_ten_thousand_devices(self):
        match = self.files(*(f"card{i}" for i in range(10000)))
        daemon = self.daemon(resource("example.com/card", match))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 10000")
        self.fill_all_devices()
        rows = "document.querySelectorAll('tr.device').length"
        self.assertLessEqual(self.browser.see(rows), 200)
        spent = self.browser.see("""(() => {
            const spent = [];
            for (const text of ["c", "ca", "card9", "card99", "card999", "card9999", ""]) {
              const began = performance.now();
              setFilter(text, "");
              void document.body.offsetHeight;
              spent.push(Math.round(performance.now() - began));
            }
            return spent;
          })()""")
        print(f"milliseconds for a key stroke among 10,000 devices: {spent}")
        self.browser.do(press="/")
        self.browser.do(type="card999")
        self.assertEqual(len(self.browser.devices()), 11)
        self.browser.do(press="Escape")
        self.browser.do(click=".rows-more button")
        self.assertEqual(self.browser.see(rows), 400)
        self.refresh_with_a_change("card0")
        self.open(daemon, "#resource=example.com%2Fcard&device=card7777")
        self.await_see("document.querySelector('tr.chosen .toggle')?.textContent === 'card7777'")
        self.assertTrue(self.browser.see(
            "(({top, bottom}) => top > 0 && bottom < innerHeight)"
            "(document.querySelector('tr.chosen').getBoundingClientRect())"))

    def test_handles_a_hundred_resources(self):
        match = self.files(*(f"card{i}" for i in range(100)))
        daemon = self.daemon("".join(resource(f"example.com/card{i}", match) for i in range(100)))
        self.open(daemon)
        self.ask_again("resources.length === 100 && resources.every((r) => r.devices.length === 100)")
        self.fill_all_devices()
        rows = "document.querySelectorAll('tr.device').length"
        self.assertLessEqual(self.browser.see(rows), 2000)
        self.refresh_with_a_change("card0")
        self.browser.do(press="/")
        self.browser.do(type="example.com/card99 card77")
        self.assertEqual(self.browser.devices(), ["card77"])
        self.browser.do(press="Escape")
        self.assertLessEqual(self.browser.see(rows), 2000)

    def test_shows_times_in_utc(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")) + self.card_ok({}))
        self.open(daemon)
        self.ask_again("resources[0]?.devices[0]?.last_probe")
        said, at = self.browser.see(
            "(() => { const { at } = resources[0].devices[0].last_probe; return [moment(at), at]; })()")
        self.assertEqual(said, f"{at[:10]} {at[11:19]} UTC")
        self.assertRegex(self.browser.see("document.querySelector('.c-probe time').title"),
                         r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
        self.assertIn("last scan ", self.browser.texts(".sums")[0])

    def test_chevrons_are_vertically_centered(self):
        self.open(self.daemon(resource("example.com/card", self.files("card0"))))
        self.ask_again("resources[0]?.devices.length === 1")
        for closed_or_open in (".toggle", ".resource[open] > summary"):
            self.assertLess(self.browser.see(
                f"{OFF}(document.querySelector({json.dumps(closed_or_open)}))"), 0.5)

    def test_fits_small_screens(self):
        long_name = "usb-" + "Silicon_Labs_CP2102N_USB_to_UART_Bridge_Controller_" * 4
        match = self.files("card0", long_name)
        daemon = self.daemon(resource("example.com/card", match) +
                             self.card_ok({"card0": "no_link_" * 40}) +
                             resource("very-long-domain.of-a-department.example.com/" + "r" * 40,
                                      match.replace("*", "none")))
        for width in (320, 390):
            self.open(daemon, width=width, height=700)
            self.ask_again("resources[0]?.sick === 1")
            self.browser.do(click=".toggle")
            self.browser.see("void document.querySelectorAll('.use').forEach((e) => e.click())")
            self.assertLessEqual(self.browser.see("document.scrollingElement.scrollWidth"), width)
            small = self.browser.see("[...document.querySelectorAll('input, select')]"
                                     ".filter((e) => e.offsetHeight < 44).length")
            self.assertEqual(small, 0, "a finger needs 44 px")
            self.assertEqual(self.browser.see(
                "new Set([...document.querySelectorAll('button.tile')].map((e) => e.offsetWidth)).size"), 1)
            self.browser.do(press="Tab")
            self.browser.do(press="Shift+Tab")  # the focus ring is shown only for the keyboard
            self.assertLessEqual(self.browser.see(RING_BOTTOM), self.browser.see(
                "document.activeElement.closest('tr').cells[1].getBoundingClientRect().top"))
            for health in ("", "unhealthy"):  # which has a button more
                self.browser.do(choose=["#health", health])
                self.assertGreater(self.browser.see(ROOM_FOR_PLACEHOLDER), 0)

    def test_shows_diagnostics_of_a_rejected_reload(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")))
        config = self.dir / "patchbay.toml"
        good = config.read_text()
        self.open(daemon)
        self.assertEqual(self.browser.texts("#config"), [])
        config.write_text(good + "descripton = 1\n")
        self.ask_again("!status.config.successful")
        text = self.browser.texts("#config")[0]
        line = len(good.splitlines()) + 1
        for part in ("The last reload failed", f"{config}:{line}:1", "error[unknown-key]",
                     "is still in use", "descripton"):
            self.assertIn(part, text)
        self.assertEqual(self.browser.devices(), ["card0"])
        config.write_text(good + resource("example.com/rival", 'path = "/srv/*"\ntype = "file"'))
        self.ask_again("status.config.successful")
        self.assertIn("accepted with 1 warning", self.browser.texts("#config")[0])
        config.write_text(good)
        self.await_see("status.config.diagnostics.length === 0")  # without a request by the test
        self.assertEqual(self.browser.texts("#config"), [])

    def test_explains_resources_without_devices(self):
        (self.dir / "host/srv").mkdir(parents=True)
        (self.dir / "host/srv/gone").symlink_to("nowhere")
        daemon = self.daemon(resource("example.com/none", 'path = "/dev/none*"') +
                             resource("example.com/rejected", 'path = "/srv/*"'))
        self.open(daemon)
        self.ask_again("resources.length === 2 && resources.every((r) => r.last_scan)")
        none = "[...document.querySelectorAll('.resource')].find((e) => e.textContent.includes('%s'))" \
               ".querySelector('.none').textContent"
        text = self.browser.see(none % "/none")
        for part in ("No devices found", 'path = "/dev/none*"', "scanned: /dev: No such file or directory",
                     "patchbay explain example.com/none"):
            self.assertIn(part, text)
        self.assertIn("everything that matched was rejected", self.browser.see(none % "/rejected"))
        self.assertNotIn("No devices found", self.browser.see(none % "/rejected"))
        self.assertEqual(self.browser.texts(".rejected .path"), ["/srv/gone"])

    def test_the_kubelet_being_away_is_the_banner(self):
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        names = ("card", "tape", "seat")
        match = self.files("card0")
        daemon = self.daemon("".join(resource(f"example.com/{name}", match) for name in names))
        for name in names:
            kubelet.wait_listed(f"example.com/{name}")
        self.open(daemon)
        self.ask_again("resources.length === 3 && resources.every((r) => r.registered)")
        self.assertEqual(self.browser.texts("#kubelet"), [])
        kubelet.ask("stop")
        self.ask_again("!status.kubelet.up && resources.every((r) => r.state === 'waiting')")
        text, = self.browser.texts("#kubelet")
        since = self.browser.see("moment(status.kubelet.up_changed_at)")
        for part in ("The kubelet is not running on this node.", f"{self.kubelet_dir}/kubelet.sock",
                     f"missing since {since}", "systemctl status kubelet", "kubelet_dir",
                     "Running pods keep their devices"):
            self.assertIn(part, text)
        # A time in an alert would make screen readers repeat it.
        self.assertEqual(self.browser.texts("#kubelet [role=alert]"),
                         ["The kubelet is not running on this node."])
        above = "(({ bottom }) => bottom <= at('tiles').getBoundingClientRect().top)"
        self.assertTrue(self.browser.see(f"{above}(at('kubelet').getBoundingClientRect())"))
        self.browser.see("void (lead = document.querySelector('#kubelet [role=alert]'))")
        self.ask_again("(etag = '', true)")
        self.ask_again("true")
        self.assertTrue(self.browser.see("lead.isConnected"), "the alert is announced again")
        for dark, width in ((False, 1280), (True, 1280), (False, 320)):
            self.open(daemon, dark=dark, width=width)
            self.ask_again("!at('kubelet').hidden")
            self.assertEqual(self.browser.see(CONTRAST), [])
            self.assertLessEqual(self.browser.see("document.scrollingElement.scrollWidth"), width)
        self.open(daemon)
        kubelet.ask("start")
        self.ask_again("resources.every((r) => r.registered)")
        self.assertEqual(self.browser.texts("#kubelet"), [])

        kubelet.ask("fault unknown_error")
        kubelet.ask("restart")
        # At first, some can fail because the kubelet does not listen yet.
        self.ask_again("resources.every((r) => !r.registered && r.state_reason.includes('rejected the registration'))")
        text, = self.browser.texts("#kubelet")
        since = self.browser.see("moment(resources.map((r) => r.registered_changed_at).sort()[0])")
        for part in ("No resource is registered with the kubelet.", since,
                     "example.com/card and 2 more", "the kubelet rejected the registration",
                     "journalctl -u kubelet"):
            self.assertIn(part, text)
        self.assert_no_problems()

    def test_the_banner_names_a_kubelet_that_does_not_respond(self):
        self.kubelet_dir.mkdir(exist_ok=True)
        with socket.socket(socket.AF_UNIX) as stale:  # as a kubelet that was killed leaves it
            stale.bind(str(self.kubelet_dir / "kubelet.sock"))
        self.open(self.daemon(resource("example.com/card", self.files("card0"))))
        self.ask_again("resources[0]?.state === 'retrying'")
        text, = self.browser.texts("#kubelet")
        for part in ("The kubelet is not responding.", f"{self.kubelet_dir}/kubelet.sock exists",
                     "example.com/card", "systemctl restart kubelet"):
            self.assertIn(part, text)

    def dra_daemon(self, text):
        """A daemon whose API server does not respond."""
        (self.dir / "token").write_text("a.b.c")
        return self.daemon(f'cdi_dir = "{self.dir}/cdi"\n[daemon.kubernetes]\nserver = "https://127.0.0.1:1"\n'
                           f'ca = "{self.dir}/ca"\ntoken_file = "{self.dir}/token"\n{text}')

    def change_dra(self, node, pool):
        """Changes the status of each response, as an API server could have caused it."""
        self.browser.see(f"""void (kept = kept ?? take, take = (next) => {{
            Object.assign(next.dra, {json.dumps(node)});
            Object.assign(next.resources[0].dra, {json.dumps(pool)});
            kept(next);
          }}, etag = "")""")

    def test_the_banner_names_problems_of_the_api_server(self):
        self.open(self.dra_daemon(resource("example.com/card", self.files("card0"), 'api = "dra"')))
        self.ask_again("status.dra?.api_server.error && resources[0].dra")
        text, = self.browser.texts("#dra")
        for part in ("The Kubernetes API server is not responding.", "https://127.0.0.1:1", "[daemon.kubernetes]",
                     "Running pods keep their devices"):
            self.assertIn(part, text)
        self.assertNotIn("drops fields", text)
        self.browser.see("void (kept = null)")
        up = {"url": "https://127.0.0.1:1", "up": True, "error": ""}
        self.change_dra({"api_server": up, "registration_error": "", "dropped_fields": ["taints"]}, {})
        self.ask_again("status.dra.dropped_fields.length === 1")
        text, = self.browser.texts("#dra")
        for part in ("The API server drops fields.", "taints", "no pod is evicted", "DRADeviceTaints"):
            self.assertIn(part, text)
        self.assertNotIn("not responding", text)
        self.change_dra({"api_server": up, "registration_error": "no <b>", "dropped_fields": []}, {})
        self.ask_again("status.dra.registration_error !== ''")
        self.assertIn("no <b>", self.browser.texts("#dra")[0])
        self.change_dra({"api_server": up, "registration_error": "", "dropped_fields": []}, {})
        self.ask_again("status.dra.registration_error === ''")
        self.assertEqual(self.browser.texts("#dra"), [])
        self.assert_no_problems()

    def test_shows_pools_and_claims(self):
        daemon = self.dra_daemon(resource("example.com/card", self.files("card0", "card1"), 'api = "dra"') +
                                 resource("example.com/seat", "count = 1"))
        for dark, width in ((False, 1280), (True, 1280), (False, 320)):
            self.open(daemon, dark=dark, width=width)
            self.browser.see("void (kept = null)")
            self.ask_again("(etag = '', resources[0]?.devices.length === 2 && resources[0].dra)")
            device = {"resource": "example.com/card", "device": "card0", "request": "port", "admin_access": False}
            self.change_dra(
                {"claims": [
                    {"uid": "1", "namespace": "lab", "name": "meter-x7k2p", "devices": [device]},
                    {"uid": "2", "namespace": "lab", "name": "reader-extended-resources-b9zlq",
                     "devices": [device | {"device": "card1", "admin_access": True}]},
                    {"uid": "3", "namespace": "lab", "name": "other",
                     "devices": [device | {"resource": "example.com/seat"}]}]},
                {"pool": "rack-1/card", "slices": 2, "generation": 7, "current": True, "error": "conflict",
                 "not_served": "two devices have one name", "taints": {"card1": "patchbay.dev/gone:NoExecute"},
                 "problems": ["card0: <b>usbSerial</b> is too long"], "problems_left_out": 3})
            self.ask_again("status.dra.claims.length === 3")
            text, = self.browser.texts(".pool")  # not of the resource with the other API
            self.assertIn("pool rack-1/card, 2 slices, generation 7", text)
            self.assertNotIn("not up to date", text)
            for part in ("2 prepared claims", "Not served", "two devices have one name", "Last write failed", "conflict",
                         "1 tainted device", "4 problems", "card0: <b>usbSerial</b> is too long"):
                self.assertIn(part, text)
            lines = self.pool_lines()
            self.assertIn(["lab/meter-x7k2p", "claim: card0 (port)"], lines)
            self.assertIn(["lab/reader", "limits of the pod: card1 (port, admin access)"], lines)
            self.assertIn(["card1", "patchbay.dev/gone:NoExecute"], lines)
            self.assertEqual(self.browser.see(CONTRAST), [])
            self.assertLessEqual(self.browser.see("document.scrollingElement.scrollWidth"), width)
        self.assert_no_problems()

    def pool_lines(self):
        """The lists of the pool, as [left, right]."""
        return self.browser.see("[...document.querySelectorAll('.pool li')]"
                                ".map((e) => [...e.children].map((c) => c.textContent))")

    def test_shows_what_the_api_server_and_the_kubelet_have(self):
        """With a running driver, whose status the test does not change."""
        cluster = self.enterContext(Cluster(self.dir, "rack-1"))
        entry = resource("example.com/card", self.files("card0", "card1"), 'api = "dra"')
        daemon = self.daemon(cluster.daemon_keys + entry + self.card_ok({}), NODE_NAME="rack-1")
        cluster.succeed("await_published 2")
        cluster.succeed("class example.com/card")
        cluster.succeed("prepare meter example.com/card")

        def assert_shown(*lines):
            spec, = cluster.succeed("slices")["slices"]
            pool = spec["pool"]
            text, = self.browser.texts(".pool")
            self.assertIn(f"pool {pool['name']}, 1 slice, generation {pool['generation']}1 prepared claim", text)
            self.assertEqual(self.pool_lines(), [["default/meter", "claim: card0 (device)"], *lines])
            self.assertEqual([[taint["key"], taint["effect"]] for device in spec["devices"]
                              for taint in device.get("taints", [])],
                             [line.split(":") for _, line in lines])

        self.open(daemon)
        self.ask_again("resources[0]?.dra.current && resources[0].registered && status.dra.claims.length === 1")
        assert_shown()
        self.assertEqual(self.browser.texts("#dra"), [])
        self.break_cards({"card1": "no link"})
        self.ask_again("'card1' in resources[0].dra.taints && resources[0].dra.current")
        assert_shown(["card1", "patchbay.dev/unhealthy:NoSchedule"])

        cluster.succeed("stop_server")
        self.ask_again("!status.dra.api_server.up && status.dra.api_server.error")
        text, = self.browser.texts("#dra")
        url = self.browser.see("status.dra.api_server.url")
        self.assertIn(url, cluster.daemon_keys)
        for part in ("The Kubernetes API server is not responding.", url):
            self.assertIn(part, text)
        self.assertIn(["default/meter", "claim: card0 (device)"], self.pool_lines())
        cluster.succeed("start_server")
        self.ask_again("status.dra.api_server.up")
        self.assertEqual(self.browser.texts("#dra"), [])
        cluster.succeed("release meter")
        self.ask_again("status.dra.claims.length === 0")
        self.assertEqual(self.pool_lines(), [["card1", "patchbay.dev/unhealthy:NoSchedule"]])
        self.assert_no_problems()

    def test_copies_a_claim(self):
        self.open(self.dra_daemon(resource("example.com/card", self.files("card0"), 'api = "dra"') +
                                  resource("example.com/seat", "count = 1")))
        self.ask_again("resources[0]?.dra")
        self.browser.do(click="[aria-label='Pod snippet for example.com/card']")
        self.browser.do(click="[aria-label='Copy the claim']")
        self.await_see("at('toast').textContent === 'Copied the claim.'")
        self.assertRegex(self.copied(), r"kind: ResourceClaimTemplate.*deviceClassName: card\.example\.com"
                                        r".*resourceClaimTemplateName: card-test.*claims: +- name: device$")
        self.browser.do(press="Escape")
        self.browser.do(click="[aria-label='Pod snippet for example.com/card']")  # the filter has closed it
        self.browser.do(click="[aria-label='Copy the pod']")
        self.await_see("at('toast').textContent === 'Copied the pod.'")
        self.assertRegex(self.copied(), r"limits: +example.com/card: 1$")
        self.browser.do(press="Escape")
        self.browser.do(click="[aria-label='Pod snippet for example.com/seat']")
        self.assertEqual(self.browser.texts(".snippet:not([hidden]) button"), ["Copy"])  # no claim
        self.assert_no_problems()

    def test_the_banner_waits_for_a_configuration(self):
        config = self.config("nonsense = 1\n")
        with Daemon(config, self.kubelet_dir, "--wait-for-config") as daemon:
            _, line = daemon.err.wait("waiting for a valid configuration")
            self.browser.do(open=f"http://{line.rsplit('address=', 1)[1].strip()}/")
            self.await_see("status !== null")
            self.assertEqual(self.browser.texts("#kubelet"), [])

    def test_shows_the_last_changes(self):
        match = self.files(*(f"card{i}" for i in range(12)))
        daemon = self.daemon(resource("example.com/card", match) + self.card_ok({}))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 12 && resources[0].devices.every((d) => d.last_probe)")
        self.assertEqual(self.browser.texts("#history"), [])
        self.break_cards({"card3": "no link"})
        self.ask_again("status.transitions.length === 1")
        change, = self.browser.texts(".transitions li")
        for part in ("card3", "example.com/card", "Healthy → Unhealthy", "no link"):
            self.assertIn(part, change)
        self.break_cards({})
        self.ask_again("status.transitions.length === 2")
        self.assertIn("Unhealthy → Healthy", self.browser.texts(".transitions li")[0])
        self.browser.see("void document.querySelectorAll('.toggle')[3].click()")
        lines = self.browser.texts(".details dd")[-1].split("\n")
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"^[-\d]+ [:\d]+ UTC  Unhealthy → Healthy: ")
        self.files("new0")
        self.ask_again("status.transitions.length === 3")
        self.assertIn("new → Healthy", self.browser.texts(".transitions li")[0])
        self.break_cards({name: "too hot" for name in ("new0", *(f"card{i}" for i in range(12)))})
        self.ask_again("resources[0].sick === 13")
        self.assertEqual(len(self.browser.texts(".transitions li")), 10)
        self.browser.do(click="#more-transitions button")
        self.assertEqual(len(self.browser.texts(".transitions li")), 16)
        self.browser.do(press="/")
        self.browser.do(type="new0")
        self.assertEqual(len(self.browser.texts(".transitions li")), 2)
        self.browser.do(choose=["#health", "unhealthy"])
        self.assertEqual(self.browser.texts("#history"), [])
        self.browser.do(press="Escape")
        self.browser.do(choose=["#health", ""])
        self.browser.do(click=".transitions a[href$='device=card7']")
        self.await_see("document.querySelector('tr.chosen .toggle')?.textContent === 'card7'")
        self.assert_no_problems()

    def test_shows_which_resources_are_for_other_nodes(self):
        hidden = resource("example.com/lab", "count = 1", 'description = "of the lab"\non_nodes = ["lab-*", "desk"]')
        daemon = self.daemon(resource("example.com/card", self.files("card0")) + hidden, NODE_NAME="rack-1")
        self.open(daemon)
        self.ask_again("resources.length === 1")
        self.assertEqual(self.browser.texts("#hidden-title"), ["1 resource is not for this node"])
        self.browser.do(click="#hidden summary")
        row, = self.browser.texts(".hidden-resources li")
        for part in ("example.com/lab", "of the lab", 'on_nodes = ["lab-*","desk"]'):
            self.assertIn(part, row)
        config = self.dir / "patchbay.toml"
        config.write_text(config.read_text().replace('"lab-*"', '"rack-*"'))
        # A status can have the new resource before the list of the others is updated.
        self.ask_again("resources.length === 2 && status.hidden_resources.length === 0")
        self.assertEqual(self.browser.texts("#hidden"), [])

    def test_shows_how_devices_are_probed_and_when(self):
        match = self.files("card0")
        daemon = self.daemon(resource("example.com/card", match) + self.card_ok({}).replace("1s", "10m") +
                             "initial_delay = \"1h\"\nsuccess_threshold = 2\n" +
                             resource("example.com/plain", match))
        self.open(daemon)
        self.ask_again("resources[0]?.devices[0]?.next_probe")
        probe, plain = self.browser.texts(".probe")
        self.assertRegex(probe, r"^Probe runs \S+/card-ok \{id\} every 10\smin, first after 1\sh, timeout 5\ss; "
                                r"Unhealthy after 1 failure, Healthy after 2 successes; next in (60|61|62|63|64|65|66) min$")
        self.assertEqual(plain, "No probe: a device is Healthy while it exists.")
        self.browser.do(click=".toggle")
        self.assertIn("next probe", self.browser.texts(".details dt"))

    def copied(self):
        """What the clipboard has, on one line."""
        self.browser.do(click="#text")
        self.browser.do(press="Control+A")
        self.browser.do(press="Control+V")
        return self.browser.see("at('text').value")

    def test_copies_ids_pods_and_commands(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0", "card1")) +
                             resource("example.com/none", 'path = "/dev/none*"'), NODE_NAME="rack-1.node.test")
        port = daemon.address().rsplit(":", 1)[1]
        for host, is_secure in (("127.0.0.1", True), ("rack-1.node.test", False)):
            self.browser.do(open=f"http://{host}:{port}/")
            self.await_see("status !== null")
            self.assertEqual(self.browser.see("isSecureContext"), is_secure)
            self.ask_again("resources.length === 2 && resources.every((r) => r.last_scan)")
            self.browser.do(click="[aria-label='Copy the ID card1']")
            self.await_see("at('toast').textContent === 'Copied the ID card1.'")
            self.assertEqual(self.browser.see("document.activeElement.ariaLabel"), "Copy the ID card1")
            self.assertEqual(self.copied(), "card1")
            self.browser.do(press="Escape")
            self.browser.do(click=".use")
            self.browser.do(click=".snippet .copy")
            self.await_see("at('toast').textContent === 'Copied the pod.'")
            self.assertRegex(self.copied(), r"^apiVersion: v1.*name: card-test.*limits: +example.com/card: 1$")
            self.browser.do(press="Escape")
            self.browser.do(click=".none .copy")
            self.await_see("at('toast').textContent === 'Copied the command.'")
            self.assertEqual(self.copied(), "patchbay explain example.com/none")
            self.assert_no_problems()
        self.browser.do(press="Escape")
        self.browser.see("void (document.execCommand = () => false)")
        self.browser.do(click="[aria-label='Copy the ID card1']")
        self.await_see("at('toast').textContent.startsWith('The browser does not allow copying. Select the ID card1')")

    def test_every_button_has_a_name(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")) +
                             resource("example.com/none", 'path = "/dev/none*"'))
        self.open(daemon)
        self.ask_again("resources.length === 2 && resources.every((r) => r.last_scan)")
        self.browser.do(click=".use")
        self.assertEqual(self.browser.see(
            "[...document.querySelectorAll('button')].filter((e) => !(e.ariaLabel ?? e.textContent.trim()))"
            ".map((e) => e.outerHTML)"), [])

    def test_shows_missing_nodes_and_mounts_and_unused_excludes(self):
        (self.dir / "host/srv").mkdir(parents=True)
        (self.dir / "host/srv/a").touch()
        self.open(self.daemon(resource("example.com/card", 'path = "/srv/*"\ntype = "file"\nexclude = "/srv/sytem"',
                                       '[[resource.device_node]]\nhost_path = "/dev/no-such-node"\n'
                                       '[[resource.mount]]\nhost_path = "/opt/no-such-place"\n')))
        self.ask_again("resources[0]?.sick === 1")
        self.assertIn("/dev/no-such-node of device_node is missing", self.browser.texts(".reason")[0])
        self.assertEqual(self.browser.texts(".missing .path"), ["/opt/no-such-place", "/srv/sytem"])
        self.assertEqual(self.browser.texts(".missing h3")[1], "Excludes without effect")
        self.assertIn("it excludes nothing", self.browser.texts(".missing li")[1])

    def test_shows_devices_that_need_attention(self):
        (self.dir / "host/srv").mkdir(parents=True)
        (self.dir / "host/srv/a").touch()
        self.open(self.daemon(resource("example.com/card", 'path = "/srv/*"\ntype = "file"', "grant_group = true")))
        self.ask_again("resources[0]?.notes.length === 1")
        self.assertEqual(self.browser.texts(".missing .path"), ["a"])
        self.assertIn("a container that is not root cannot open it", self.browser.texts(".missing li")[0])

    def test_shows_how_to_write_the_first_resource(self):
        self.open(self.daemon("", "--wait-for-config"))
        self.assertIn("has no resources for this node", self.browser.texts("#empty")[0])
        self.browser.do(click="#empty .copy")
        config = self.config(self.browser.texts("#empty pre")[0])
        self.assertEqual(support.run("check", "--strict", str(config)).returncode, 0)
        self.assert_no_problems()

    def test_is_served_without_a_valid_configuration(self):
        config = self.config("nonsense = 1\n")
        with Daemon(config, self.kubelet_dir, "--wait-for-config") as daemon:
            _, line = daemon.err.wait("waiting for a valid configuration")
            address = line.rsplit("address=", 1)[1].strip()
            self.browser.do(open=f"http://{address}/")
            self.await_see("status !== null")
            self.assertIn("No valid configuration", self.browser.texts("#config")[0])
            self.assertIn(f"{config}:1:1", self.browser.texts("#config")[0])

    def test_reports_a_lost_connection(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")))
        self.open(daemon)
        self.ask_again("resources[0]?.devices.length === 1")
        daemon.end()
        self.ask_again("lostSince !== null")
        self.assertIn("has not responded since", self.browser.texts("#lost")[0])
        self.assertEqual(self.browser.devices(), ["card0"])

    def test_shows_a_message_without_javascript(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")))
        self.open(daemon, scripts=False)
        self.assertIn("needs JavaScript", self.browser.see("document.body.innerText"))


class HostView(PageTest):
    """The devices of the computer of a robot: one of its two lidars is served."""

    LIDAR = ('usb = "10c4:ea60"\nusb_port = "1-2.1"\nudev = { subsystem = "tty" }\n')

    def robot(self):
        support.skip_unless_device_nodes()
        host_tree.make(HERE.parent / "suggest/robot.toml", self.dir / "host")

    def open_view(self, **how):
        daemon = self.daemon("suggest_page = true\n" + resource("example.com/lidar", self.LIDAR))
        self.open(daemon, **how)
        self.ask_again("resources[0]?.devices.length === 1")
        self.browser.do(click="#to-host")
        self.await_see("hostDevices?.suggestions.some((one) => one.served_by)")
        return daemon

    def item(self, node):
        return f"[...document.querySelectorAll('#host li')].find((e) => e.innerText.includes('{node}'))"

    def test_picture_of_the_view(self):
        self.robot()
        pods = self.dir / "pods.sock"
        kubelet = self.enterContext(Kubelet(self.kubelet_dir, pod_resources=pods))
        daemon = self.daemon(f'suggest_page = true\npod_resources = "{pods}"\n' +
                             resource("example.com/lidar", self.LIDAR), NODE_NAME="robot-3")
        kubelet.wait_listed("example.com/lidar")
        self.open(daemon, "#view=host", width=1440, height=1080)
        self.ask_again("resources[0]?.registered")
        self.await_see("hostDevices?.suggestions.some((one) => one.served_by)")
        self.browser.see(f"void {self.item('/dev/ttyUSB1')}.querySelector('.use').click()")
        self.await_see(self.item("/dev/ttyUSB1") + ".querySelector('pre').checkVisibility()")
        self.take("page-host")

    def test_shows_who_serves_a_device_and_the_entry_for_another(self):
        self.robot()
        self.open_view()
        self.assertRegex(self.browser.texts("#host-sum")[0], r"^\d+ devices, 1 served; 1 disk in use by the node left out\. "
                         r"The devices of this host\. Replace example\.com with a domain of yours\.$")
        self.assertFalse(self.browser.see("at('tiles').checkVisibility()"))
        self.assertIn("served by example.com/lidar", self.browser.see(self.item("/dev/ttyUSB0") + ".innerText"))
        self.assertIn("not served", self.browser.see(self.item("/dev/ttyUSB1") + ".innerText"))
        self.browser.see(f"void {self.item('/dev/ttyUSB1')}.querySelector('.use').click()")
        entry = self.browser.see(self.item("/dev/ttyUSB1") + ".querySelector('pre').textContent")
        checked = support.run("check", "--strict", str(self.config(entry, "entry.toml")))
        self.assertEqual(checked.returncode, 0, checked.stdout)
        listed = support.run("devices", "-c", str(self.dir / "entry.toml"), "--host-root", str(self.dir / "host"),
                             "--output", "json")
        self.assertEqual([d["paths"] for d in json.loads(listed.stdout)["resources"][0]["devices"]], [["/dev/ttyUSB1"]])
        self.browser.see(f"void {self.item('/dev/ttyUSB1')}.querySelector('.copy').click()")
        self.await_see("at('toast').textContent === 'Copied the entry.'")
        self.browser.see(f"void {self.item('/dev/ttyUSB0')}.querySelector('.state a').click()")
        self.await_see("at('tiles').checkVisibility() && !at('host').checkVisibility()")
        self.assert_no_problems()

    def test_shows_why_a_device_needs_a_decision(self):
        self.robot()
        self.open_view()
        self.assertIn("the host has a route over it", self.browser.see("[...document.querySelectorAll('#host .warn')].map((e) => e.innerText).join()"))

    def test_counts_the_devices_of_a_kind_that_are_not_shown(self):
        support.skip_unless_device_nodes()
        host = self.dir / "host.toml"
        host.write_text("[sys]\n" + "".join(
            f'"platform/{n}.serial/tty/ttyS{n}" = {{ subsystem = "tty", number = "4:{n}", attributes = {{ type = "4" }} }}\n'
            for n in range(103)))
        host_tree.make(host, self.dir / "host")
        self.open(self.daemon("suggest_page = true\n" + resource("example.com/lidar", self.LIDAR)), "#view=host")
        self.await_see("hostDevices?.suggestions.length === 100")
        self.await_see(r"/uart[^]*\n3 more of this kind are not shown/i.test(at('host').innerText)")

    def test_is_off_without_its_key(self):
        daemon = self.daemon(resource("example.com/card", self.files("card0")))
        self.open(daemon, "#view=host")
        self.ask_again("resources[0]?.devices.length === 1")
        self.assertFalse(self.browser.see("at('views').checkVisibility() || at('host').checkVisibility()"))
        self.assertEqual(self.browser.see("fetch('api/v1/suggestions').then((answer) => answer.status)"), 404)

    def test_has_contrast_and_fits_small_screens(self):
        self.robot()
        product = self.dir / "host/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2.2/product"
        product.write_text("<img src=x onerror=alert(1)> " + "long_" * 30)
        daemon = self.open_view()
        for how in ({}, {"dark": True}, {"width": 390, "height": 844}, {"width": 320, "height": 700}):
            self.open(daemon, "#view=host", **how)
            self.await_see("hostDevices?.suggestions.length > 5")
            self.browser.see("void document.querySelectorAll('#host .use').forEach((e) => e.click())")
            self.assertEqual(self.browser.see(CONTRAST), [])
            if "width" in how:
                self.assertLessEqual(self.browser.see("document.scrollingElement.scrollWidth"), how["width"])
        self.assertIn("<img src=x", self.browser.see("at('host').innerText"))
        self.assert_no_problems()


class Pictures(PageTest):
    """The page of a typical node."""

    def test_screenshots_of_a_typical_node(self):
        support.skip_unless_device_nodes()
        host = self.dir / "host"
        host_tree.make(HERE / "host.toml", host)
        self.card_ok({"0000:a1:00.0": "DMA self test failed: timeout on channel 1",
                      "video3": "no frame for 10 s"})
        pods = self.dir / "pods.sock"
        text = (HERE / "patchbay.toml").read_text()
        kubelet = self.enterContext(Kubelet(self.kubelet_dir, pod_resources=pods))
        daemon = self.daemon(f'pod_resources = "{pods}"\n{text}', NODE_NAME="rack-7-node-3",
                             PATH=f"{self.dir}:{os.environ['PATH']}")
        names = ("fpga.example.com/alveo", "serial.example.com/console",
                 "video.example.com/camera", "devices.example.com/kvm")
        for name in names:
            kubelet.wait_listed(name)
        for name in (names[0], names[2]):  # otherwise a failing device could be allocated
            kubelet.wait_view(name, lambda view: "Unhealthy" in support.health(view).values())
        for pod, container, name, number in (
                ("hil-regression-8d4k", "runner", names[0], 1), ("place-and-route-0", "vivado", names[0], 1),
                ("board-farm-lab2-x7", "conserver", names[1], 2), ("bench-recorder-1", "gst", names[2], 1),
                ("android-ci-55c9", "emulator", names[3], 3), ("android-ci-71f0", "emulator", names[3], 1)):
            self.assertTrue(kubelet.ask(f"admit {pod} {container} {name} {number}")["ok"], pod)
        self.open(daemon)
        self.ask_again("resources.length === 4 && resources.every((r) => r.registered && r.in_use > 0)"
                       " && resources.reduce((sum, r) => sum + r.sick, 0) === 2")
        (host / "dev/video4").unlink()
        self.ask_again("resources.reduce((sum, r) => sum + r.sick, 0) === 3")
        self.assert_no_problems()
        for name, sick, address, how in (
                ("page-light", 3, "", {"width": 1440, "height": 1080}),
                ("page-dark", 3, "", {"width": 1440, "height": 1080, "dark": True}),
                ("page-phone", 1, "#health=unhealthy", {"width": 390, "height": 844, "scale": 2})):
            self.open(daemon, address, **how)
            self.assertEqual(self.browser.see(
                "[...document.querySelectorAll('tr.sick')].map((e) => e.getBoundingClientRect())"
                ".filter(({ bottom }) => bottom < innerHeight).length"), sick, "the number in the text next to it")
            self.take(name)


ARGUMENTS = [a for a in sys.argv[1:] if a == "--write"]
sys.argv = [a for a in sys.argv if a != "--write"]

if __name__ == "__main__":
    support.main()
