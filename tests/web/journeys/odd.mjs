// What is not as usual: nothing recorded, aborted, gone while looked at, a session that ends, numbers that are none, long names.
export default async (t) => {
  const { web } = t.facts;
  const project = (
    await t.call("projects.create", { name: "odd things", description: "" })
  ).id;
  const make = async (name, extra = {}) =>
    (
      await t.call("tasks.create", {
        name,
        type: "training",
        project,
        ...extra,
      })
    ).id;
  const url = (id, tab = "") =>
    `${web}/projects/${project}/tasks/${id}${tab && `/${tab}`}`;
  const page = await t.open({ quiet: [400, 401] });

  await page.goto(url(await make("a draft without anything")));
  await page.getByText("Nothing is recorded yet").waitFor();

  // Who stops a run makes it no failure.
  const stopped = await make("stopped by hand");
  await t.call("tasks.started", { task: stopped });
  await t.call("tasks.stopped", { task: stopped });
  await page.goto(url(stopped));
  await page.getByText("Stopped by a user.").waitFor();
  const line = page.getByLabel("Stage timeline");
  await line.getByText("· aborted").waitFor();
  t.equal(await line.getByText("failed").count(), 0, "failures of an abort");

  // A value between two that are none is seen, and where infinite ones were; without any number the axis keeps its place.
  const event = (metric, iter, value) => ({
    type: "training_stats_scalar",
    task: stopped,
    metric,
    variant: "v",
    iter,
    value,
    timestamp: 1,
  });
  await t.call("events.add_batch", [
    event("lone", 0, "NaN"),
    event("lone", 1, 0.5),
    event("lone", 2, "NaN"),
    event("wild", 0, 1),
    event("wild", 1, "Infinity"),
    event("wild", 2, 1),
    event("wild", 3, "-Infinity"),
    event("wild", 4, 1),
    event("none", 0, "NaN"),
    event("none", 1, "NaN"),
  ]);
  await page.goto(url(stopped, "scalars"));
  const wild = page.getByRole("article", { name: /^wild\/v:/ });
  await t.seen(
    wild.getByTitle("1 times plus infinity"),
    "no count of +Infinity",
  );
  await t.seen(
    wild.getByTitle("1 times minus infinity"),
    "no count of -Infinity",
  );
  t.check(
    (await wild.getAttribute("aria-label")).includes(
      "5 points, 1 plus infinity, 1 minus infinity.",
    ),
    `the chart in words: ${await wild.getAttribute("aria-label")}`,
  );
  /** How many pixels of a chart have about the colour of the run, in its part from x0 to x1 and y0 to y1 (0 to 1). */
  const ink = (title, x0, x1, y0, y1) =>
    page
      .locator(".panel", { has: page.getByRole("heading", { name: title }) })
      .locator("canvas")
      .evaluate(
        (c, [x0, x1, y0, y1]) => {
          const d = c
            .getContext("2d")
            .getImageData(
              c.width * x0,
              c.height * y0,
              c.width * (x1 - x0),
              c.height * (y1 - y0),
            ).data;
          let n = 0;
          for (let i = 0; i < d.length; i += 4)
            if (
              d[i + 3] > 128 &&
              Math.max(d[i], d[i + 1], d[i + 2]) -
                Math.min(d[i], d[i + 1], d[i + 2]) >
                60
            )
              n++;
          return n;
        },
        [x0, x1, y0, y1],
      );
  await page.waitForFunction(
    () => document.querySelectorAll(".uplot").length === 3,
  );
  t.check((await ink("lone/v", 0.4, 0.7, 0.1, 0.7)) > 8, "no lone point");
  // Half as wide as the stretch from one point to the next, at the edges of the plot: up goes out at the top, down at the bottom.
  for (const [what, x, y, there] of [
    ["+Infinity at the top", 0.29, 0, true],
    ["+Infinity at the bottom", 0.29, 0.7, false],
    ["-Infinity at the bottom", 0.72, 0.7, true],
    ["-Infinity at the top", 0.72, 0, false],
  ]) {
    const n = await ink("wild/v", x, x + 0.12, y, y + 0.2);
    t.equal(n > 8, there, `a mark of ${what} (${n} pixels)`);
  }
  // The tip says which it is.
  const plot = await wild.locator(".u-over").boundingBox();
  for (const [at, words] of [
    [0.25, "plus infinity"],
    [0.75, "minus infinity"],
  ]) {
    await page.mouse.move(plot.x + plot.width * at, plot.y + plot.height / 2);
    await wild.locator(".tip").getByText(words).waitFor();
  }
  t.equal(
    await page
      .locator(".panel", {
        has: page.getByRole("heading", { name: "none/v" }),
      })
      .locator(".u-over")
      .evaluate((e) => parseFloat(e.style.left) > 40),
    true,
    "the plot without numbers begins where the others do",
  );

  await page.goto(url(stopped));
  const none = page.locator(".km", { hasText: "none/v" });
  await none.getByText("NaN", { exact: true }).waitFor();
  t.equal(
    await none.locator(".kf").innerText(),
    "best \u2013",
    "the best of a metric that never was a number",
  );

  // A name of 200 letters: nothing is pushed out of the page or of a dialog.
  const name = `long-${"x".repeat(190)}-end`;
  const long = await make(name, { tags: ["first-tag", "second", "third"] });
  await t.call("tasks.started", { task: long });
  await t.call("tasks.add_or_update_artifacts", {
    task: long,
    artifacts: [{ key: name, type: "custom", mode: "output", uri: "s3://b/k" }],
  });
  await page.goto(url(long));
  await page.getByRole("link", { name }).last().waitFor();
  await t.accessible(page, "a task with long names");
  await page.getByRole("button", { name: "Abort" }).click();
  const dialog = page.getByRole("dialog");
  const close = dialog.getByRole("button", { name: "Close" });
  await close.waitFor();
  const [inner, outer] = [
    await close.boundingBox(),
    await dialog.boundingBox(),
  ];
  t.check(
    inner.x + inner.width <= outer.x + outer.width,
    "a long name pushes the close button out of the dialog",
  );
  await page.keyboard.press("Escape");
  const crumb = page
    .getByRole("navigation", { name: "Breadcrumb" })
    .getByRole("link", { name: "odd things" });
  t.check(
    await crumb.evaluate((e) => e.clientWidth > 60),
    "a long name leaves no room for its project",
  );

  // Deleted elsewhere while its page is open.
  await t.call("tasks.delete", { task: long, force: true });
  await page.getByText("There is no task with this id").waitFor();
  await page.getByRole("link", { name: "Tasks of its project" }).click();
  await page.getByRole("row", { name: /stopped by hand/ }).waitFor();

  // The way back from a task leads to the same rows.
  for (let i = 0; i < 60; i++) await make(`row ${String(i).padStart(2, "0")}`);
  await page.goto(`${web}/projects/${project}/tasks?sort=name`);
  await page.getByRole("row", { name: /row 00/ }).waitFor();
  await page.keyboard.press("End");
  const last = page.getByRole("row", { name: /stopped by hand/ });
  await last.waitFor();
  await page.waitForFunction(() =>
    document.activeElement?.textContent?.includes("stopped by hand"),
  );
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "stopped by hand" }).waitFor();
  await page.goBack();
  await last.waitFor();
  t.check(
    await last.evaluate((e) => e.getBoundingClientRect().bottom <= innerHeight),
    "the way back leads to other rows",
  );
  await page.getByRole("button", { name: "Name" }).focus();

  for (const at of [`${"0".repeat(32)}/tasks`, "0".repeat(32)]) {
    await page.goto(`${web}/projects/${at}`);
    await page.getByText("There is no project with this id").waitFor();
    await page.getByRole("link", { name: "All projects" }).waitFor();
  }

  // The session ends while a page is open: the login page says why it is there, and leads back.
  await page.goto(url(stopped));
  await page.getByText("Stopped by a user.").waitFor();
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Queues" }).first().click();
  await page.getByText("Your session has ended").waitFor();
  t.check(
    page.url().includes("next=%2Fqueues"),
    `the login page forgot the way back: ${page.url()}`,
  );
  await t.call("projects.delete", {
    project,
    force: true,
    delete_contents: true,
  });
};
