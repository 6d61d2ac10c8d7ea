// What a page asks for by itself: nothing while its tab is hidden, everything once it is seen again, and never a storm.
// The clock of the page is the test's: a minute goes by when it says so.
export default async (t) => {
  const page = await t.open();
  await page.clock.install();
  await page.addInitScript(() => {
    Object.defineProperty(document, "visibilityState", {
      get: () => (window.away ? "hidden" : "visible"),
    });
    window.turn = (away) => {
      window.away = away;
      document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    };
  });
  let asked = [];
  const open = new Set();
  const name = (r) => /\/api\/v[\d.]+\/(.*)/.exec(r.url())?.[1];
  page.on("request", (r) => {
    if (!name(r)) return;
    asked.push(name(r));
    open.add(r);
  });
  for (const end of ["requestfinished", "requestfailed"])
    page.on(end, (r) => open.delete(r));
  /** The page has gone to the background, and has what it had asked for before. */
  const hide = async () => {
    await page.evaluate(() => window.turn(true));
    for (let calm = 0; calm < 5; calm = open.size ? 0 : calm + 1)
      await page.clock.runFor(100);
    asked = [];
  };
  /** Its clock stands still from now on, some seconds later than it was: calls are not given up yet. */
  const halt = async () =>
    page.clock.pauseAt((await page.evaluate(() => Date.now())) + 20_000);
  const run = await t.call("tasks.create", {
    name: "seen and unseen",
    type: "training",
    project: t.facts.project,
  });
  await t.call("tasks.started", { task: run.id });
  const line = (msg) =>
    t.call("events.add_batch", [
      {
        type: "log",
        task: run.id,
        timestamp: Date.now(),
        level: "info",
        worker: "w0",
        msg,
      },
    ]);
  await line("the first line");
  const at = (tab) =>
    `${t.facts.web}/projects/${t.facts.project}/tasks/${run.id}/${tab}`;
  const places = {
    home: [t.facts.web, "unet-running", "tasks.get_all_ex"],
    projects: [`${t.facts.web}/projects`, "vision", "projects.get_all_ex"],
    table: [
      `${t.facts.web}/projects/${t.facts.project}/tasks`,
      "unet-running",
      "tasks.get_all_ex",
    ],
    queues: [
      `${t.facts.web}/queues/${t.facts.queue}`,
      "unet-queued",
      "queues.get_all_ex",
    ],
    workers: [`${t.facts.web}/workers`, "Workers", "workers.get_all"],
    summary: [at("summary"), "seen and unseen", "tasks.get_all_ex"],
    scalars: [at("scalars"), "seen and unseen", "x_events.scalars"],
    console: [at("console"), "the first line", "x_events.log"],
  };
  for (const [place, [url, words, call]] of Object.entries(places)) {
    await page.goto(url);
    await page.getByText(words).first().waitFor();
    // Seen: a minute of the page's clock, polled, but no more often than every second for each of its calls.
    asked = [];
    for (let i = 0; i < 60; i++) await page.clock.runFor(1000);
    const most = Object.entries(
      asked.reduce((n, c) => ({ ...n, [c]: (n[c] ?? 0) + 1 }), {}),
    ).filter(([, n]) => n > 60);
    t.equal(most, [], `${place}: calls in a minute that it is seen`);
    // Hidden: not one.
    await hide();
    for (let i = 0; i < 60; i++) await page.clock.runFor(1000);
    t.equal(asked, [], `${place}: calls in a minute that it is hidden`);
    // Seen again: at once, before its clock goes on.
    await halt();
    const again = page.waitForRequest((r) => r.url().endsWith(`/${call}`));
    await page.evaluate(() => window.turn(false));
    await again.catch((e) =>
      t.check(false, `${place}: not asked for again: ${e}`),
    );
    await page.clock.resume();
  }

  // The console brings what was written meanwhile.
  await hide();
  await line("written while nobody looked");
  await page.clock.runFor(30_000);
  t.equal(asked, [], "calls of a hidden console");
  await page.evaluate(() => window.turn(false));
  await page.getByText("written while nobody looked").waitFor();

  // A task's end is heard of while the page's clock stands still: the server's answer waits for it.
  const watch = page.waitForRequest((r) => r.url().endsWith("/x_tasks.watch"));
  await page.goto(at("info"));
  await watch;
  await page.getByText("Running", { exact: true }).first().waitFor();
  await halt();
  while ([...open].some((r) => name(r) !== "x_tasks.watch"))
    await page.evaluate(() => 0);
  const heard = page.waitForRequest((r) =>
    r.url().endsWith("/tasks.get_all_ex"),
  );
  await t.call("tasks.completed", { task: run.id });
  // In case that answer had just come without news: half a second later the page asks again.
  await page.clock.runFor(600);
  await heard;
  await page.clock.resume();
  await page.getByText("Completed", { exact: true }).first().waitFor();
  await t.call("tasks.delete", { task: run.id, force: true });
};
