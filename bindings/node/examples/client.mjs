// A client that lists the tools of a server, and calls one.
//
//   node client.mjs COMMAND [ARGUMENT…]      a server on stdio
//   node client.mjs http://…                 a server of Streamable HTTP
//
// CONNECT=legacy or a revision chooses the era.
// @ts-check

import { spawn } from 'node:child_process';

import { Client, HttpClient } from 'mcp-sansio';

/** @typedef {import('mcp-sansio').ClientEvent} Event */

const [target = '', ...rest] = process.argv.slice(2);
const config = {
  name: 'lister',
  version: '1.0.0',
  // A program takes a while to start; what is silent for longer is taken for an old server.
  timeouts: { probeMs: 20_000 },
  connect: /** @type {import('mcp-sansio').ClientConfig['connect']} */ (process.env['CONNECT'] ?? 'auto'),
};

/** @type {NodeJS.Timeout | undefined} */
let timer;
let [listing, calling] = [-1, -1];

/** What is the same whatever carries it. @param {Client | HttpClient} client @param {Event} event */
function hear(client, event) {
  switch (event.kind) {
    case 'connected':
      console.log(`connected: ${event.server.version}`);
      listing = client.walk('tools');
      break;
    case 'done':
      if (event.error !== undefined) throw event.error;
      if (event.call === listing) {
        const tools = /** @type {{name: string}[]} */ (event.result?.['tools'] ?? []);
        console.log(`tools: ${tools.map((tool) => tool.name).join(', ')}`);
        calling = client.callTool('add', { a: 40, b: 2 });
      } else if (event.call === calling) {
        console.log(`result: ${JSON.stringify(event.result?.['content'])}`);
        client.close();
      }
      break;
    case 'closed':
      if (event.error !== undefined) throw event.error;
      clearTimeout(timer);
  }
}

/** @param {Client | HttpClient} client @param {() => void} drive */
function wake(client, drive) {
  clearTimeout(timer);
  const timeout = client.pollTimeout();
  if (timeout === undefined) return;
  timer = setTimeout(() => {
    client.handleTimeout();
    drive();
  }, Math.max(0, timeout.at - performance.now()));
}

function overStdio() {
  const client = new Client(config);
  const child = spawn(target, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  const drive = () => {
    for (let action; (action = client.poll()) !== undefined; ) {
      if (action.kind === 'write') {
        const { byteLength } = action;
        child.stdin.write(action.text, () => client.written(byteLength));
      } else {
        hear(client, action);
        if (action.kind === 'closed') child.stdin.end();
      }
    }
    wake(client, drive);
  };
  child.stdout.on('data', (chunk) => {
    client.handle(chunk);
    drive();
  });
  client.connect();
  drive();
}

function overHttp() {
  const client = new HttpClient(config, target);
  /** @type {Map<number, AbortController>} */
  const open = new Map();

  /** @param {import('mcp-sansio').FetchAction} wanted @param {AbortController} abort */
  const send = async ({ fetch: id, method, url, headers, body }, abort) => {
    try {
      const init = { method, headers: headers.map(([name, value]) => /** @type {[string, string]} */ ([name, value])) };
      const answer = await fetch(url, {
        ...init,
        ...(body !== '' && { body }),
        signal: abort.signal,
        redirect: 'manual',
      });
      client.handleHead(id, answer.status, answer.headers);
      drive();
      for await (const part of answer.body ?? []) {
        client.handleBody(id, part);
        drive();
      }
      client.handleEnd(id);
    } catch (error) {
      if (abort.signal.aborted) return;
      const cause = error instanceof Error ? /** @type {{code?: string} | undefined} */ (error.cause) : undefined;
      const unsent = cause?.code === 'ECONNREFUSED' || cause?.code === 'ENOTFOUND';
      client.handleFailed(id, unsent ? 'not_sent' : 'broken', String(cause ?? error));
    }
    open.delete(id);
    drive();
  };
  const drive = () => {
    for (let action; (action = client.poll()) !== undefined; ) {
      if (action.kind === 'fetch') {
        const abort = new AbortController();
        open.set(action.fetch, abort);
        void send(action, abort);
      } else if (action.kind === 'abort') {
        open.get(action.fetch)?.abort();
        open.delete(action.fetch);
      } else if (action.kind !== 'unauthorized') hear(client, action);
    }
    wake(client, drive);
  };
  client.connect();
  drive();
}

if (/^https?:/.test(target)) overHttp();
else overStdio();
