// A table of many: nothing cut at the right edge, all that match can be chosen and worked on, ranges and row actions by keys.
export default async (t) => {
  const { web } = t.facts;
  const project = (
    await t.call("projects.create", {
      name: "many/of them in a place with a long name",
      description: "",
    })
  ).id;
  const word = (i) => String(i).padStart(3, "0");
  const ids = [];
  for (let i = 0; i < 130; i++)
    ids.push(
      (
        await t.call("tasks.create", {
          name: `sweep-${word(i)}`,
          type: "training",
          project,
          hyperparams: {
            General: Object.fromEntries(
              ["architecture", "optimizer", "schedule"].map((name) => [
                name,
                {
                  section: "General",
                  name,
                  value: `a long value of ${name} ${i}`,
                },
              ]),
            ),
          },
        })
      ).id,
    );
  await t.call(
    "events.add_batch",
    ["loss/train", "loss/val", "val/accuracy"].map((k) => ({
      type: "training_stats_scalar",
      task: ids[0],
      metric: k.split("/")[0],
      variant: k.split("/")[1],
      iter: 1,
      value: 1,
      timestamp: 1,
    })),
  );
  const page = await t.open();
  const row = (i) =>
    page.getByRole("row", { name: new RegExp(`sweep-${word(i)}`) });
  const list = (what = "") =>
    page.goto(`${web}/projects/${project}/tasks?sort=name${what}`);
  const archived = async () =>
    (
      await t.call("tasks.get_all_ex", {
        project: [project],
        system_tags: ["archived"],
        order_by: ["name"],
        page: 0,
        page_size: 500,
      })
    ).tasks.map((x) => x.name);

  // The last column ends where the window does, or before.
  for (const url of [
    `${web}/projects/${project}/tasks?sort=name`,
    `${web}/projects/*/tasks?sort=name`,
  ]) {
    await page.goto(url);
    const user = page.getByRole("columnheader", { name: "User" });
    await user.waitFor();
    const edge = await user.evaluate((e) => e.getBoundingClientRect().right);
    await t.shot(
      page,
      `many-${url.includes("*") ? "all" : "tasks"}-light-1280`,
    );
    t.check(edge <= 1280, `User ends at ${edge} px of 1280 in ${url}`);
  }

  // Ranges: Shift and arrows stretch and shrink, Shift and x go from the last touched row.
  await list();
  await row(0).waitFor();
  const focused = (i) =>
    page.waitForFunction(
      (w) => document.activeElement?.textContent?.includes(w),
      `sweep-${word(i)}`,
    );
  const selected = (n) =>
    page.getByText(`${n} selected`, { exact: true }).waitFor();
  await page.keyboard.press("j");
  await focused(0);
  for (const [key, at, n] of [
    ["Shift+ArrowDown", 1, 2],
    ["Shift+J", 2, 3],
    ["Shift+ArrowDown", 3, 4],
    ["Shift+ArrowUp", 2, 3],
  ]) {
    await page.keyboard.press(key);
    await focused(at);
    await selected(n);
  }
  for (const i of [3, 4, 5]) {
    await page.keyboard.press("j");
    await focused(i);
  }
  await page.keyboard.press("Shift+X");
  await selected(6);
  await page.keyboard.press("Escape");
  await page.getByText("6 selected").waitFor({ state: "detached" });

  // The letters: archive, tags, clone, and the menu of what is left.
  const dialog = page.getByRole("dialog");
  await page.keyboard.press("a");
  await t.asked(page, "Archive");
  await page.keyboard.press("Enter");
  await row(5).waitFor({ state: "detached" });
  t.equal(await archived(), ["sweep-005"], "archived by a");
  await page.keyboard.press("k");
  await page.waitForFunction(
    () => document.activeElement?.getAttribute("role") === "row",
  );
  // The focus has arrived when it is where it was a few frames before.
  const under = await page.evaluate(async () => {
    for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame);
    return /sweep-\d+/.exec(document.activeElement.textContent)[0];
  });
  await page.keyboard.press("t");
  const add = dialog.getByLabel("Add a tag");
  await add.waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === "INPUT");
  await add.fill("by keys");
  await add.press("Enter");
  await dialog.getByText("by keys").waitFor();
  await t.accessible(page, "the tags of a task");
  await t.shot(page, "tags-light-1280");
  await add.press("Enter");
  await page
    .getByRole("row", { name: new RegExp(under) })
    .getByText("by keys")
    .waitFor();
  await page.keyboard.press(".");
  await page.getByRole("menuitem", { name: /Publish/ }).waitFor();
  // The keys go on in the menu, and come back to the row.
  await page.waitForFunction(() =>
    document.activeElement?.textContent?.startsWith("Delete"),
  );
  await page.keyboard.press("Escape");
  await page
    .getByRole("menuitem", { name: /Publish/ })
    .waitFor({ state: "detached" });
  await page.keyboard.press("n");
  await dialog.getByLabel("Name").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  // More match than are loaded: the count is true, and all of them can be chosen.
  await list("&q=sweep");
  await page.getByText("of 129 tasks").waitFor();
  await page.getByLabel("Select all shown").click();
  await selected(100);
  await page.getByRole("button", { name: "Select all 129" }).click();
  await selected(129);
  await t.shot(page, "many-selected-light-1280");
  await t.accessible(page, "a table with all selected");
  await page
    .getByRole("toolbar")
    .getByRole("button", { name: "Archive" })
    .click();
  await dialog.getByText("Archive 129 tasks?").waitFor();
  await dialog.getByText("They leave the lists").waitFor();
  await dialog.getByRole("button", { name: "Archive" }).click();
  await page.getByText("129 tasks archived").waitFor();
  await page.getByText("No task matches").waitFor();
  t.equal(
    await archived(),
    ids.map((_, i) => `sweep-${word(i)}`),
    "archived tasks",
  );
  await t.call("projects.delete", {
    project,
    force: true,
    delete_contents: true,
  });
};
