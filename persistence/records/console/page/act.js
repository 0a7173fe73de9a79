import { post } from "./ask.js";
import { go, route, say } from "./app.js";
import { element, number } from "./dom.js";

const dialog = document.getElementById("dialog");

const titles = {
  forget: "Forget this record", complete: "The request has succeeded", fail: "The request has failed for good",
  finish_step: "The step has happened", decline_step: "The step has not happened", undo_step: "The step was undone by hand",
  complete_without_result: "The requests have succeeded",
};

// one does something about one record, once it has said what.
export function one(shown, what, step) {
  const action = { do: what, step: step || "" };
  ask(titles[what], fields(what), async (form) => {
    Object.assign(action, read(what, form));
    const asked = { key: shown.key, version: shown.version, action };
    const plan = await post("plan", asked);
    return { plan, count: 1, confirm: async () => {
      const done = await post("do", asked);
      say(done.now ? `Done. The record is ${done.now.state} now.` : "Done. The record is gone.");
      if (done.now) await route(); else go("");
    } };
  });
}

// all does something about all records that a filter matches, once it has said how many.
export function all(filter) {
  const choice = element("select", { name: "what" },
    [["forget", "Forget them"], ["complete_without_result", "They have succeeded, with results that nobody knows"], ["fail", "They have failed for good"]].map(([value, words]) => element("option", { value }, words)));
  ask("All records that match", [element("label", {}, "What is to be done", choice), ...fields("fail").map((field) => { field.dataset.of = "fail"; return field; })], async (form) => {
    const what = form.get("what");
    const asked = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, name === "stuck" ? Boolean(value) : value]));
    const plan = await post("bulk/plan", { filter: asked, action: { do: what, ...(what === "fail" ? read("fail", form) : {}) } });
    if (plan.count === 0) return { plan: { does: [], notes: [`Nothing can be done: ${number(plan.refused)} match, and none of them is in a state for it.`] }, count: 0 };
    const states = Object.entries(plan.states).map(([state, n]) => `${number(n)} ${state}`).join(", ");
    const notes = [`${number(plan.count)} records: ${states}.`];
    if (plan.refused) notes.push(`${number(plan.refused)} more match and are left alone: it can't be done to them.`);
    if (plan.limited) notes.push("There may be more that match; they are left alone.");
    return { plan: { does: plan.first.does.map((words) => `To each of them: ${words}`), notes: [...notes, ...(plan.first.notes || [])] }, count: plan.count, confirm: async () => {
      const done = await post("bulk/do", { id: plan.id, count: plan.count });
      const rest = [done.changed && `${number(done.changed)} had changed and were left alone`, done.failed && `${number(done.failed)} failed (${done.why})`, done.left && `${number(done.left)} were not come to`].filter(Boolean);
      say([`Done to ${number(done.done)}.`, ...rest].join(" "));
      await route();
    } };
  });
  const toggle = () => dialog.querySelectorAll("[data-of=fail]").forEach((field) => { field.hidden = choice.value !== "fail"; field.querySelector("input").disabled = field.hidden; });
  choice.addEventListener("change", toggle);
  toggle();
}

function fields(what) {
  const label = (words, input) => element("label", {}, words, input);
  switch (what) {
    case "complete": return [label("Result, in JSON: every duplicate gets it. Leave it empty if nobody knows it.", element("textarea", { name: "result", rows: 5, spellcheck: "false" }))];
    case "finish_step": return [label("Output of the step, in JSON ({} if it returns nothing). Empty if nobody knows it: then no try gets past the step, unless it has a Reconcile.", element("textarea", { name: "output", rows: 5, spellcheck: "false" }))];
    case "fail": return [
      label("Type of the error, such as CardDeclined", element("input", { name: "error_type", required: true, autocomplete: "off" })),
      label("What duplicates are told", element("input", { name: "message", autocomplete: "off" }))];
    default: return [];
  }
}

function read(what, form) {
  switch (what) {
    case "complete": return form.get("result").trim() ? { result: form.get("result") } : { do: "complete_without_result" };
    case "finish_step": return form.get("output").trim() ? { output: form.get("output") } : {};
    case "fail": return { error_type: form.get("error_type"), message: form.get("message") };
    default: return {};
  }
}

// ask shows a dialog of two pages: what is to be done, and what that would do, to be confirmed.
function ask(title, inputs, plan) {
  const problem = element("p", { role: "alert", hidden: true, class: "panel problem" });
  const attempt = async (button, work) => {
    button.disabled = true;
    problem.hidden = true;
    try {
      await work();
    } catch (error) {
      problem.textContent = error.code === "changed" ? "The record is not what you have seen any more. Nothing was done: close this, and look again." : error.message;
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  };
  const cancel = () => element("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const next = element("button", { type: "submit" }, "See what it would do");
  const form = element("form", { method: "dialog" }, element("h2", { id: "dialog-title" }, title), inputs, problem, element("div", { class: "actions" }, next, cancel()));
  const confirmation = async (data) => {
    const made = await plan(data);
    const confirm = element("button", { type: "submit", class: "danger" }, made.count > 1 ? `Do it to ${number(made.count)} records` : "Do it");
    const typed = made.count > 1 ? element("label", {}, `Type ${made.count} to confirm`, element("input", { inputmode: "numeric", autocomplete: "off", pattern: String(made.count), required: true })) : null;
    const second = element("form", { method: "dialog" }, element("h2", { id: "dialog-title" }, title),
      made.plan.does.length ? element("ol", {}, made.plan.does.map((words) => element("li", {}, words))) : null,
      (made.plan.notes || []).length ? element("ul", { class: "quiet" }, made.plan.notes.map((words) => element("li", {}, words))) : null,
      typed, problem, element("div", { class: "actions" }, made.count ? confirm : null, cancel()));
    second.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(confirm, async () => { await made.confirm(); dialog.close(); });
    });
    dialog.replaceChildren(second);
    (typed ? typed.querySelector("input") : confirm).focus();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(next, () => confirmation(new FormData(form)));
  });
  dialog.replaceChildren(form);
  dialog.showModal();
  if (inputs.length === 0) form.requestSubmit();
}
