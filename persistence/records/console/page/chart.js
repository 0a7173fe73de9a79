import { drawn, element, number } from "./dom.js";

const order = ["completed", "failed", "running", "partial", "died", "expired", "unreadable"];
const width = 720, height = 130, foot = 18;

// chart draws the states of records by the time when they were started, with the same in words
// for those who can't see it.
export function chart(overview) {
  const most = Math.max(1, ...overview.slots.map((slot) => total(slot)));
  const step = width / overview.slots.length;
  const bars = overview.slots.flatMap((slot, i) => bar(slot, i * step, step, (height - foot) / most));
  const first = new Date(overview.slots[0].from), last = new Date(overview.slots.at(-1).from);
  const day = overview.slot_seconds >= 3600 ? { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit" };
  const words = overview.slots.filter(total).map((slot) => `${new Date(slot.from).toLocaleString()}: ${tell(slot)}`).join("; ");
  return element("div", {},
    drawn("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": words || "No record says when it was started." },
      drawn("line", { class: "base", x1: 0, x2: width, y1: height - foot, y2: height - foot }), ...bars),
    element("div", { class: "quiet" }, `${first.toLocaleString([], day)} – ${last.toLocaleString([], day)}, most in a bar: ${number(most)}`));
}

function bar(slot, x, step, scale) {
  let y = height - foot;
  return order.filter((state) => slot.states[state]).map((state) => {
    const tall = slot.states[state] * scale;
    y -= tall;
    return drawn("rect", { class: state, x: x + 1, y, width: step - 2, height: tall }, drawn("title", {}, `${new Date(slot.from).toLocaleString()}: ${tell(slot)}`));
  });
}

const total = (slot) => Object.values(slot.states).reduce((sum, n) => sum + n, 0);
const tell = (slot) => order.filter((state) => slot.states[state]).map((state) => `${number(slot.states[state])} ${state}`).join(", ");
