import { get, Problem } from "./ask.js";
import { element } from "./dom.js";
import { list } from "./list.js";
import { record } from "./record.js";

const main = document.getElementById("main");
const notice = document.getElementById("notice");
export const about = await get("about").catch((problem) => { show(problem); return { title: "Idempotency records" }; });

document.title = about.title;
document.getElementById("title").textContent = about.title;
document.getElementById("mode").textContent = about.write ? "may write" : "read only";
document.getElementById("refresh").addEventListener("click", () => route());

// show tells what went wrong where the content would be.
function show(problem) {
  if (!(problem instanceof Problem)) console.error(problem);
  main.replaceChildren(element("div", { class: "panel problem" }, element("h2", {}, "That did not work"), problem.message));
}

let hiding;
export function say(words) {
  notice.textContent = words;
  notice.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { notice.hidden = true; }, 8000);
}

// Where the page is stands behind the #, so that it can be linked to and gone back to.
export function go(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  location.hash = `#/${path}${query.size ? "?" + query : ""}`;
}

let turn = 0;
export async function route() {
  const mine = ++turn;
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parameters = Object.fromEntries(new URLSearchParams(query));
  const button = document.getElementById("refresh");
  button.disabled = true;
  main.setAttribute("aria-busy", "true");
  try {
    const content = path === "record" ? await record(parameters) : await list(parameters);
    if (mine === turn) {
      main.replaceChildren(...content);
      document.getElementById("read").textContent = `Read at ${new Date().toLocaleTimeString()}`;
    }
  } catch (problem) {
    if (mine === turn) show(problem);
  } finally {
    if (mine === turn) {
      button.disabled = false;
      main.removeAttribute("aria-busy");
    }
  }
}

addEventListener("hashchange", () => { route(); scrollTo(0, 0); });
route();
