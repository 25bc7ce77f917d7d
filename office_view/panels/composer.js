// @ts-check
/** Where a person writes: Enter sends, Shift+Enter breaks the line, @ completes a name. */

import { $, avatar, element } from "./elements.js";

export class Composer {
  /** @param {{request: (message: any) => Promise<any>, say: (text: string) => void}} use */
  constructor(use) {
    this.use = use;
    /** @type {any} */ this.room = null;
    /** @type {string[]} */ this.names = [];
    this.chosen = 0;
    const box = $("write");
    box.addEventListener("input", () => { this.grow(); this.complete(); });
    box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    box.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    $("composer").addEventListener("submit", (/** @type {Event} */ event) => { event.preventDefault(); this.send(); });
  }

  /** @param {any} state @param {any} room */
  draw(state, room) {
    this.room = room;
    this.names = (room?.agents ?? []).map((/** @type {string} */ id) => state.agents.get(id)?.name).filter(Boolean);
    const why = this.reason(state, room);
    const box = $("write");
    if (box.disabled !== Boolean(why)) box.disabled = Boolean(why);
    $("send").disabled = Boolean(why);
    const hint = why || "Write to everybody; @ addresses one";
    if (box.placeholder !== hint) box.placeholder = hint;
    $("finish").hidden = !room?.auto || state.scope !== "operator";
  }

  /** Why nobody can write now, in words. @param {any} state @param {any} room */
  reason(state, room) {
    if (state.scope !== "operator") return "This link may only watch";
    if (!room) return "There is no room yet";
    if (room.auto && !room.settings.barge_in) return "Auto mode is running: stop it to write";
    return "";
  }

  send() {
    const box = $("write");
    const content = box.value.trim();
    if (!content || box.disabled) return;
    this.use.request({ type: "user_message", room_id: this.room.room_id, content })
      .then(() => { box.value = ""; this.grow(); }).catch((error) => this.use.say(error.message));
  }

  grow() {
    const box = $("write");
    box.style.height = "auto";
    box.style.height = `${Math.min(160, box.scrollHeight + 2)}px`;
  }

  /** What is being completed: the text after the @ before the cursor. */
  begun() {
    const box = $("write");
    return /(?:^|[\s(])@([\p{L}\p{N}_'-]*)$/u.exec(box.value.slice(0, box.selectionStart))?.[1];
  }

  /** @returns {string[]} */
  fitting() {
    const start = this.begun();
    return start === undefined ? [] : this.names.filter((name) => name.toLowerCase().startsWith(start.toLowerCase())).slice(0, 6);
  }

  complete() {
    const fits = this.fitting();
    const list = $("names");
    list.hidden = !fits.length;
    $("write").ariaExpanded = String(fits.length > 0);
    this.chosen = Math.min(this.chosen, Math.max(0, fits.length - 1));
    list.replaceChildren(...fits.map((name, at) => {
      const item = element("li", "");
      item.role = "option";
      item.ariaSelected = String(at === this.chosen);
      item.append(avatar(name), element("span", "", name));
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); this.take(name); });
      return item;
    }));
  }

  close() {
    $("names").hidden = true;
    $("write").ariaExpanded = "false";
    this.chosen = 0;
  }

  /** @param {string} name */
  take(name) {
    const box = $("write");
    const start = this.begun() ?? "";
    const at = box.selectionStart - start.length;
    box.setRangeText(`${name} `, at, box.selectionStart, "end");
    this.close();
    box.focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const fits = $("names").hidden ? [] : this.fitting();
    if (fits.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.chosen = (this.chosen + (event.key === "ArrowDown" ? 1 : fits.length - 1)) % fits.length;
      this.complete();
    } else if (fits.length && (event.key === "Tab" || event.key === "Enter")) {
      event.preventDefault();
      this.take(fits[this.chosen]);
    } else if (fits.length && event.key === "Escape") {
      event.stopPropagation();
      this.close();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.send();
    }
  }
}
