// Every page, light and dark, 1280 and 390 wide: axe finds nothing, nothing scrolls sideways, a picture is kept.
export default async (t) => {
  const { web, project } = t.facts;
  const pages = {
    home: web,
    projects: `${web}/projects`,
    tasks: `${web}/projects/${project}/tasks`,
    all: `${web}/projects/*/tasks`,
    queues: `${web}/queues`,
    workers: `${web}/workers`,
    failed: t.task("failed"),
    draft: t.task("draft", "config"),
    missing: `${web}/nowhere`,
    versions: `${t.task("good", "artifacts")}?open=the%20weights`,
    ...Object.fromEntries(
      [
        "",
        "execution",
        "config",
        "artifacts",
        "console",
        "scalars",
        "plots",
        "images",
        "info",
      ].map((tab) => [tab || "summary", t.task("good", tab)]),
    ),
  };
  const ready = {
    tasks: ".tr, .tcard",
    all: ".tr, .tcard",
    console: ".ln",
    scalars: ".uplot",
    plots: ".heat",
    images: ".shot img",
    summary: ".km",
    home: ".hlist li",
    versions: ".avers tr",
    ...Object.fromEntries(
      ["execution", "config", "artifacts", "info", "failed", "draft"].map(
        (name) => [name, ".body .card"],
      ),
    ),
  };
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const page = await t.open({
        width,
        height: width < 500 ? 844 : 800,
        scheme,
      });
      for (const [name, url] of Object.entries(pages)) {
        await page.goto(url);
        await page.waitForSelector(ready[name] ?? "main :is(h1, h2, .card)");
        await t.settled(page);
        await t.shot(page, `${name}-${scheme}-${width}`);
        await t.accessible(page, `${name} ${scheme} ${width}`);
      }
      await page.context().close();
    }
  }
};
