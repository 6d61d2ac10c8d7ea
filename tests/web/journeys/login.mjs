// Logged out: any page leads to the login and back; a wrong secret is named; a one-time link works once and leaves no trace.
export default async (t) => {
  const page = await t.open({ login: false, quiet: [400, 401, 403, 404] });
  await page.goto(`${t.facts.web}/projects?q=vision`);
  await page.waitForURL(/\/login\?next=/);
  await page.getByText("Server reachable").waitFor();
  await t.accessible(page, "login");
  await page.getByLabel("User name or access key").fill(t.facts.access);
  await page.getByLabel("Password or secret key").fill("not the secret");
  await page.keyboard.press("Enter");
  await page.getByText(`Wrong secret for ${t.facts.access}`).waitFor();
  t.check(
    await page
      .getByLabel("Password or secret key")
      .evaluate((e) => e === document.activeElement),
    "focus is not on the secret after a refusal",
  );
  await t.shot(page, "login-wrong-light-1280");
  await page.getByLabel("Password or secret key").fill(t.facts.secret);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${t.facts.web}/projects?q=vision`);
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  const cookie = (await page.context().cookies()).find(
    (c) => c.name === "clearml_token_basic",
  );
  t.check(
    cookie?.httpOnly && cookie.sameSite === "Strict",
    "the session cookie is not HttpOnly and SameSite=Strict",
  );
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.waitForURL(/\/login/);
  await page.goto(`${t.facts.web}/projects`);
  await page.waitForURL(/\/login\?next=/);

  t.check(t.facts.link !== "", "the server printed no login link");
  const other = await t.open({ login: false, quiet: [400, 401, 403, 404] });
  await other.goto(t.facts.link.replace(/^http:\/\/[^/]+/, t.facts.web));
  await other.waitForURL(`${t.facts.web}/`);
  await other.getByRole("link", { name: "Stoker, home" }).waitFor();
  t.check(
    !(await other.evaluate(() => location.href + document.referrer)).includes(
      "code=",
    ),
    "the code is still in the address",
  );
  const again = await t.open({ login: false, quiet: [400, 401, 403, 404] });
  await again.goto(t.facts.link.replace(/^http:\/\/[^/]+/, t.facts.web));
  await again.getByText("This link has been used or is too old").waitFor();
  t.check(!again.url().includes("code="), "a used code stays in the address");
};
