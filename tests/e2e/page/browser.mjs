// A browser that a test controls: reads a JSON command per line, and writes a response per line.
//
//   {"open": URL, "width", "height", "dark", "scripts", "scale"}   in a new window
//   {"evaluate": EXPRESSION}
//   {"press": KEY} {"type": TEXT} {"click": SELECTOR} {"choose": [SELECTOR, VALUE]}
//   {"picture": PATH}
//   {"problems": true}    problems since `open`: errors, CSP violations, requests to other hosts
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.NODE_MODULES + "/")("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none",
    // A name that is not localhost makes an insecure context, as http://NODE:9478 is.
    "--host-resolver-rules=MAP *.node.test 127.0.0.1"],
});

let page = null;
let problems = [];

async function open({ open: url, width = 1280, height = 800, dark = false, scripts = true, scale = 1 }) {
  await page?.context().close();
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: dark ? "dark" : "light", javaScriptEnabled: scripts,
    deviceScaleFactor: scale, hasTouch: width < 600, isMobile: width < 600,
    locale: "en-GB", timezoneId: "UTC",
  });
  page = await context.newPage();
  page.setDefaultTimeout(60000);
  problems = [];
  const origin = new URL(url).origin;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error}`));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) problems.push(`request: ${request.url()}`);
  });
  const answer = await page.goto(url);
  return { status: answer?.status() ?? 0, headers: answer?.headers() ?? {} };
}

const commands = {
  open,
  evaluate: ({ evaluate }) => page.evaluate(evaluate),
  press: ({ press }) => page.keyboard.press(press),
  type: ({ type }) => page.keyboard.type(type),
  click: ({ click }) => page.click(click),
  choose: ({ choose: [selector, value] }) => page.selectOption(selector, value),
  picture: async ({ picture, full = false }) => { await page.screenshot({ path: picture, fullPage: full }); },
  problems: () => problems,
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const name = Object.keys(commands).find((key) => key in command);
  let answer;
  try {
    answer = { ok: (await commands[name](command)) ?? null };
  } catch (error) {
    answer = { error: String(error.stack ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
