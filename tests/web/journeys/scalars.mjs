// Scalars: the spike survives sampling on every axis, NaN is a gap with a count, both in the chart's words and in the
// table; single values; 150 metrics are 150 charts.
export default async (t) => {
  const page = await t.open();
  await page.goto(t.task("good", "scalars"));
  await page.locator(".uplot").first().waitFor();
  const loss = page.getByRole("article", { name: /^loss:/ });
  t.check(
    /2,\d\d\d points/.test(await loss.locator("footer").innerText()),
    `foot note: ${await loss.locator("footer").innerText()}`,
  );
  const grad = page.getByRole("article", { name: /^optim\/grad_norm:/ });
  t.check(
    (await grad.locator("footer").innerText()).includes("20 NaN"),
    `NaN are not counted: ${await grad.locator("footer").innerText()}`,
  );

  await loss.locator(".u-over").hover();
  await loss.locator(".tip").waitFor();
  t.check(
    (await loss.locator(".tip").innerText()).includes("train"),
    "the tip names no curve",
  );

  await page.getByRole("button", { name: "Values as a table" }).click();
  const cells = await page
    .getByRole("row", { name: /loss\/train/ })
    .getByRole("cell")
    .allInnerTexts();
  t.equal(cells[3], "9", "the spike is the maximum");
  t.equal(cells[4], "2,000", "number of points");
  t.equal(
    (
      await page
        .getByRole("row", { name: /grad_norm/ })
        .getByRole("cell")
        .allInnerTexts()
    )[5],
    "20",
    "NaN in the table",
  );
  await page.getByRole("button", { name: "Charts" }).click();

  await page.getByLabel("Find metric").fill("loss*");
  await grad.waitFor({ state: "detached" });
  t.check(page.url().includes("show=loss"), "the filter is not in the address");
  await page.getByRole("switch", { name: "Log y" }).click();
  await loss.getByText("log y").waitFor();
  t.equal(
    await page.getByLabel("Single values").locator("div").allInnerTexts(),
    ["params_m\n47.25"],
    "single values",
  );
  await page.getByText("Clock", { exact: true }).click();
  await page.waitForURL(/x=clock/);
  await page.getByRole("button", { name: "Values as a table" }).click();
  await page.getByRole("row", { name: /loss\/train/ }).waitFor();
  t.equal(
    (
      await page
        .getByRole("row", { name: /loss\/train/ })
        .getByRole("cell")
        .allInnerTexts()
    )[3],
    "9",
    "the spike is the maximum on the clock axis too",
  );
  await page.getByRole("button", { name: "Charts" }).click();
  await loss.locator(".uplot").waitFor();

  // Does the canvas really hold the curve? Some pixels in the run's colour.
  const canvas = await loss.locator("canvas").elementHandle();
  await page.waitForFunction((c) => {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 3; i < d.length; i += 4) if (d[i] > 200) n++;
    return n > 300;
  }, canvas);

  const many = (
    await t.call("tasks.create", { name: "150 metrics", type: "training" })
  ).id;
  await t.call("tasks.started", { task: many });
  await t.call(
    "events.add_batch",
    Array.from({ length: 150 }, (_, i) => ({
      type: "training_stats_scalar",
      task: many,
      iter: 1,
      timestamp: Date.now(),
      metric: String(i),
      variant: "series",
      value: i,
    })),
  );
  await t.call("tasks.completed", { task: many });
  await page.goto(`${t.facts.web}/projects/*/tasks/${many}/scalars`);
  await page.locator(".uplot").first().waitFor();
  t.equal(
    (await page.locator("article.panel h3").allInnerTexts())
      .map((x) => Number(x.split("/")[0]))
      .sort((a, b) => a - b),
    Array.from({ length: 150 }, (_, i) => i),
    "charts of a task with 150 metrics",
  );
  await t.call("tasks.delete", { task: many, force: true });
};
