// Uses the page as a person does, and leaves a story in the page's title: a line for each step.
const story = [];
const wait = async (what, find) => {
  for (let tries = 0; tries < 400; tries++) {
    const found = find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`waited in vain for ${what}`);
};
const button = (words) => [...document.querySelectorAll("button")].find((b) => !b.disabled && b.offsetParent && b.textContent.startsWith(words));
const heading = (words) => [...document.querySelectorAll("h2")].find((h) => h.textContent.includes(words));

try {
  await wait("the list", () => document.querySelector("table.list tbody tr"));
  story.push("list");
  document.querySelector(".tiles button").click();
  await wait("the stuck ones", () => location.hash.includes("stuck") && document.querySelector(".tiles button[aria-pressed=true]"));
  const link = await wait("a stuck record", () => [...document.querySelectorAll("td.key a")].find((a) => a.textContent === "checkout#stuck"));
  link.click();
  await wait("its timeline", () => document.querySelector(".timeline li"));
  story.push("timeline of " + document.querySelectorAll(".timeline li").length);
  if (document.body.textContent.includes("res_5")) throw new Error("contents are shown without having been asked for");
  (await wait("the button for contents", () => button("Show contents"))).click();
  await wait("the contents", () => [...document.querySelectorAll("pre")].find((pre) => pre.textContent.includes("res_5")));
  story.push("contents");
  (await wait("the button for a success", () => button("It has succeeded"))).click();
  const field = await wait("the result's field", () => document.querySelector("dialog textarea"));
  field.value = '{"order": 12345678901234567890}';
  (await wait("the button for the plan", () => button("See what it would do"))).click();
  const confirm = await wait("the confirmation", () => button("Do it"));
  story.push("plan of " + document.querySelectorAll("dialog ol li").length);
  confirm.click();
  await wait("the completed record", () => !document.querySelector("dialog[open]") && heading("completed"));
  story.push("settled");
} catch (error) {
  story.push("FAILED: " + error.message);
}
document.title = story.join("; ");
