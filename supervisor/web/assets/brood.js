"use strict";
// Follows the page by a stream of events, or by reloading it if there is no stream, and changes only what has changed:
// focus, selection and scrolling stay.  Without this script everything works; the page is then as old as its last
// loading.
(() => {
  const every = 5000, patience = 15000, silence = 45000, longest = 60000, still = 3000;
  const button = document.getElementById("live");
  const main = document.getElementById("main");
  const stored = () => { try { return localStorage.getItem("brood-live"); } catch { return null; } };
  let live = stored() !== "no", busy = false, failures = 0, timer = 0;
  let stream = null, token = "", heard = 0, refusals = 0, opensAt = 0;
  let held = null, pointed = 0;

  const alike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName;
  const keyOf = row => {
    const first = row.firstElementChild;
    const place = first && first.querySelector("a[href]"), button = row.querySelector("button[formaction]");
    return place ? place.getAttribute("href") : button ? button.getAttribute("formaction") : first ? first.textContent : "";
  };
  // Rows are identified by their subject, so that a button stays with its job.  The row with the focus is never moved,
  // since it would lose it; the others move around it.
  function changeRows(old, fresh) {
    const known = new Map([...old.children].map(row => [keyOf(row), row]));
    let place = old.firstElementChild;
    for (const wanted of [...fresh.children]) {
      const key = keyOf(wanted), row = known.get(key);
      known.delete(key);
      if (!row) { old.insertBefore(document.importNode(wanted, true), place); continue; }
      if (row.contains(document.activeElement)) while (place && place !== row) { const next = place.nextElementSibling; place.remove(); place = next; }
      if (row === place) place = place.nextElementSibling;
      else old.insertBefore(row, place);
      change(row, wanted);
    }
    while (place) { const next = place.nextElementSibling; place.remove(); place = next; }
  }
  function changeChildren(old, fresh) {
    if (old.nodeName === "TBODY") return changeRows(old, fresh);
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
  function change(old, fresh) {
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old === document.activeElement && old.nodeName === "INPUT") return;
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    changeChildren(old, fresh);
  }

  const typing = () => main.contains(document.activeElement) && document.activeElement.nodeName === "INPUT";
  const selecting = () => { const s = getSelection(); return s && !s.isCollapsed && main.contains(s.anchorNode); };
  // Nothing moves below a pointer that is about to press.
  const aiming = () => Date.now() - pointed < still && main.querySelector("td.actions:hover");
  function settle() {
    if (!held || !live) { held = null; return; }
    if (typing() || selecting() || aiming()) { setTimeout(settle, 500); return; }
    const focused = document.activeElement;
    changeChildren(main, held);
    held = null;
    if (focused !== document.body && !document.contains(focused)) main.focus({ preventScroll: true });
  }
  // Times are in UTC; the title of each has the browser's own time too.
  function tellLocalTimes(page) {
    for (const time of page.querySelectorAll("time[datetime]")) {
      const utc = time.getAttribute("datetime");
      time.title = `${utc}\n${new Date(utc).toLocaleString(undefined, { timeZoneName: "short" })}`;
    }
  }
  function put(fresh) {
    const waits = held !== null;
    tellLocalTimes(fresh);
    held = fresh;
    if (!waits) settle();
  }
  function tell(count) {
    failures = count;
    button.classList.toggle("lost", live && failures > 0);
    button.textContent = !live ? "Paused" : failures > 0 ? "Not reached" : "Live";
  }

  function address() {
    const url = new URL(location.href);
    for (const name of ["said", "proof", "refresh"]) url.searchParams.delete(name);
    url.hash = "";
    return url;
  }
  const parsed = text => new DOMParser().parseFromString(text, "text/html");
  async function load() {
    if (busy || stream || !live || document.hidden) return;
    busy = true;
    const abort = new AbortController();
    const limit = setTimeout(() => abort.abort(), patience);
    try {
      const answer = await fetch(address(), { signal: abort.signal, credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.status);
      const fresh = parsed(await answer.text()).getElementById("main");
      if (fresh && live && !stream) put(fresh);
      tell(0);
    } catch { tell(failures + 1); }
    clearTimeout(limit);
    busy = false;
  }

  function hangUp() {
    if (stream) stream.close();
    stream = null;
  }
  function lose() {
    hangUp();
    refusals += 1;
    opensAt = Date.now() + Math.min(1000 * 2 ** refusals, longest);
    wait();
  }
  function follow() {
    if (stream || !live || document.hidden || !window.EventSource || Date.now() < opensAt) return;
    const mine = stream = new EventSource(address());
    heard = Date.now();
    const on = (name, act) => mine.addEventListener(name, event => {
      if (mine !== stream) return;
      heard = Date.now();
      act(event.data);
    });
    on("hello", data => { token = data; refusals = 0; tell(0); });
    on("page", data => {
      const fresh = parsed(data).body;
      if (token) for (const field of fresh.querySelectorAll('input[name="token"]')) field.setAttribute("value", token);
      put(fresh);
      tell(0);
    });
    on("trouble", () => tell(1));
    on("beat", () => {});
    // Opened again after any end, also after an answer that is no stream, which a browser treats as the end.
    mine.onerror = () => { if (mine === stream) lose(); };
  }
  async function turn() {
    if (stream && Date.now() - heard > silence) lose();
    if (!stream) await load();
    follow();
    wait();
  }
  function wait() {
    clearTimeout(timer);
    timer = setTimeout(turn, stream ? every : Math.min(every * 2 ** failures, longest));
  }
  function show() {
    button.setAttribute("aria-pressed", String(live));
    button.title = live ? "The page follows by itself; press to hold it" : "Press to follow";
    tell(0);
  }
  // A hidden page needs no stream: a browser has few connections, and the page few streams.
  function attend() {
    if (live && !document.hidden) load().then(() => { follow(); wait(); });
    else hangUp();
  }

  tellLocalTimes(document);
  // A step of an action on many jobs continues by itself.
  const goesOn = document.querySelector('form[data-continue="yes"]');
  if (goesOn) { goesOn.submit(); return; }
  // A page that answers a form is not reloaded: that would send the form again.
  if (!button || document.querySelector("form[data-continue]")) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    live = !live;
    try { localStorage.setItem("brood-live", live ? "yes" : "no"); } catch { /* then until the page is left */ }
    opensAt = 0;
    show();
    attend();
  });
  addEventListener("pointermove", () => { pointed = Date.now(); }, { passive: true });
  document.addEventListener("visibilitychange", attend);
  addEventListener("pagehide", hangUp);
  addEventListener("pageshow", event => { if (event.persisted) attend(); });
  show();
  follow();
  wait();
})();
