// Run in the place of guest.mjs under the same command: what JavaScript may not do, and may wait for.
// Prints one JSON object: attempt -> "refused: ..." or "reached: ...".
const [outside, port] = Deno.args;
const attempts = {
  fetch: () => fetch(`http://127.0.0.1:${port}/`),
  "fetch of a file": async () => await (await fetch(`file://${outside}`)).text(),
  connect: () => Deno.connect({ hostname: "127.0.0.1", port: Number(port) }),
  "connect through node": async () => {
    const net = await import("node:net");
    await new Promise((resolve, reject) => {
      const socket = net.connect(Number(port), "127.0.0.1", resolve);
      socket.on("error", reject);
    });
  },
  WebSocket: () =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
      socket.onopen = resolve;
      socket.onerror = (event) => reject(event.error ?? new Error(event.message));
    }),
  "resolve a name": () => Deno.resolveDns("localhost", "A"),
  "environment through node": async () => {
    const { env } = await import("node:process");
    return Object.keys(env).length ? JSON.stringify(env) : Promise.reject(new Error("it is empty"));
  },
  "list a folder": async () => (await Array.fromAsync(Deno.readDir("/"))).length,
  "write through node": async () => (await import("node:fs")).writeFileSync(`${outside}.new`, "x"),
  "make a folder": () => Deno.mkdir(`${outside}.folder`),
  "temporary file": () => Deno.makeTempFile(),
  remove: () => Deno.remove(outside),
  "signal the host": () => Deno.kill(Deno.ppid, "SIGURG"),
  "addresses of the host": () => Deno.networkInterfaces(),
  "ask for more": async () => {
    const { state } = await Deno.permissions.request({ name: "net" });
    if (state !== "granted") throw new Error(state);
  },
  "remote module": () => import("https://example.com/module.js"),
  "remote module by http": () => import(`http://127.0.0.1:${port}/module.js`),
  "module of a package": () => import("npm:left-pad@1.3.0"),
  "module of a registry": () => import("jsr:@std/path@1"),
  "module of a file": () => import(`file://${outside}`),
  "read in a worker": () =>
    new Promise((resolve, reject) => {
      const source = `try { Deno.readTextFileSync(${JSON.stringify(outside)}); postMessage("") }
        catch (error) { postMessage(error.message) }`;
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      const worker = new Worker(url, { type: "module" });
      worker.onmessage = ({ data }) => (data ? reject(new Error(data)) : resolve());
      worker.onerror = (event) => reject(new Error(event.message));
    }),
  "cache that lives on": async () => (await caches.open("a")).keys(),
};
const found = {};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    found[name] = `reached: ${String(await attempt()).slice(0, 200)}`;
  } catch (error) {
    found[name] = `refused: ${String(error.message).slice(0, 200)}`;
  }
}
console.log(JSON.stringify(found));
Deno.exit(0);
