// @ts-check
/** Everything that was ever said, found by its words. */

import { $, button, element } from "./elements.js";

const PAUSE_MS = 200;
const SHOWN = 40;

export class Search {
  /** @param {{request: (message: any) => Promise<any>, open: (found: any) => void}} use */
  constructor(use) {
    this.use = use;
    this.timer = 0;
    this.asked = "";
    $("search-open").addEventListener("click", () => this.toggle());
    $("search-words").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.find(), PAUSE_MS);
    });
    $("search").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") { event.stopPropagation(); this.toggle(); $("search-open").focus(); }
    });
  }

  toggle() {
    $("search").hidden = !$("search").hidden;
    $("search-open").ariaExpanded = String(!$("search").hidden);
    if (!$("search").hidden) $("search-words").focus();
  }

  find() {
    const query = this.asked = $("search-words").value.trim();
    if (!query) { $("search-found").replaceChildren(); return; }
    this.use.request({ type: "search", query, limit: SHOWN }).then(({ messages }) => {
      if (query === this.asked) this.draw(messages);
    }).catch((error) => { $("search-found").textContent = error.message; });
  }

  /** @param {any[]} found */
  draw(found) {
    $("search-found").replaceChildren(...found.map((one) => {
      const row = button("", () => { this.toggle(); this.use.open(one); }, "hit");
      const when = new Date(one.at * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
      row.append(element("span", "soft", `${one.author_name} · ${one.room_id ? one.room ?? one.room_id : "in passing"} · ${when}`), element("span", "", one.content.slice(0, 240)));
      return row;
    }), ...(found.length ? [] : [element("p", "soft", "Nothing was found.")]));
  }
}
