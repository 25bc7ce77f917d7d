// @ts-check
/** Where a person writes: Enter sends, Shift+Enter breaks the line, @ completes a name. */

import { $, avatar, element } from "./elements.js";

export class Composer {
  /** @param {{request: (message: any) => Promise<any>, say: (text: string) => void, connected: () => boolean}} use */
  constructor(use) {
    this.use = use;
    /** @type {any} */ this.room = null;
    /** @type {string[]} */ this.names = [];
    /** What was begun in each room. @type {Map<string, string>} */ this.drafts = new Map();
    this.chosen = 0;
    const box = $("write");
    box.addEventListener("input", () => { this.grow(); this.complete(); });
    box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    box.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    $("composer").addEventListener("submit", (/** @type {Event} */ event) => { event.preventDefault(); this.send(); });
  }

  /** @param {any} state @param {any} room */
  draw(state, room) {
    const box = $("write");
    if (room?.room_id !== this.room?.room_id) {
      if (this.room) this.drafts.set(this.room.room_id, box.value);
      box.value = this.drafts.get(room?.room_id) ?? "";
      this.grow();
    }
    this.room = room;
    const people = (room?.agents ?? []).map((/** @type {string} */ id) => state.agents.get(id));
    this.names = people.filter((/** @type {any} */ one) => one?.participating !== false).map((/** @type {any} */ one) => one?.name).filter(Boolean);
    const why = this.reason(state, room);
    if (box.readOnly !== Boolean(why)) {  // who is in the middle of a word keeps it, and the focus
      box.readOnly = Boolean(why);
      box.ariaDisabled = String(Boolean(why));
    }
    $("send").disabled = Boolean(why);
    const hint = why || "Write to everybody; @ addresses one";
    if (box.placeholder !== hint) box.placeholder = hint;
    $("write-why").hidden = !why || !box.value;
    if ($("write-why").textContent !== why) $("write-why").textContent = why;
    $("finish").hidden = !room?.auto || state.scope !== "operator";
  }

  /** Why nobody can write now, in words. @param {any} state @param {any} room */
  reason(state, room) {
    if (state.scope !== "operator") return "This link may only watch";
    if (!this.use.connected()) return "There is no connection";
    if (room?.room_id === "around") return "Choose a room to speak in";
    if (!room?.agents.length) return "Nobody is here: add an agent, or start a conversation";
    if (room.auto && !room.settings.barge_in) return `Auto mode is ${room.auto.paused ? "paused" : "running"}: stop it to write`;
    if (!room.agents.some((/** @type {string} */ id) => state.agents.get(id)?.participating !== false)) return "Everybody is paused: click a label";
    return "";
  }

  send() {
    const box = $("write");
    const content = box.value.trim();
    if (!content || box.readOnly) return;
    const { room_id } = this.room;
    box.value = "";
    this.grow();
    this.close();
    this.use.request({ type: "user_message", room_id, content }).catch((error) => {
      if (this.room?.room_id === room_id && !box.value) box.value = content;
      else this.drafts.set(room_id, content);
      this.grow();
      this.use.say(error.message);
    });
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
    $("write").setAttribute("aria-activedescendant", fits.length ? `name-${Math.min(this.chosen, fits.length - 1)}` : "");
    this.chosen = Math.min(this.chosen, Math.max(0, fits.length - 1));
    list.replaceChildren(...fits.map((name, at) => {
      const item = element("li", "");
      item.role = "option";
      item.id = `name-${at}`;
      item.ariaSelected = String(at === this.chosen);
      item.append(avatar(name), element("span", "", name));
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); this.take(name); });
      return item;
    }));
  }

  close() {
    $("names").hidden = true;
    $("write").ariaExpanded = "false";
    $("write").removeAttribute("aria-activedescendant");
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
    } else if (event.key === "Escape" && $("write").value && !$("write").readOnly) {  // out of a draft first: nothing is stopped by a slip
      event.stopPropagation();
      $("write").blur();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.send();
    }
  }
}
