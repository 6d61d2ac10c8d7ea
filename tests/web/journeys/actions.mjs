// Edit a draft, clone with another value, enqueue, see it wait, take it out, reset, publish, delete: each seen by the API too.
export default async (t) => {
  const page = await t.open();
  const get = async (id) =>
    (await t.call("tasks.get_all_ex", { id: [id] })).tasks[0];
  await page.goto(t.task("draft", "config"));
  const lr = page.getByLabel("Value of lr");
  await lr.waitFor();
  await page.getByLabel("Value of amp").fill("tru");
  await page.getByText("True or False, as the script declares bool").waitFor();
  await page.keyboard.press("Escape");
  await lr.fill("0.25");
  await lr.press("Enter");
  await page.getByText("lr saved").waitFor();
  t.equal(
    (await get(t.facts.ids.draft)).hyperparams.General.lr.value,
    "0.25",
    "lr after the edit",
  );
  // A parameter recorded as null takes the type of what is typed: a list must come back as a list.
  const size = page.getByLabel("Value of size");
  await size.fill("[600, 500]");
  await size.press("Enter");
  await page.getByText("size saved").waitFor();
  const list = {
    section: "General",
    name: "size",
    value: "[600, 500]",
    type: "list",
  };
  t.equal(
    (await get(t.facts.ids.draft)).hyperparams.General.size,
    list,
    "size after the edit",
  );
  await page.goto(t.task("published", "config"));
  await page.getByText("Read only").waitFor();
  t.equal(
    await page.getByLabel("Value of lr").count(),
    0,
    "edit fields of a published task",
  );

  await page.goto(t.task("good"));
  await page.getByRole("button", { name: "Clone" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("cloned here");
  await dialog.getByLabel(/General\/lr/).fill("0.5");
  await dialog.getByLabel(/General\/size/).fill("[600, 500]");
  await dialog.getByText("2 changed").waitFor();
  await dialog.getByText("Enqueue at once").click();
  await dialog
    .getByLabel("Queue", { exact: true })
    .selectOption({ label: "nightly" });
  await dialog.getByText("No worker listens").waitFor();
  await dialog.getByRole("button", { name: "Clone and enqueue" }).click();
  await page.getByRole("heading", { name: "cloned here" }).waitFor();
  await page.getByText("Queued", { exact: true }).first().waitFor();
  const id = page.url().split("/").pop();
  const made = await get(id);
  t.equal(
    [
      made.status,
      made.hyperparams.General.lr.value,
      made.hyperparams.General.lr.type,
      made.hyperparams.General.epochs.value,
      made.hyperparams.General.size,
    ],
    ["queued", "0.5", "float", "20", list],
    "the clone",
  );

  await page.goto(`${t.facts.web}/queues`);
  await page.getByRole("link", { name: /nightly/ }).click();
  await page.getByRole("link", { name: "cloned here" }).waitFor();
  await page.getByText("no worker listens to this queue").waitFor();
  // Order: a second task comes to the front, and goes to the end again.
  const second = (
    await t.call("tasks.clone", {
      task: t.facts.ids.good,
      new_task_name: "the second",
    })
  ).id;
  const { queue } = (await get(id)).execution;
  await t.call("tasks.enqueue", { task: second, queue: queue.id });
  const first = () =>
    t
      .call("queues.get_by_id", { queue: queue.id })
      .then((d) => d.queue.entries[0].task);
  await page.getByRole("button", { name: "the second to the front" }).click();
  await page.getByText("the second is first now").waitFor();
  t.equal(await first(), second, "after the move to the front");
  await page.getByRole("button", { name: "the second to the end" }).click();
  await page.getByText("the second is last now").waitFor();
  t.equal(await first(), id, "after the move to the end");
  await t.call("tasks.dequeue", { task: second });
  await t.call("tasks.delete", { task: second, force: true });
  await page
    .getByRole("link", { name: "the second" })
    .waitFor({ state: "detached" });

  // What the machine does stands on its worker's card.
  const stats = { cpu_usage: [41], memory_used: 2048, memory_free: 6144 };
  await t.call("workers.status_report", {
    worker: "gpu-07:0",
    queues: [queue.id],
    timestamp: Date.now(),
    machine_stats: { ...stats, gpu_usage: [94, 7] },
  });
  const card = page.getByRole("region", { name: /gpu-07:0/ });
  await t.seen(card.getByText("CPU 41 %"), "the processor's load");
  await t.seen(card.getByText("RAM 2 of 8 GiB"), "the memory in use");
  await t.seen(card.getByText("GPU 0 94 %"), "the load of the first GPU");
  await t.call("workers.unregister", { worker: "gpu-07:0" });

  await page.getByRole("button", { name: "Dequeue" }).click();
  await page.getByText("Nothing waits here").waitFor();
  t.equal((await get(id)).status, "created", "after dequeue");
  await page.getByRole("button", { name: "New queue" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("made here");
  await page.getByRole("dialog").getByRole("button", { name: "Make" }).click();
  await page.getByRole("heading", { name: "made here" }).waitFor();

  await t.call("tasks.started", { task: id });
  await page.goto(t.task("good").replace(t.facts.ids.good, id));
  await page.getByRole("button", { name: "Abort" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Abort" }).click();
  await page.getByText("Aborted", { exact: true }).first().waitFor();
  const more = async (name) => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name }).click();
    await page.getByRole("dialog").getByRole("button", { name }).click();
  };
  await more("Reset");
  await page.getByText("Draft", { exact: true }).first().waitFor();
  await t.call("tasks.started", { task: id });
  await t.call("tasks.completed", { task: id });
  await page.getByText("Completed", { exact: true }).first().waitFor();
  await more("Publish");
  await page.getByText("Published", { exact: true }).first().waitFor();
  t.equal((await get(id)).status, "published", "after publish");

  await t.call("tasks.delete", { task: id, force: true });

  const gone = (
    await t.call("tasks.clone", {
      task: t.facts.ids.good,
      new_task_name: "to be deleted",
    })
  ).id;
  await page.goto(t.task("good").replace(t.facts.ids.good, gone));
  await page.getByRole("heading", { name: "to be deleted" }).waitFor();
  await more("Delete");
  await page.waitForURL(/\/tasks$/);
  t.equal(await get(gone), undefined, "the deleted task");
};
