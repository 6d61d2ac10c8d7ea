// The console: a long log is searched and downloaded whole; colours, hostile lines as text, folded bars, search, levels, and new lines that show up while following.
export default async (t) => {
  const page = await t.open();
  await page.goto(t.task("good", "console"));
  await page.getByRole("log").getByText("needle in the hay").waitFor();
  await page
    .getByText("<script>window.hacked = 1</script><img src=x onerror=alert(1)>")
    .waitFor();
  t.check(
    await page.evaluate(
      () =>
        window.hacked === undefined &&
        document.querySelectorAll(".lines img, .lines script").length === 0,
    ),
    "a log line became markup",
  );
  await t.seen(
    page.getByText("right \ufffdto left"),
    "a bidi control is not made visible",
  );
  await t.seen(
    page.getByText("2 updates folded"),
    "the progress bar is not folded",
  );
  await t.seen(
    page.locator(".lines .a-g").first(),
    "ANSI colours are not drawn",
  );
  await t.seen(
    page.getByText("207 lines"),
    `the number of lines is not shown: ${await page.locator(".ctool").innerText()}`,
  );

  await page.keyboard.press("/");
  await page.keyboard.type("needle");
  await page.getByText("1 hit", { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("mark.cur").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("Warnings 1").click();
  await page.waitForFunction(
    () => document.querySelectorAll(".ln").length === 1,
  );
  await page.goto(t.task("failed", "console"));
  await page.locator(".ln.error").getByText("KeyError: 'mask_path'").waitFor();
  t.check(
    (await page.locator(".ln.trace").count()) >= 2,
    "the traceback is not marked",
  );

  await page.goto(`${t.task("good", "console")}#L5`);
  await page.locator(".ln.marked").waitFor();
  t.equal(
    (await page.locator(".ln.marked .no").innerText()).trim(),
    "5",
    "line of the address",
  );

  // Follow: a line written now is seen soon; scrolled up, it is only counted.
  await page.goto(t.task("running", "console"));
  await page.getByText("line 49").waitFor();
  const write = (msg) =>
    t.call("events.add_batch", [
      {
        type: "log",
        task: t.facts.ids.running,
        timestamp: Date.now(),
        level: "info",
        worker: "w0",
        msg,
      },
    ]);
  await write("hello follower");
  await page.getByText("hello follower").waitFor();
  for (let i = 0; i < 60; i++) await write(`more ${i}`);
  await page.getByText("more 59").waitFor();
  await page.getByRole("log").hover();
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(
    () => !document.querySelector("input[role=switch]")?.checked,
  );
  await write("while away");
  await page.getByRole("button", { name: /Jump to live/ }).waitFor();
  await page.getByRole("button", { name: /Jump to live/ }).click();
  await page.getByText("while away").waitFor();

  // 34,374 lines: what stands only in line 30,000 is found, a download has them all.
  const long = (
    await t.call("tasks.create", { name: "long log", type: "training" })
  ).id;
  await t.call("tasks.started", { task: long });
  for (let from = 1; from <= 34374; from += 5000)
    await t.call("events.add_batch", [
      {
        type: "log",
        task: long,
        timestamp: 1_700_000_000_000 + from,
        level: "info",
        worker: "w0",
        msg: Array.from({ length: Math.min(5000, 34375 - from) }, (_, i) =>
          from + i === 30000 ? "a needle" : `line ${from + i}`,
        ).join("\n"),
      },
    ]);
  await t.call("tasks.completed", { task: long });
  await page.goto(`${t.facts.web}/projects/*/tasks/${long}/console`);
  await page.getByRole("log").getByText("line 34374").waitFor();
  await page.getByText("34,374 lines").waitFor();
  const file = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download log" }).click();
  const chunks = [];
  for await (const c of await (await file).createReadStream()) chunks.push(c);
  const lines = Buffer.concat(chunks).toString().split("\n");
  t.equal(lines.length, 34375, "lines of the download, with its last newline");
  t.check(
    lines.every((l, i) =>
      i === 29999
        ? l === "a needle"
        : i === 34374
          ? l === ""
          : l === `line ${i + 1}`,
    ),
    "the download is not the log in its order",
  );
  await page.keyboard.press("/");
  await page.keyboard.type("needle");
  await page.getByText("1 hit", { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("mark.cur").waitFor();
  t.equal(
    (await page.locator(".ln.curln .no").innerText()).trim(),
    "30,000",
    "line of the hit",
  );
  await t.call("tasks.delete", { task: long, force: true });
};
