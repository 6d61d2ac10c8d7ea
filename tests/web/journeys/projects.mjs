// Projects by level: one card says how many lie inside; more than a page of them, each can be reached and found by name.
export default async (t) => {
  const top = (
    await t.call("projects.create", { name: "wide", description: "" })
  ).id;
  for (let i = 0; i < 620; i++)
    await t.call("projects.create", {
      name: `wide/sub ${String(i).padStart(3, "0")}`,
      description: "",
    });
  const page = await t.open();
  const answers = [];
  page.on("response", (r) => {
    // An answer that the page has left behind has no body any more.
    if (r.url().endsWith("/projects.get_all_ex"))
      r.body().then(
        (b) => answers.push(b.length),
        () => undefined,
      );
  });
  await page.goto(`${t.facts.web}/projects`);
  const card = page.getByRole("link", { name: /^wide/ });
  await card.waitFor();
  t.equal(await card.count(), 1, "cards of the wide project");
  t.check(
    (await card.innerText()).includes("620 projects inside"),
    `the card does not say what is inside: ${await card.innerText()}`,
  );
  await card.click();
  await page.waitForURL(`${t.facts.web}/projects/${top}`);
  const inside = page.locator(".pcard");
  await page.waitForFunction(
    () => document.querySelectorAll(".pcard").length === 100,
  );
  const more = page.getByRole("button", { name: "Show more" });
  for (let n = 200; n <= 700; n += 100) {
    await more.click();
    await page.waitForFunction(
      (want) => document.querySelectorAll(".pcard").length === want,
      Math.min(n, 620),
    );
  }
  t.equal(await more.count(), 0, "buttons for more after the last page");
  t.equal(
    new Set(await inside.locator("b").allInnerTexts()).size >= 620,
    true,
    "each project is shown once",
  );

  await page.getByLabel("Search projects").fill("SUB 00");
  await page.waitForFunction(
    () => document.querySelectorAll(".pcard").length === 10,
  );
  await page.getByLabel("Search projects").fill("no (such");
  await page.getByText("No project has this name").waitFor();
  await page.goto(`${t.facts.web}/projects/${top}/tasks`);
  await page.getByRole("link", { name: /^Projects\s*620/ }).waitFor();
  t.check(
    Math.max(...answers) < 600_000,
    `an answer has ${Math.max(...answers)} bytes`,
  );
};
