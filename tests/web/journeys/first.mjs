// An empty server shows the way to a first task, and the page changes by itself when it arrives.
export default async (t) => {
  const page = await t.open();
  await page.goto(t.facts.web);
  await page.getByRole("heading", { name: "Run your first task" }).waitFor();
  await t.accessible(page, "first run");
  await t.shot(page, "first-light-1280");
  const text = await page.locator(".steps").innerText();
  t.check(
    text.includes(t.facts.web),
    "the configuration does not name this server",
  );
  await page.goto(`${t.facts.web}/projects/*/tasks`);
  await page.getByText("No task here yet").waitFor();
  await page.goto(`${t.facts.web}/workers`);
  await page.getByText("No worker reported").waitFor();
  await page.goto(t.facts.web);
  await page.getByRole("heading", { name: "Run your first task" }).waitFor();
  const project = (
    await t.call("projects.create", { name: "first", description: "" })
  ).id;
  await t.call("tasks.create", {
    name: "hello stoker",
    type: "training",
    project,
  });
  await page
    .getByRole("link", { name: /hello stoker/ })
    .first()
    .waitFor();
};
