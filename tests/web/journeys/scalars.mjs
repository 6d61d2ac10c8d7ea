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

  // One 0.0 among 100,000 points of 0.8 is seen in the whole curve and in a part of it that was zoomed to.
  const spike = (
    await t.call("tasks.create", { name: "one spike", type: "training" })
  ).id;
  await t.call("tasks.started", { task: spike });
  for (let from = 0; from < 100_000; from += 10_000)
    await t.call(
      "events.add_batch",
      Array.from({ length: 10_000 }, (_, i) => ({
        type: "training_stats_scalar",
        task: spike,
        iter: from + i,
        timestamp: 1_700_000_000_000 + from + i,
        metric: "acc",
        variant: "val",
        value: from + i === 50_001 ? 0 : 0.8,
      })),
    );
  await t.call("tasks.completed", { task: spike });
  await page.goto(`${t.facts.web}/projects/*/tasks/${spike}/scalars`);
  const over = page.locator(".u-over");
  await over.waitFor();
  // Coloured pixels (no grid, no text) in the lowest tenth of the plot, by their place from 0 (left) to 1.
  const low = () =>
    page.evaluate(() => {
      const canvas = document.querySelector(".uplot canvas"),
        plot = document.querySelector(".u-over").getBoundingClientRect(),
        at = canvas.getBoundingClientRect(),
        k = canvas.width / at.width,
        [x, w] = [(plot.left - at.left) * k, plot.width * k],
        [y, h] = [
          (plot.top - at.top + plot.height * 0.85) * k,
          plot.height * 0.1 * k,
        ],
        d = canvas.getContext("2d").getImageData(x, y, w, h).data,
        found = [];
      for (let i = 0; i < d.length; i += 4) {
        const c = [d[i], d[i + 1], d[i + 2]];
        if (d[i + 3] > 90 && Math.max(...c) - Math.min(...c) > 40)
          found.push(((i / 4) % Math.floor(w)) / w);
      }
      return found;
    });
  const seen = async (from, to, words) => {
    const found = await low();
    t.check(
      found.length >= 5 && found.every((v) => v > from && v < to),
      `the spike ${words}: ${found.length} pixels at ${found.slice(0, 5)}`,
    );
  };
  await seen(0.48, 0.52, "in the whole curve");
  const area = await over.boundingBox();
  await page.mouse.move(area.x + area.width * 0.4, area.y + 40);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.8, area.y + 40, { steps: 8 });
  await page.mouse.up();
  await page.mouse.move(5, 5);
  await page.waitForFunction(
    () => document.querySelector(".u-select").offsetWidth === 0,
  );
  await seen(0.2, 0.3, "in a part of the curve");
  await t.call("tasks.delete", { task: spike, force: true });

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
