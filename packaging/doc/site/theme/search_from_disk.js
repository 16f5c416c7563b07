// Lets the search work where the pages are read from a disk.  There a browser gives a page neither the index of the search
// nor a worker that searches in it: so the index is a script, and the worker runs in a hidden frame.
if (location.protocol === "file:") {
  const base = document.currentScript.src.replace(/search_from_disk\.js$/, "");
  document.write(`<script src="${base}search/search_index.js"></script>`);

  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.waiting = [];
      const start = () => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        document.body.append(frame);
        const inside = frame.contentWindow;
        inside.document.open();
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
        inside.importScripts = () => {};  // of languages other than English
        const tag = inside.document.createElement("script");
        tag.src = script;
        tag.onload = () => {
          this.inside = inside;
          for (const data of this.waiting.splice(0)) this.postMessage(data);
        };
        inside.document.write("<!doctype html><html><body></body></html>");
        inside.document.close();
        inside.document.body.append(tag);
      };
      if (document.body) start();
      else addEventListener("DOMContentLoaded", start);
    }

    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data}));
      else this.waiting.push(data);
    }
  };
}
