// @ts-check
/** The socket: has the server prove itself, says hello, comes back by itself with `since`, and answers each request once. */

const SLOWEST = 10_000;
const encoder = new TextEncoder();

function random() { return [...crypto.getRandomValues(new Uint32Array(4))].join("-"); }  // randomUUID is there over https only

/** What only a server that knows the token can answer, and only under the name that we know it by.
 *  @param {string} token @param {string} nonce */
async function proof(token, nonce) {
  const key = await crypto.subtle.importKey("raw", encoder.encode(token), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signed = await crypto.subtle.sign("HMAC", key, encoder.encode(`${location.host} ${nonce}`));
  return [...new Uint8Array(signed)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Connection {
  /** @param {{token: string, since: () => number | undefined, welcome: (w: any) => void, event: (e: any) => void,
   *   status: (s: "connecting" | "connected" | "reconnecting" | "signed out") => void}} use */
  constructor(use) {
    this.use = use;
    this.tries = 0;
    this.count = 0;
    this.waiting = new Map();
    /** Somebody else answered in place of the server. */
    this.doubted = false;
    this.clientId = random();
    this.open();
  }

  open() {
    if (!this.doubted) this.use.status(this.tries ? "reconnecting" : "connecting");
    const { token } = this.use;
    const nonce = token && crypto.subtle ? random() : "";  // like randomUUID, it is there over https and on this machine
    const socket = this.socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws${nonce && `?nonce=${nonce}`}`);
    const hello = () => {
      socket.onmessage = ({ data }) => this.take(JSON.parse(data));
      socket.send(JSON.stringify({ type: "hello", token, client_id: this.clientId, since: this.use.since() }));
    };
    if (!nonce) socket.onopen = hello;
    socket.onmessage = async ({ data }) => {
      this.doubted = !data.includes(await proof(token, nonce));
      if (this.doubted) socket.close();
      else if (socket.readyState === WebSocket.OPEN) hello();
    };
    socket.onclose = ({ code }) => {
      for (const { reject } of this.waiting.values()) reject(new Error("The connection was lost."));
      this.waiting.clear();
      if (code === 4401) return this.use.status("signed out");
      this.use.status(this.doubted ? "signed out" : "reconnecting");
      this.tries += 1;
      setTimeout(() => this.open(), Math.min(SLOWEST, 250 * 2 ** Math.min(this.tries, 6)));
    };
  }

  /** @param {any} message */
  take(message) {
    const waiting = this.waiting.get(message.request_id);
    if (message.type === "welcome") {
      this.tries = 0;
      this.use.welcome(message);
      this.use.status("connected");
    } else if (waiting) {
      this.waiting.delete(message.request_id);
      if (message.type === "error") waiting.reject(new Error(message.message));
      else waiting.resolve(message);
    } else {
      this.use.event(message);
    }
  }

  /** @param {any} message @returns {Promise<any>} */
  request(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error("There is no connection."));
    const request_id = `${this.clientId}-${++this.count}`;
    this.socket.send(JSON.stringify({ ...message, request_id }));
    return new Promise((resolve, reject) => this.waiting.set(request_id, { resolve, reject }));
  }
}
