// What the page asks the server. Addresses are relative, so that it can be served behind a prefix.

export class Problem extends Error {
  constructor(status, body) {
    super(body.message || `The server has answered ${status}.`);
    this.code = body.code || "failed";
    this.now = body.now;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem(0, { code: "gone", message: "The console does not answer. Is its command still running?" });
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, body);
  return body;
}

export function get(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) query.set(name, value === true ? "1" : value);
  }
  return ask(`api/${path}${query.size ? "?" + query : ""}`);
}

export function post(path, body) {
  return ask(`api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}
