// A hundred thousand calls leave nothing behind: in a loop that never gives the event loop a turn, and in one that does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { Client, Definition, HttpEndpoint, HttpService, Server } from 'mcp-sansio';

const CALLS = 100_000;
/** What may be left, in bytes: a hundredth of what one leaked byte string a call would leave. */
const ROOM = 2_000_000;
const definition = Definition.builder('s', '1').tool({ name: 'any' }).build();
const META =
  '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}';
const body = (id) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"any","arguments":{"at":${id}},"_meta":${META}}}`;

async function used() {
  for (let at = 0; at < 3; at++) {
    await turn();
    globalThis.gc();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

async function grows(name, calls, act) {
  await act(Math.ceil(calls / 10));
  const before = await used();
  await act(calls);
  const after = await used();
  assert.ok(after.heap - before.heap < ROOM, `${name}: the heap grew by ${after.heap - before.heap} bytes`);
  // What the native part holds is not in the heap; the allocator keeps some of what was freed.
  assert.ok(after.rss - before.rss < 20 * ROOM, `${name}: the process grew by ${after.rss - before.rss} bytes`);
}

test('calls without a turn of the event loop', async () => {
  const server = new Server(definition);
  await grows('plain loop', CALLS, (calls) => {
    for (let at = 0; at < calls; at++) {
      server.handle(`${body(at)}\n`);
      for (let action; (action = server.poll()) !== undefined; ) {
        if (action.kind === 'write') server.written(action.byteLength);
        else server.reply(action.slot, { tool: { content: [{ type: 'text', text: String(action.arguments.at) }] } });
      }
    }
  });
});

test('calls that are answered later, with what their context tells', async () => {
  const server = new Server(definition);
  await grows('asynchronous', CALLS, async (calls) => {
    for (let at = 0; at < calls; at += 100) {
      const open = [];
      for (let one = 0; one < 100; one++) server.handle(`${body(at + one)}\n`);
      for (let action; (action = server.poll()) !== undefined; ) open.push(action);
      await turn();
      for (const { slot, context } of open) server.reply(slot, { tool: { content: [{ type: 'text', text: context.version }] } });
      for (let action; (action = server.poll()) !== undefined; ) server.written(action.byteLength);
    }
  });
});

test('exchanges of HTTP', async () => {
  const service = new HttpService(definition);
  const endpoint = new HttpEndpoint(service);
  const headers = [
    ['host', 'localhost'],
    ['content-type', 'application/json'],
    ['accept', 'application/json, text/event-stream'],
    ['mcp-protocol-version', '2026-07-28'],
    ['mcp-method', 'tools/call'],
    ['mcp-name', 'any'],
  ];
  await grows('http', CALLS / 4, async (calls) => {
    for (let at = 0; at < calls; at++) {
      const request = service.judge({ method: 'POST', target: '/mcp', headers });
      request.push(Buffer.from(body(at)));
      request.finish(endpoint.seed());
      const exchange = request.exchange();
      exchange.reply(exchange.poll().slot, { tool: { content: [] } });
      assert.equal(exchange.poll().response.status, 200);
      assert.equal(exchange.poll(), undefined);
      if (at % 1000 === 0) await turn();
    }
  });
});

test('calls of a client', async () => {
  const server = new Server(definition);
  const client = new Client({ name: 'c', version: '1' });
  client.connect();
  const carry = (from, to, act) => {
    for (let action; (action = from.poll()) !== undefined; ) {
      if (action.kind !== 'write') act(action);
      else {
        to.handle(action.text);
        from.written(action.byteLength);
      }
    }
  };
  await grows('client', CALLS, (calls) => {
    let done = 0;
    for (let at = 0; at < calls; at++) {
      client.callTool('any', { at });
      for (let turns = 0; turns < 3; turns++) {
        carry(client, server, (action) => (done += action.kind === 'done' && action.error === undefined ? 1 : 0));
        carry(server, client, ({ slot }) => server.reply(slot, { tool: { content: [] } }));
      }
    }
    carry(client, server, (action) => (done += action.kind === 'done' ? 1 : 0));
    assert.ok(done >= calls - 1, `${done} of ${calls}`);
  });
});
