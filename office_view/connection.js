// @ts-check
/** The socket: says hello, comes back by itself with `since`, and answers each request once. */

const SLOWEST = 10_000;

export class Connection {
  /** @param {{token: string, since: () => number | undefined, welcome: (w: any) => void, event: (e: any) => void,
   *   status: (s: "connecting" | "connected" | "reconnecting" | "signed out") => void}} use */
  constructor(use) {
    this.use = use;
    this.tries = 0;
    this.count = 0;
    this.waiting = new Map();
    this.clientId = [...crypto.getRandomValues(new Uint32Array(4))].join("-");  // randomUUID is there over https only
    this.open();
  }

  open() {
    this.use.status(this.tries ? "reconnecting" : "connecting");
    const socket = this.socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`);
    socket.onopen = () => socket.send(JSON.stringify({
      type: "hello", token: this.use.token, client_id: this.clientId, since: this.use.since(),
    }));
    socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    socket.onclose = ({ code }) => {
      for (const { reject } of this.waiting.values()) reject(new Error("The connection was lost."));
      this.waiting.clear();
      if (code === 4401) return this.use.status("signed out");
      this.use.status("reconnecting");
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
