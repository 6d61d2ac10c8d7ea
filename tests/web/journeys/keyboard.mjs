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
};
