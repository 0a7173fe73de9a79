// Elements, and words for times and numbers. Text is always set as text.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  set(made, attributes);
  made.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

export function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(made, attributes);
  made.append(...children);
  return made;
}

function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
}

const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

export function span(seconds) {
  for (const [name, length] of units) {
    if (seconds >= 2 * length || name === "s") return `${Math.floor(seconds / length)} ${name}`;
  }
}

// when shows an instant as its distance from now, with the exact one in its title.
export function when(text) {
  if (!text) return "";
  const at = new Date(text);
  const seconds = (Date.now() - at) / 1000;
  const words = seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
  return element("time", { datetime: text, title: `${at.toLocaleString()} (${text})` }, words);
}

// exact shows an instant as people write it down.
export function exact(text) {
  if (!text) return "";
  const at = new Date(text);
  return element("span", {}, element("time", { datetime: text, title: text }, at.toLocaleString()), element("span", { class: "quiet" }, " · ", when(text)));
}

export function bytes(n) {
  if (n < 1024) return `${n} bytes`;
  return `${(n / 1024).toFixed(1)} KB`;
}

export const number = (n) => n.toLocaleString();

export function state(record) {
  return element("span", { class: `state ${record.state} ${record.stuck ? "stuck" : ""}` }, record.state);
}

export const reasons = {
  run_died: "Its run has died. The next request takes it over.",
  not_resumed: "It was given up after some of its steps, and nobody has sent it again.",
  outcome_unknown: "A step that must run at most once was started, and may have happened. Somebody has to find out.",
  compensation_failed: "It has failed for good, and undoing a step does not work.",
  unreadable: "The record can't be understood, so each try of its request is refused.",
};
