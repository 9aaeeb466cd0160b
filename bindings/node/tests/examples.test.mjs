// The examples, each against the official TypeScript and Python clients and servers, in both eras. `MCP_INTEROP_CACHE`
// names the folder where `cargo xtask peers` has installed the Python ones; without it, they are left out.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const here = dirname(fileURLToPath(import.meta.url));
const example = (name) => join(here, '../examples', `${name}.mjs`);
const WHO = { name: 'official', version: '1.0.0' };

const CLIENTS = {
  'TypeScript 1.x': () => new Client1(WHO),
  'TypeScript 2.x, legacy': () => new Client2(WHO, { versionNegotiation: { mode: 'legacy' } }),
  'TypeScript 2.x, modern': () => new Client2(WHO, { versionNegotiation: { mode: 'auto' } }),
};

async function uses(client, transport, options) {
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ['add']);
    const result = await client.callTool({ name: 'add', arguments: { a: 40, b: 2 } }, ...(options ?? []));
    assert.deepEqual(result.content, [{ type: 'text', text: '42' }]);
  } finally {
    await client.close();
  }
}

for (const [name, make] of Object.entries(CLIENTS)) {
  const first = name.startsWith('TypeScript 1');
  for (const server of ['stdio', 'streams']) {
    test(`${server}.mjs serves ${name}`, async () => {
      const Transport = first ? Stdio1 : Stdio2;
      await uses(make(), new Transport({ command: process.execPath, args: [example(server)] }));
    });
  }
  test(`http.mjs serves ${name}`, async (t) => {
    const url = await serveHttp(t);
    const Transport = first ? Http1 : Http2;
    await uses(make(), new Transport(new URL(url)));
  });
}

async function serveHttp(t) {
  const server = spawn(process.execPath, [example('http')], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill());
  const [line] = await once(server.stdout, 'data');
  return String(line).trim();
}

const peers = process.env.MCP_INTEROP_CACHE;
const python = peers && join(peers, process.platform === 'win32' ? 'venv/Scripts/python.exe' : 'venv/bin/python');

/** What the Python client prints. */
async function pythonSays(...args) {
  const client = spawn(python, [join(here, 'official_client.py'), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  client.stdout.on('data', (chunk) => (said += chunk));
  const [code] = await once(client, 'close');
  return { code, said };
}

for (const [era, version] of [['legacy', '2025-11-25'], ['modern', '2026-07-28']]) {
  const expected = { code: 0, said: `${version} add 42\n` };
  const options = { skip: python === undefined && 'the official Python client is not installed' };
  for (const server of ['stdio', 'streams']) {
    test(`${server}.mjs serves Python, ${era}`, options, async () => {
      assert.deepEqual(await pythonSays(era, process.execPath, example(server)), expected);
    });
  }
  test(`http.mjs serves Python, ${era}`, options, async (t) => {
    assert.deepEqual(await pythonSays(era, await serveHttp(t)), expected);
  });
}

function runs(args, connect) {
  const env = { ...process.env, CONNECT: connect };
  const client = spawn(process.execPath, [example('client'), ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  client.stdout.on('data', (chunk) => (said += chunk));
  return once(client, 'close').then(([code]) => ({ code, said }));
}

for (const version of ['2026-07-28', '2025-11-25', '2024-11-05']) {
  const expected = `connected: ${version}\ntools: add\nresult: [{"type":"text","text":"42"}]\n`;
  test(`client.mjs lists and calls over stdio at ${version}`, async () => {
    assert.deepEqual(await runs([process.execPath, example('stdio')], version), { code: 0, said: expected });
  });
}

for (const version of ['2026-07-28', '2025-06-18']) {
  test(`client.mjs lists and calls over HTTP at ${version}`, async (t) => {
    const { code, said } = await runs([await serveHttp(t)], version);
    assert.equal(said, `connected: ${version}\ntools: add\nresult: [{"type":"text","text":"42"}]\n`);
    assert.equal(code, 0);
  });
}

for (const [eras, version] of [['legacy', '2025-11-25'], ['auto', '2026-07-28']]) {
  test(`client.mjs lists and calls what the TypeScript server offers (${eras})`, async () => {
    const { code, said } = await runs([process.execPath, join(here, 'official-server.mjs')], eras);
    assert.deepEqual({ code, said }, { code: 0, said: `connected: ${version}\ntools: add\nresult: [{"type":"text","text":"42"}]\n` });
  });
}
