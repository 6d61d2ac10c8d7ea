// The task page: a run whose metrics are no numbers, why it failed, stages, key metrics, what the head offers in each state, the addresses an SDK prints.
export default async (t) => {
  const page = await t.open();
  await page.goto(t.task("failed"));
  const why = page.getByRole("region", { name: "Why" });
  await why.getByText("KeyError: 'mask_path'").waitFor();
  await page.getByRole("region", { name: "Stage timeline" }).waitFor();
  await page.getByRole("button", { name: "Clone" }).waitFor();

  await page.goto(t.task("good"));
  await page.getByRole("article").filter({ hasText: "loss/val" }).waitFor();
  const good = await page
    .locator(".km")
    .filter({ hasText: "val/mIoU" })
    .innerText();
  t.check(
    /0\.79\d\d/.test(good),
    `val/mIoU is not shown with its value: ${good}`,
  );
  await t.seen(
    page.getByRole("link", { name: "table", exact: true }),
    "the artifact is not listed",
  );

  for (const [address, tab] of [
    ["output/log", "console"],
    ["output/metrics/scalar", "scalars"],
    ["info-output/metrics/plots", "plots"],
    ["execution", "execution"],
    ["hyper-params/hyper-param/General", "config"],
    ["artifacts/output-model/x", "artifacts"],
  ]) {
    await page.goto(
      `${t.facts.web}/projects/${t.facts.project}/experiments/${t.facts.ids.good}/${address}`,
    );
    await page.waitForURL(t.task("good", tab));
  }
  await page.goto(
    `${t.facts.web}/projects/*/tasks/${t.facts.ids.good}/console`,
  );
  await page.waitForURL(t.task("good", "console"));
  await page.goto(
    `${t.facts.web}/projects/${t.facts.project}/tasks/${"0".repeat(32)}`,
  );
  await page.getByText("There is no task with this id").waitFor();

  // Tabs by number keys; the execution tab shows code, packages and the patch.
  await page.goto(t.task("good"));
  await page.getByRole("heading", { name: "segformer-good" }).waitFor();
  await page.keyboard.press("2");
  await page.waitForURL(t.task("good", "execution"));
  await page.getByText("torch==2.8.0").waitFor();
  t.equal(
    await page.getByRole("link", { name: /acme\/seg/ }).getAttribute("href"),
    "https://example.org/acme/seg",
    "repository link",
  );
  await t.seen(page.getByText("train.py").first(), "the script is not named");

  // A run with NaN and infinity only: every page of it, and the table, shows it as what it is.
  const odd = (
    await t.call("tasks.create", { name: "only NaN", type: "training" })
  ).id;
  await t.call("tasks.started", { task: odd });
  await t.call(
    "events.add_batch",
    ["NaN", "Infinity"].map((value) => ({
      type: "training_stats_scalar",
      task: odd,
      iter: 0,
      timestamp: Date.now(),
      metric: "val",
      variant: `acc ${value}`,
      value,
    })),
  );
  await t.call("tasks.completed", { task: odd });
  await page.goto(`${t.facts.web}/projects/*/tasks/${odd}`);
  await page.locator(".km").first().waitFor();
  const shown = (await page.locator(".km").allInnerTexts()).join(" ");
  t.check(
    /acc NaN\s+NaN/.test(shown) && /acc Infinity\s+∞/.test(shown),
    `key metrics of the NaN run: ${shown}`,
  );
  for (const tab of ["execution", "config", "artifacts", "console", "info"]) {
    await page.goto(`${t.facts.web}/projects/*/tasks/${odd}/${tab}`);
    await page.getByRole("heading", { name: "only NaN" }).waitFor();
  }
  await page.goto(`${t.facts.web}/projects/*/tasks/${odd}/scalars`);
  await page.getByRole("article", { name: /^val:/ }).waitFor();
  const note = await page.locator("article.panel footer").innerText();
  t.check(
    note.includes("1 NaN") && note.includes("1 +\u221e"),
    `what is no number is not counted: ${note}`,
  );
  await page.goto(`${t.facts.web}/projects/*/tasks?q=only%20NaN`);
  await page.getByRole("row", { name: /only NaN/ }).waitFor();
  t.equal(
    await page.getByText(/could not be (loaded|shown)|went wrong/i).count(),
    0,
    "errors on the way",
  );
  await t.call("tasks.delete", { task: odd, force: true });
};
