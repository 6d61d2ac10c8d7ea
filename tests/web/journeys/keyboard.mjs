// No pointer at all: palette, help, places, focus that is always visible and comes back from dialogs.
export default async (t) => {
  const page = await t.open();
  await page.goto(t.facts.web);
  await page.getByRole("link", { name: "Stoker, home" }).waitFor();
  for (const [keys, url] of [
    ["gp", /\/projects$/],
    ["gt", /\/projects\/\*\/tasks$/],
    ["gq", /\/queues$/],
    ["gw", /\/workers$/],
    ["gh", /:\d+\/$/],
  ]) {
    for (const k of keys) await page.keyboard.press(k);
    await page.waitForURL(url);
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  // No letter typed right after the key that opens the palette is lost.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("unet-failed");
  await page.getByRole("option", { name: /unet-failed/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "unet-failed" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type(t.facts.ids.good);
  await page.getByRole("option", { name: /segformer-good/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "segformer-good" }).waitFor();
  // A dialog gives the focus back to where it was opened.
  await page.getByRole("button", { name: "Clone" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByLabel("Name").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(
    () => document.activeElement?.textContent === "Clone",
  );
  // Each stop of Tab shows a ring.
  await page.goto(t.task("good"));
  await page.getByRole("heading", { name: "segformer-good" }).waitFor();
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press("Tab");
    const seen = await page.evaluate(() => {
      const e = document.activeElement;
      const s = getComputedStyle(e);
      return e === document.body ||
        (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2)
        ? ""
        : e.outerHTML.slice(0, 120);
    });
    t.check(seen === "", `focus is not visible on ${seen}`);
  }

  // Enqueue a draft, abort a run, archive and restore: from the table, by keys alone.
  const make = async (name) =>
    (
      await t.call("tasks.create", {
        name,
        type: "training",
        project: t.facts.project,
      })
    ).id;
  const state = async (id) =>
    (await t.call("tasks.get_all_ex", { id: [id], search_hidden: true }))
      .tasks[0];
  const draft = await make("keys-draft"),
    run = await make("keys-run");
  await t.call("tasks.started", { task: run });
  await page.goto(`${t.facts.web}/projects/${t.facts.project}/tasks`);
  const row = (name) => page.getByRole("row", { name: new RegExp(name) });
  await row("segformer-good").waitFor();
  const focused = () =>
    page.evaluate(() => document.activeElement?.textContent ?? "");
  /** Tab until the focus is on what begins with these words. */
  const tabTo = async (words) => {
    for (let i = 0; i < 12; i++) {
      if ((await focused()).startsWith(words)) return;
      await page.keyboard.press("Tab");
    }
    t.check(false, `Tab does not lead to ${words}`);
  };
  const choose = async (filter, name) => {
    await page.keyboard.press("/");
    await page.keyboard.type(filter);
    await page.keyboard.press("Enter");
    await page.waitForFunction(
      (n) =>
        document.querySelectorAll(".vrows .tr").length === 1 &&
        document.querySelector(".vrows .tr")?.textContent?.includes(n),
      name,
    );
    await page.keyboard.press("j");
    await page.waitForFunction(
      (n) => document.activeElement?.textContent?.includes(n),
      name,
    );
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
  };
  await choose("keys-draft", "keys-draft");
  await tabTo("Enqueue");
  await page.keyboard.press("Enter");
  await page
    .getByRole("dialog")
    .locator("option")
    .first()
    .waitFor({ state: "attached" });
  await t.asked(page, "Enqueue");
  await page.keyboard.press("Enter");
  await row("keys-draft").getByText("Queued").waitFor();
  t.equal((await state(draft)).status, "queued", "the draft after Enqueue");
  await page.keyboard.press("Escape");
  await page.getByText("1 selected").waitFor({ state: "detached" });

  await choose("keys-run", "keys-run");
  await tabTo("Abort");
  await page.keyboard.press("Enter");
  // What cannot be taken back is not one careless Enter away.
  await t.asked(page, "Cancel");
  await tabTo("Abort");
  await page.keyboard.press("Enter");
  await row("keys-run").getByText("Aborted").waitFor();
  t.equal((await state(run)).status, "stopped", "the run after Abort");

  await choose("keys-run", "keys-run");
  await tabTo("Archive");
  await page.keyboard.press("Enter");
  await t.asked(page, "Archive");
  await page.keyboard.press("Enter");
  await page.getByText("No task matches").waitFor();
  t.equal(
    (await state(run)).system_tags.includes("archived"),
    true,
    "archived by keys",
  );
  await choose("archived:yes keys-run", "keys-run");
  await tabTo("Restore");
  await page.keyboard.press("Enter");
  await t.asked(page, "Restore");
  await page.keyboard.press("Enter");
  await page.getByText("No task matches").waitFor();
  t.equal(
    (await state(run)).system_tags.includes("archived"),
    false,
    "archived after Restore by keys",
  );
  await t.call("tasks.dequeue", { task: draft });
  for (const task of [draft, run])
    await t.call("tasks.delete", { task, force: true });
};
