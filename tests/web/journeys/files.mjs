// Plots, images and artifacts: drawn or downloadable through our own origin; addresses that could harm are only text;
// weights that a model had before can still be had.
export default async (t) => {
  const page = await t.open();
  await page.goto(t.task("good", "plots"));
  await page.getByRole("article", { name: "Confusion matrix" }).waitFor();
  t.equal(
    await page
      .getByRole("row", { name: /rider/ })
      .first()
      .getByRole("cell")
      .allInnerTexts(),
    ["1", "2", "97"],
    "row of the confusion matrix",
  );

  await page.goto(t.task("good", "images"));
  const image = page.getByRole("button", { name: /Open samples\/first/ });
  await image.waitFor();
  // Both are drawn, also the one whose path holds an escaped slash, a per cent sign, a plus: encoded exactly once.
  await page.waitForFunction(() => {
    const shots = [...document.querySelectorAll(".shot img")];
    return shots.length === 2 && shots.every((i) => i.naturalWidth > 0);
  });
  t.check(
    (await image.locator("img").getAttribute("src")).startsWith("/files/"),
    "the image does not come from our origin",
  );
  await image.click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: "Next image" })
    .waitFor();
  await page.keyboard.press("Escape");

  await page.goto(t.task("good", "artifacts"));
  await page.getByRole("button", { name: "table" }).click();
  await page.getByText("a,b").waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download table" }).click();
  t.check((await (await saved).failure()) === null, "the download failed");
  t.equal(
    await page.getByRole("link", { name: "Download remote" }).count(),
    0,
    "links to s3 addresses",
  );
  t.equal(
    await page.locator('a[href^="javascript"]').count(),
    0,
    "links that run script",
  );

  await page.getByRole("button", { name: "the weights" }).click();
  const earlier = page.getByRole("table", { name: "Earlier files" });
  await earlier.waitFor();
  t.equal(
    (await earlier.getByRole("row").allInnerTexts()).map((r) =>
      r.split("\t").slice(0, 2),
    ),
    [
      ["epoch 20.pt", "20 B"],
      ["epoch 10.pt", "10 B"],
    ],
    "earlier files of the model",
  );
  for (const [name, size] of [
    ["the weights", 30],
    ["epoch 10.pt", 10],
  ]) {
    const file = page.waitForEvent("download");
    await page.getByRole("link", { name: `Download ${name}` }).click();
    const chunks = [];
    for await (const c of await (await file).createReadStream()) chunks.push(c);
    t.equal(Buffer.concat(chunks).length, size, `bytes of ${name}`);
  }
};
