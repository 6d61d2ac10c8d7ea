// The task table: rows, query, sort, columns that stay, keys only, archive and its way back, cards on a phone.
export default async (t) => {
  const page = await t.open();
  await page.goto(`${t.facts.web}/projects/${t.facts.project}/tasks`);
  const row = (name) => page.getByRole("row", { name: new RegExp(name) });
  await row("segformer-good").waitFor();
  await t.seen(
    row("unet-failed").getByText("KeyError: 'mask_path'"),
    "the reason is not beside the failed state",
  );
  t.check(
    (await row("unet-running").innerText()).includes("42 %"),
    "no progress beside the running state",
  );

  // Small curves stand beside the numbers of the first two metrics, where a task has such a curve.
  const curve = (name) => row(name).locator("svg.spark path");
  await curve("segformer-good").first().waitFor({ state: "attached" });
  t.equal(await curve("segformer-good").count(), 2, "small curves of a task");
  t.equal(await curve("unet-draft").count(), 0, "small curves of a draft");

  const box = page.getByLabel("Filter tasks");
  await page.keyboard.press("/");
  await page.keyboard.type("status:failed");
  await row("segformer-good").waitFor({ state: "detached" });
  await t.seen(row("unet-failed"), "status:failed hides the failed task");
  t.check(page.url().includes("q=status"), "the filter is not in the address");
  await page.reload();
  await row("unet-failed").waitFor();
  t.equal(
    await page.locator(".vrows .tr").count(),
    1,
    "rows after reload with the filter",
  );
  await box.fill("no such task");
  await page.getByText("No task matches").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await row("segformer-good").waitFor();
  await box.fill("tag:best");
  await row("segformer-good").waitFor({ state: "detached" });
  await t.seen(row("segformer-better"), "tag:best hides the tagged task");
  await box.fill("");
  await row("segformer-good").waitFor();

  await page
    .getByRole("columnheader", { name: "Name" })
    .getByRole("button")
    .click();
  await page.waitForURL(/sort=/);
  await page.waitForFunction(() =>
    document
      .querySelector(".vrows .tr .name")
      ?.textContent?.startsWith("segformer-better"),
  );
  await page
    .getByRole("columnheader", { name: "Name" })
    .getByRole("button")
    .click();
  await page.waitForFunction(() =>
    document
      .querySelector(".vrows .tr .name")
      ?.textContent?.startsWith("unet-running"),
  );
  await page
    .getByRole("columnheader", { name: /loss\/val/ })
    .getByRole("button")
    .click();
  await page.waitForFunction(() =>
    document
      .querySelector(".vrows .tr .name")
      ?.textContent?.startsWith("segformer-good"),
  );

  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "optim/grad_norm" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: /grad_norm/ }).waitFor();
  await page.reload();
  await page.getByRole("columnheader", { name: /grad_norm/ }).waitFor();

  // By keyboard: move, select two, archive them, find them in the archive, restore.
  await box.fill("segformer");
  await row("unet-failed").waitFor({ state: "detached" });
  await box.evaluate((e) => e.blur());
  for (const n of [1, 2]) {
    for (const k of ["j", "x"]) await page.keyboard.press(k);
    await page.getByText(`${n} selected`).waitFor();
  }
  t.check(
    await page.getByRole("button", { name: /Enqueue 0 of 2/ }).isDisabled(),
    "completed tasks can be enqueued",
  );
  await page.getByRole("button", { name: "Archive" }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: "Archive" })
    .click();
  await page.getByText("No task matches").waitFor();
  await box.fill("archived:yes");
  await row("segformer-good").waitFor();
  await page.getByLabel("Select all shown").click();
  await page
    .getByRole("toolbar")
    .getByRole("button", { name: "Restore" })
    .click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: "Restore" })
    .click();
  await page.getByText("No task matches").waitFor();
  await box.fill("");
  await row("segformer-good").waitFor();

  await box.fill("unet-failed");
  await row("segformer-good").waitFor({ state: "detached" });
  await box.evaluate((e) => e.blur());
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "unet-failed" }).waitFor();

  const phone = await t.open({ width: 390, height: 844 });
  await phone.goto(`${t.facts.web}/projects/${t.facts.project}/tasks`);
  await phone.getByRole("listitem").filter({ hasText: "unet-failed" }).click();
  await phone.getByRole("heading", { name: "unet-failed" }).waitFor();
};
