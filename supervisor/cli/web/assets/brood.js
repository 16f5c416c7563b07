"use strict";
// Loads the page again every few seconds and changes what has changed: focus, selection and scrolling stay.  Without this
// script everything works; the page is then as old as its last loading.
(() => {
  const every = 5000, patience = 15000;
  const button = document.getElementById("live");
  const main = document.getElementById("main");
  const stored = () => { try { return localStorage.getItem("brood-live"); } catch { return null; } };
  let live = stored() !== "no", busy = false, failures = 0, timer = 0;

  const alike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName;
  function change(old, fresh) {
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old === document.activeElement && old.nodeName === "INPUT") return;
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    let child = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      if (!child) { old.appendChild(document.importNode(wanted, true)); continue; }
      const next = child.nextSibling;
      if (alike(child, wanted)) change(child, wanted);
      else old.replaceChild(document.importNode(wanted, true), child);
      child = next;
    }
    while (child) { const next = child.nextSibling; child.remove(); child = next; }
  }

  const typing = () => main.contains(document.activeElement) && document.activeElement.nodeName === "INPUT";
  const selecting = () => { const s = getSelection(); return s && !s.isCollapsed && main.contains(s.anchorNode); };
  async function load() {
    if (busy || !live || document.hidden || typing() || selecting()) return;
    busy = true;
    const abort = new AbortController();
    const limit = setTimeout(() => abort.abort(), patience);
    try {
      const url = new URL(location.href);
      url.searchParams.delete("said");
      url.searchParams.delete("proof");
      const answer = await fetch(url, { signal: abort.signal, credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("main");
      if (fresh && live && !typing() && !selecting()) change(main, fresh);
      failures = 0;
    } catch { failures += 1; }
    clearTimeout(limit);
    busy = false;
    button.classList.toggle("lost", failures > 0);
    button.textContent = failures > 0 ? "Not reached" : live ? "Live" : "Paused";
  }
  function show() {
    button.setAttribute("aria-pressed", String(live));
    button.textContent = live ? "Live" : "Paused";
    button.title = live ? "The page follows by itself; press to hold it" : "Press to follow";
  }
  function wait() {
    clearTimeout(timer);
    timer = setTimeout(async () => { await load(); wait(); }, Math.min(every * 2 ** failures, 60000));
  }

  // A step of an action on many jobs goes on by itself.
  const goesOn = document.querySelector('form[data-continue="yes"]');
  if (goesOn) { goesOn.submit(); return; }
  // A page that answers a form is not loaded again: that would send the form again.
  if (!button || document.querySelector("form[data-continue]")) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    live = !live;
    try { localStorage.setItem("brood-live", live ? "yes" : "no"); } catch { /* then until the page is left */ }
    show();
    load();
  });
  document.addEventListener("visibilitychange", load);
  show();
  wait();
})();
