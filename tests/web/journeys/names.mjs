// Names as people give them, long, right to left, alike but for their end: on 1280 and 390 px nothing is cut that tells them
// apart, nothing leaves its place, every menu closes with Escape.
export default async (t) => {
  const { web } = t.facts;
  const path =
    "a group of people with a long name/their project for the year 2026/segmentation-of-everything";
  const project = (
    await t.call("projects.create", { name: path, description: "" })
  ).id;
  const make = async (name) =>
    (await t.call("tasks.create", { name, type: "training", project })).id;
  const words =
    "RuntimeError: CUDA out of memory (GPU 0; 79.15 GiB total capacity)";
  const long = await make(`resnet-152-${"augmented-".repeat(12)}seed-17`);
  await t.call("tasks.started", { task: long });
  await t.call("tasks.failed", {
    task: long,
    status_reason: words,
    status_message: words,
  });
  const arabic = "شبكة عصبية للتعرف على الصور";
  const rtl = await make(arabic);
  const layer = (n) =>
    `encoder/layer_${n}/attention/weights/gradient_norm_${n}`;
  await t.call(
    "events.add_batch",
    [1, 2].map((n) => ({
      type: "training_stats_scalar",
      task: rtl,
      metric: layer(n),
      variant: "l2",
      iter: 0,
      value: n,
      timestamp: 1,
    })),
  );
  const at = (id, tab = "") =>
    `${web}/projects/${project}/tasks/${id}${tab && `/${tab}`}`;
  const page = await t.open();
  /** Its box lies within that of the other, to a pixel. */
  const inside = async (a, b, what) => {
    const [i, o] = [await a.boundingBox(), await b.boundingBox()];
    t.check(
      i &&
        o &&
        i.x >= o.x - 1 &&
        i.x + i.width <= o.x + o.width + 1 &&
        i.y >= o.y - 1 &&
        i.y + i.height <= o.y + o.height + 1,
      `${what}: ${JSON.stringify(i)} in ${JSON.stringify(o)}`,
    );
  };

  // The reason is the whole of it, not what stands in its brackets.
  await page.goto(at(long));
  await page
    .getByRole("region", { name: "Why" })
    .getByText(words, { exact: true })
    .waitFor();
  // The way to a page is never cut off: what is too long ends in dots within the bar.
  const crumbs = page.getByRole("navigation", { name: "Breadcrumb" });
  await crumbs.getByText("segmentation-of-everything").waitFor();
  t.equal(
    await crumbs.evaluate((e) => e.scrollWidth - e.clientWidth),
    0,
    "px of the breadcrumb that are cut off",
  );
  const first = crumbs.getByRole("link", { name: "Projects" });
  t.equal(
    await first.evaluate((e) => e.scrollWidth - e.clientWidth),
    0,
    "px of the first crumb that are cut off",
  );
  // A long name keeps its end.
  await inside(
    page.locator("h1").getByText("ed-seed-17", { exact: true }),
    page.locator("h1"),
    "the end of the name",
  );
  t.check(
    await page
      .getByRole("heading", { level: 1 })
      .getByText("seed-17", { exact: false })
      .first()
      .isVisible(),
    "the name has no end",
  );

  // Columns and charts of names that differ in their end can be told apart.
  await page.goto(`${web}/projects/${project}/tasks`);
  for (const n of [1, 2]) {
    const head = page.getByRole("columnheader", { name: `${layer(n)}/l2` });
    await inside(
      head.getByText(/_?\d?\/l2$/).last(),
      head,
      `the end of the name of column ${n}`,
    );
  }
  await page.goto(at(rtl, "scalars"));
  await page.getByRole("heading", { name: arabic }).waitFor();
  for (const n of [1, 2])
    await inside(
      page
        .getByRole("article", { name: new RegExp(`layer_${n}/`) })
        .locator("h3 span")
        .last(),
      page.getByRole("article", { name: new RegExp(`layer_${n}/`) }),
      `the end of the title of chart ${n}`,
    );

  // Nor does a long title push the buttons out of its chart, on a phone least of all.
  const buttons = async (where) => {
    const chart = where.getByRole("article", { name: /layer_1\// });
    await inside(
      chart.getByRole("button", { name: /^Full screen/ }),
      chart,
      "the last button of a chart",
    );
  };
  await buttons(page);

  // A menu that the pointer opened closes with Escape, and gives the focus back.
  const more = page.getByRole("button", { name: "More actions" });
  await more.click();
  const item = page.getByRole("menuitem", { name: "Archive" });
  await item.waitFor();
  await page.keyboard.press("Escape");
  await item.waitFor({ state: "detached" });
  await page.waitForFunction(
    () => document.activeElement?.getAttribute("aria-label") === "More actions",
  );

  // A phone: the bar leads back, the name is there in full, an opened artifact stays in its card.
  const phone = await t.open({ width: 390, height: 844 });
  await phone.goto(at(long));
  await phone.getByRole("heading", { level: 1 }).waitFor();
  t.check(
    await phone
      .locator("h1")
      .evaluate((e) => e.scrollWidth <= e.clientWidth + 1),
    "the name is cut off on a phone",
  );
  await phone
    .getByRole("navigation", { name: "Breadcrumb" })
    .getByRole("link", { name: "segmentation-of-everything" })
    .click();
  await phone.getByRole("listitem").first().waitFor();
  await phone.goto(at(rtl, "scalars"));
  await phone
    .getByRole("article", { name: /layer_1\// })
    .locator(".uplot")
    .waitFor();
  await buttons(phone);
  await phone.goto(`${t.task("good", "artifacts")}?open=the%20weights`);
  const card = phone.locator(".card", { hasText: "Output models" });
  await card.locator(".avers tr").first().waitFor();
  for (const [what, where] of [
    ["the address", card.locator(".facts td").first()],
    ["its label", card.locator(".facts th").first()],
    ["an earlier file", card.locator(".avers tr").first()],
  ])
    await inside(where, card, `${what} in its card`);
  t.check(
    await card
      .locator(".facts th")
      .first()
      .evaluate((e) => e.scrollWidth <= e.clientWidth),
    "the label of the address is cut off",
  );
  await t.accessible(phone, "an opened artifact on a phone");
  await t.call("projects.delete", {
    project,
    force: true,
    delete_contents: true,
  });
};
