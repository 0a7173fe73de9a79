import { get } from "./ask.js";
import { about, go, say } from "./app.js";
import { all } from "./act.js";
import { chart } from "./chart.js";
import { element, number, reasons, state, when } from "./dom.js";

const states = ["running", "died", "partial", "completed", "failed", "expired", "unreadable"];

// list is the first view: what there is, and the records that a filter lets through.
export async function list(filter) {
  const [overview, page] = await Promise.all([get("overview"), get("records", filter)]);
  return [tiles(overview, filter), charts(overview, filter), found(page, filter, overview)];
}

function tiles(overview, filter) {
  const stuck = Object.values(overview.reasons).reduce((sum, n) => sum + n, 0);
  const tile = (words, n, className, pressed, next) => element("li", {},
    element("button", { type: "button", class: className, "aria-pressed": String(pressed), onclick: () => go("", pressed ? {} : next) }, element("b", {}, number(n)), words));
  return element("ul", { class: "tiles", "aria-label": "Records by state" },
    tile("stuck", stuck, "died", Boolean(filter.stuck), { stuck: "1" }),
    states.filter((name) => name !== "unreadable" || overview.states[name]).map((name) => tile(name, overview.states[name] || 0, name, filter.state === name, { state: name })));
}

function charts(overview, filter) {
  const rows = overview.operations.map((of) => element("tr", {},
    element("td", {}, element("a", { href: `#/?operation=${encodeURIComponent(of.name)}` }, of.name || "(not in the key)")),
    element("td", { class: "number" }, number(of.records)),
    element("td", { class: "number" }, number(of.stuck)),
    element("td", { class: "number" }, number(of.writes)),
    about.price_per_million ? element("td", { class: "number" }, (of.writes * about.price_per_million / 1e6).toFixed(4)) : null));
  const head = ["Operation", "Records", "Stuck", "Units, from"].concat(about.price_per_million ? ["Cost"] : []);
  return element("div", { class: "grid" },
    element("section", { class: "panel" },
      element("h2", {}, "Started, by state"), chart(overview),
      overview.undated > 0 ? element("p", { class: "quiet" }, `${number(overview.undated)} records do not say when they were started.`) : null),
    element("section", { class: "panel scroll" },
      element("h2", {}, "Operations and what they cost"),
      element("table", {},
        element("thead", {}, element("tr", {}, head.map((name, i) => element("th", { scope: "col", class: i ? "number" : "" }, name)))),
        element("tbody", {}, rows)),
      element("p", { class: "quiet" }, "Write units of the attempts, steps and outcomes of these records, if each has up to 1 KB."),
      overview.limited ? element("p", { class: "quiet" }, `Only the first ${number(overview.total)} records were counted: the rest would have cost too many read units.`) : null));
}

function found(page, filter, overview) {
  const body = element("tbody", {}, page.records.map(row));
  const caption = element("caption", { role: "status" });
  let records = page.records.length, seen = page.seen;
  const tell = (last) => {
    caption.textContent = `${number(records)} shown` + (last.cursor ? `, ${number(seen)} of ${number(overview.total)} looked at` : "") +
      (last.limited ? ". Looking further costs more read units." : "");
  };
  tell(page);
  const more = element("button", { type: "button", hidden: !page.cursor, onclick: async () => {
    more.disabled = true;
    let next;
    try {
      next = await get("records", { ...filter, cursor: page.cursor });
    } catch (problem) {
      more.disabled = false;
      return say(problem.message);
    }
    page = next;
    records += next.records.length;
    seen += next.seen;
    body.append(...next.records.map(row));
    tell(next);
    more.disabled = false;
    more.hidden = !next.cursor;
  } }, "Show more");
  return element("section", { class: "panel" },
    element("h2", {}, "Records"), form(filter),
    page.records.length === 0 && !page.cursor ? element("p", {}, "No record matches.") :
      element("table", { class: "list" }, caption,
        element("thead", {}, element("tr", {}, ["State", "Key", "Operation", "Started", "Attempt", "Function", "Ends"].map((name) => element("th", { scope: "col" }, name)))),
        body),
    element("div", { class: "actions" }, more,
      about.write && page.records.length > 0 ? element("button", { type: "button", class: "danger", onclick: () => all(filter) }, "Do something about all that match…") : null));
}

function row(record) {
  const cell = (of, content, attributes = {}) => element("td", { "data-of": of, ...attributes }, content);
  return element("tr", { title: record.stuck ? reasons[record.stuck] : undefined },
    cell("State", state(record)),
    cell("Key", element("a", { href: `#/record?key=${encodeURIComponent(record.key)}` }, record.key), { class: "key" }),
    cell("Operation", record.operation || ""),
    cell("Started", when(record.started_at)),
    cell("Attempt", record.attempt || ""),
    cell("Function", record.function || ""),
    cell("Ends", when(record.state === "running" || record.state === "died" ? record.lease_until : record.expires_at)));
}

function form(filter) {
  const input = (name, words, attributes) => element("label", { class: attributes.class }, words, element("input", { name, value: filter[name] || "", ...attributes, class: undefined }));
  const option = (value, words) => element("option", { value, selected: (filter.state || "") === value }, words);
  const made = element("form", { class: "filter", role: "search" },
    input("search", "Key, request ID or function", { type: "search", class: "grow", placeholder: "a part of it" }),
    element("label", {}, "State", element("select", { name: "state" }, option("", "any"), states.map((name) => option(name, name)))),
    input("operation", "Operation", { size: 12 }),
    input("older_than", "Older than", { size: 6, placeholder: "15m" }),
    element("label", { class: "check" }, element("input", { type: "checkbox", name: "stuck", value: "1", checked: Boolean(filter.stuck) }), "stuck"),
    element("button", { type: "submit" }, "Find"));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    go("", Object.fromEntries(new FormData(made)));
  });
  return made;
}
