// Runs one journey: node run.mjs NAME < facts.json. Besides what the journey checks, any console error, refused content
// (CSP), unhandled rejection, script error or request to a foreign host is a failure.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../../web/package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const facts = JSON.parse(readFileSync(0, "utf8"));
const name = process.argv[2];
const wrong = [];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

/** A page of its own context that reports everything that should not happen. `quiet` = statuses of calls the journey provokes. */
async function open({
  width = 1280,
  height = 800,
  scheme = "light",
  quiet = [],
  login = true,
} = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale: "en-GB",
    reducedMotion: "reduce",
    acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const own = [facts.web, facts.files].map((u) => new URL(u).host);
  page.on("request", (r) => {
    const u = new URL(r.url());
    if (u.protocol.startsWith("http") && !own.includes(u.host))
      wrong.push(`request to a foreign host: ${r.url()}`);
  });
  page.on("response", (r) => {
    if (r.status() >= 400 && !quiet.includes(r.status()))
      wrong.push(`${r.status()} from ${r.url()}`);
  });
  page.on("console", (m) => {
    if (m.type() === "error" && !/Failed to load resource/.test(m.text()))
      wrong.push(`console: ${m.text()}`);
  });
  page.on("pageerror", (e) =>
    wrong.push(`script error: ${e.stack ?? e.message}`),
  );
  await page.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (e) =>
      console.error(
        `CSP ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile ?? ""} ${e.sample ?? ""}`,
      ),
    ),
  );
  if (login) {
    const r = await context.request.post(`${facts.web}/api/v2.34/auth.login`, {
      headers: {
        Authorization: `Basic ${Buffer.from(`${facts.access}:${facts.secret}`).toString("base64")}`,
        "X-Stoker-Request": "1",
        "Content-Type": "application/json",
      },
      data: {},
    });
    if (!r.ok()) throw new Error(`login: ${r.status()} ${await r.text()}`);
  }
  return page;
}

const t = {
  facts,
  open,
  /** The address of a task of the seed, with a tab. */
  task: (key, tab = "") =>
    `${facts.web}/projects/${facts.project}/tasks/${facts.ids[key]}${tab ? `/${tab}` : ""}`,
  /** A call to the API as an outside client makes it. */
  async call(action, body = {}) {
    const r = await fetch(`${facts.api}/v2.34/${action}`, {
      method: "POST",
      headers: {
        Authorization: `Basic ${Buffer.from(`${facts.access}:${facts.secret}`).toString("base64")}`,
        "Content-Type":
          body instanceof Array ? "application/json-lines" : "application/json",
      },
      body:
        body instanceof Array
          ? body.map((x) => JSON.stringify(x)).join("\n")
          : JSON.stringify(body),
    });
    const j = await r.json();
    if (!r.ok) throw new Error(`${action}: ${r.status} ${j.meta?.result_msg}`);
    return j.data;
  },
  check(ok, words) {
    if (!ok) wrong.push(words);
  },
  /** What must come to be seen: it is waited for. */
  async seen(locator, words) {
    await locator
      .waitFor()
      .catch((e) => wrong.push(`${words}: ${e.message.split("\n")[0]}`));
  },
  /** All of a page is there: fonts, pictures, no placeholder, and what it drew is painted. */
  settled: (page) =>
    page.waitForFunction(async () => {
      await document.fonts.ready;
      for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
      return (
        !document.querySelector(".skel") &&
        [...document.images].every((i) => i.complete || i.loading === "lazy")
      );
    }),
  /** A dialog is open and has given its focus to this button. */
  asked: (page, button) =>
    page.waitForFunction(
      (b) =>
        document.activeElement?.closest('[role="dialog"]') &&
        document.activeElement.textContent === b,
      button,
    ),
  equal(got, want, words) {
    if (JSON.stringify(got) !== JSON.stringify(want))
      wrong.push(
        `${words}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`,
      );
  },
  /** axe-core (WCAG 2.2 AA) and no sideways scrolling. */
  async accessible(page, what) {
    await page.evaluate(axe);
    const r = await page.evaluate(() =>
      window.axe.run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      }),
    );
    for (const v of r.violations)
      wrong.push(
        `${what}: axe ${v.id}: ${v.nodes
          .slice(0, 3)
          .map(
            (n) =>
              `${n.html.slice(0, 180)} (${n.failureSummary?.split("\n")[1]?.trim() ?? ""})`,
          )
          .join(" | ")}`,
      );
    if (
      await page.evaluate(
        () => document.documentElement.scrollWidth > window.innerWidth,
      )
    )
      wrong.push(`${what}: the page scrolls sideways`);
  },
  shot: (page, file) =>
    page.screenshot({ path: join(facts.shots, `${file}.png`) }),
};

const journey = await import(join(here, "journeys", `${name}.mjs`));
try {
  await journey.default(t);
} catch (e) {
  wrong.push(e.stack ?? String(e));
  for (const c of browser.contexts())
    for (const p of c.pages())
      await p
        .screenshot({ path: join(facts.shots, `failed-${name}.png`) })
        .catch(() => undefined);
}
await browser.close();
for (const w of [...new Set(wrong)]) console.log(`- ${w}`);
process.exit(wrong.length ? 1 : 0);
