import { get, post } from "./ask.js";
import { about } from "./app.js";
import { one } from "./act.js";
import { bytes, element, exact, reasons, state } from "./dom.js";

// record is the view of one record: what is known of it, in the order in which it happened.
export async function record({ key }) {
  const shown = await get("record", { key });
  return [element("p", {}, element("a", { href: "#/" }, "← All records")),
    head(shown), element("div", { class: "grid" }, happened(shown), contents(shown))];
}

function head(shown) {
  const facts = [
    ["Key", element("code", {}, shown.key)],
    ["Operation", shown.operation], ["Tenant", shown.tenant],
    ["Function", shown.function], ["Request ID", shown.request_id && element("code", {}, shown.request_id)],
    ["Attempt", shown.attempt], ["Started", exact(shown.started_at)],
    ["Lease until", exact(shown.lease_until)],
    ["Expires", shown.unreadable ? "" : shown.expires_at ? exact(shown.expires_at) : "never"],
    ["Fingerprint", shown.fingerprint && element("code", {}, shown.fingerprint)],
  ].filter(([, value]) => value);
  return element("section", { class: `panel ${shown.stuck ? "warning" : ""}` },
    element("h2", {}, state(shown), shown.status ? element("span", { class: "quiet" }, ` · ${shown.status}`) : null),
    shown.stuck ? element("p", {}, reasons[shown.stuck] || shown.stuck) : null,
    shown.unreadable ? element("p", {}, `The record can't be understood: ${shown.unreadable}`) : null,
    element("dl", {}, facts.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    about.write ? actions(shown) : null);
}

function actions(shown) {
  const button = (words, action, className) => element("button", { type: "button", class: className, onclick: () => one(shown, action) }, words);
  const finished = shown.state === "completed" || shown.state === "failed";
  return element("div", { class: "actions" },
    finished || shown.state === "running" || shown.unreadable ? null : [
      button("It has succeeded…", "complete"),
      button("It has failed for good…", "fail")],
    shown.unreadable ? null : shown.state === "running" ? element("span", { class: "quiet" }, "A run is under way: nothing can be done about it until its lease ends.") :
      button("Forget it…", "forget", "danger"));
}

function happened(shown) {
  const events = [];
  const event = (words, detail, className, extra) => events.push(element("li", { class: className }, element("b", {}, words), element("p", {}, detail), extra));
  if (shown.attempt > 1) event(`${shown.attempt - 1} earlier ${shown.attempt === 2 ? "attempt" : "attempts"}`, "Died or given up. What they have finished stands below.");
  if (!shown.unreadable) event(shown.attempt ? `Attempt ${shown.attempt} started` : "Started", shown.started_at ? exact(shown.started_at) : "When is not recorded.", "running");
  for (const step of inOrder(shown.steps)) {
    const words = { started: "was started, and may have happened", declined: "was started, and is known not to have happened", finished: "finished", undone: "undone", unreadable: "can't be understood" }[step.phase];
    const className = { started: "died open", declined: "expired open", finished: "completed", undone: "failed", unreadable: "died" }[step.phase];
    const detail = [step.order ? `number ${step.order}` : "", step.output ? `output of ${bytes(step.output.size)}` : "", step.compensable ? "is undone if the request fails for good" : "", step.starts > 1 ? `started ${step.starts} times` : ""].filter(Boolean).join(" · ");
    event(`Step ${step.name} ${words}`, detail, className, about.write && !["completed", "failed", "running"].includes(shown.state) ? stepActions(shown, step) : null);
  }
  if (shown.undoing) {
    event("Failed for good, and is being undone", `${shown.undoing.error_type || "The failure"}: its message is shown with the contents.`, "failed");
    if (shown.undoing.blocked) event(`Undoing ${shown.undoing.blocked_step || "a step"} has failed`, shown.undoing.blocked_by || "", "died");
  }
  const ends = {
    running: ["Under way", element("span", {}, "Its lease ends ", exact(shown.lease_until) || "at no known time"), "running open"],
    died: ["Not heard of again", element("span", {}, "Its lease ended ", exact(shown.lease_until)), "died"],
    partial: ["Given up", "Whoever sends the request again goes on with it.", "partial"],
    completed: ["Completed", "Duplicates get its result.", "completed"],
    failed: ["Failed for good", "Duplicates get its failure.", "failed"],
    expired: ["Expired", "The next request is a new one.", "expired"],
    unreadable: ["Can't be understood", "Nothing can be done about it here but to look.", "unreadable"],
  }[shown.state];
  if (ends) event(...ends);
  return element("section", { class: "panel" }, element("h2", {}, "What happened"), element("ol", { class: "timeline" }, events));
}

// Steps as they were finished; those that were not come after them.
const inOrder = (steps = []) => [...steps].sort((a, b) => (a.order || 1e9) - (b.order || 1e9));

function stepActions(shown, step) {
  const button = (words, action) => element("button", { type: "button", onclick: () => one(shown, action, step.name) }, words);
  if (step.phase === "started") return element("div", { class: "actions" }, button("It has happened…", "finish_step"), button("It has not…", "decline_step"));
  if (shown.undoing && step.phase === "finished") return element("div", { class: "actions" }, button("It was undone by hand…", "undo_step"));
  return null;
}

// contents are hidden until somebody asks for them.
function contents(shown) {
  const sizes = [];
  const size = (name, value) => value && sizes.push([name, value.omitted ? "could not be stored" : `${bytes(value.size)}${value.form ? `, as ${value.form}` : ""}`]);
  size("Result", shown.result);
  size("Event", shown.event);
  if (shown.undoing) sizes.push(["Failure", "a message"]);
  for (const step of shown.steps || []) size(`Output of ${step.name}`, step.output);
  const panel = element("section", { class: "panel" }, element("h2", {}, "Contents"));
  if (sizes.length === 0) {
    panel.append(element("p", { class: "quiet" }, "The record has none."));
    return panel;
  }
  const slot = element("div", {});
  const button = element("button", { type: "button", onclick: async () => {
    button.disabled = true;
    try {
      const opened = await post("open", { key: shown.key, version: shown.version });
      const parts = [["Result", opened.result], ["Event", opened.event], ["Failure", opened.failure], ["Why undoing has failed", opened.compensation], ...Object.entries(opened.steps || {}).map(([name, text]) => [`Output of ${name}`, text])];
      slot.replaceChildren(...parts.filter(([, text]) => text !== undefined).map(([name, text]) => element("div", {}, element("h3", {}, name), element("pre", { tabindex: 0 }, text))));
      button.remove();
    } catch (problem) {
      slot.replaceChildren(element("p", { class: "problem panel" }, problem.message));
      button.disabled = false;
    }
  } }, "Show contents");
  panel.append(element("dl", {}, sizes.map(([name, words]) => [element("dt", {}, name), element("dd", {}, words)])),
    element("p", { class: "quiet" }, "They may be a customer's. That you look at them is logged."),
    button, slot);
  return panel;
}
