// A server without our own calls (an older one, or the reference): the page works in its plainer form.
export default async (t) => {
  const page = await t.open({ quiet: [404] });
  await page.route(/\/api\/v2\.34\/x_/, (r) =>
    r.fulfill({
      status: 404,
      contentType: "application/json",
      body: JSON.stringify({
        meta: {
          id: "0",
          result_code: 404,
          result_subcode: 0,
          result_msg: "no such call",
        },
        data: {},
      }),
    }),
  );
  await page.goto(t.task("good"));
  await page.locator(".km").first().waitFor();
  await page.getByRole("region", { name: "Stage timeline" }).waitFor();
  await page.goto(t.task("good", "scalars"));
  await page.locator(".uplot").first().waitFor();
  await page
    .getByText(/no min.max on this axis/)
    .first()
    .waitFor();
  await page.goto(t.task("good", "console"));
  await page.getByRole("log").getByText("needle in the hay").waitFor();
  t.equal(
    (
      await page
        .locator(".ln")
        .filter({ hasText: "needle" })
        .locator(".no")
        .innerText()
    ).trim(),
    "203",
    "line number",
  );
  await page.goto(t.task("running", "console"));
  await page.locator(".ln").first().waitFor();
  await t.call("events.add_batch", [
    {
      type: "log",
      task: t.facts.ids.running,
      timestamp: Date.now(),
      level: "info",
      worker: "w0",
      msg: "seen by polling",
    },
  ]);
  await page.getByText("seen by polling").waitFor();
  t.equal(
    await page.getByText("seen by polling").count(),
    1,
    "times the polled line is shown",
  );
};
