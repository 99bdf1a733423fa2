// Browsers start no worker from a file on disk. Where the site is opened as one, this stands for Worker: the script runs
// in a hidden frame, and messages pass between windows. The theme's search knows frames by the name IFrameWorker.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      addEventListener("message", this.listener = (event) => {
        if (event.source !== inside) return;
        const message = new MessageEvent("message", {data: event.data});
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.loaded = new Promise((resolve) => {
        inside.document.open();
        inside.document.write(`<body><script>
          postMessage = (data) => parent.postMessage(data, "*");
          importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((resolve) => {
            const script = document.createElement("script");
            script.src = url;
            script.onload = resolve;
            document.body.appendChild(script);
          })), Promise.resolve());
        <\/script><script src="${url}"><\/script></body>`);
        inside.document.close();
        inside.addEventListener("load", resolve);
      });
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})));
    }

    terminate() {
      this.frame.remove();
      removeEventListener("message", this.listener);
    }
  }
  window.IFrameWorker = window.Worker = IFrameWorker;
}
